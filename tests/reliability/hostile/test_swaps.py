"""What is replaced is let go: after 100 swaps of a table the service holds no more than after ten."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dragoman_lab.benchmarks.memory import mebibytes
from tests.support.job_client import NDJSON
from tests.support.searching import ndjson
from tests.support.serving import Server, server
from tests.support.standing_in import STANDING_IN

pytestmark = pytest.mark.slow

REQUESTS = 2_000
BEFORE = 200
REQUESTS_PER_SWAP = 20
ENTRIES = 500
GLOSSARIES = 7
"""With the statistical table there are 127 choices of some of the tables, and one of them all."""


class Held(NamedTuple):
    """What a server holds."""

    threads: int
    descriptors: int
    deleted: int
    """Deleted files that are still mapped or open."""
    memory: float
    """MiB that are no file's."""
    disk: float
    """MiB of files, those deleted included."""


def held(running: Server) -> Held:
    process = Path(f"/proc/{running.pid}")
    maps = [line.split() for line in (process / "maps").read_text().splitlines() if line.endswith(" (deleted)")]
    deleted = {fields[4] for fields in maps if str(running.data_dir) in fields[5]}
    files = list(running.data_dir.rglob("*"))
    sizes = sum(path.stat().st_size for path in files if path.is_file()) + sum(
        int(end, 16) - int(start, 16) for start, end in (fields[0].split("-") for fields in maps)
    )
    return Held(
        len(list((process / "task").iterdir())),
        len(list((process / "fd").iterdir())),
        len(deleted),
        mebibytes(running.pid, "RssAnon"),
        sizes / 2**20,
    )


def content(mark: int, entries: int = ENTRIES) -> bytes:
    return b"".join(b"word%d\twort%dx%d\t0.5\t0.5\n" % (one, one, mark) for one in range(entries))


def put_table(running: Server, name: str, mark: int, target: str = "de", **given: str | int) -> int:
    answer = running.client.put(
        f"/v1/tables/{name}",
        params={"source": "en", "target": target, "activate": "true", **given},
        content=content(mark),
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["version"])


def make_collection(running: Server, name: str, language: str) -> None:
    answer = running.client.post("/v1/collections", json={"name": name, "language": language})
    assert answer.status_code == 201, answer.text


def import_documents(running: Server, collection: str, documents: Iterable[dict[str, Any]]) -> None:
    answer = running.client.post(f"/v1/collections/{collection}/documents", content=ndjson(documents), headers=NDJSON)
    assert answer.status_code == 200, answer.text


def search(running: Server, **asked: object) -> None:
    answer = running.client.post("/v1/search", json={"rerank": False, **asked})
    assert answer.status_code == 200, answer.text
    assert not [one for one in answer.json().get("degraded", []) if one["stage"] == "translate"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    limits = {"table_selection_bytes": 2**20, "key_requests_per_second": 0, "jvm_heap": "64m"}
    with server(tmp_path_factory.mktemp("swaps") / "data", STANDING_IN, **limits) as running:
        for language in ("de", "fr"):
            make_collection(running, language, language)
            texts = ({"id": str(one), "text": f"wort{one} wort{one}x1"} for one in range(50))
            import_documents(running, language, texts)
        put_table(running, "words", 0)
        put_table(running, "french", 0, target="fr")
        for number in range(GLOSSARIES):
            put_table(running, f"glossary{number}", number, kind="glossary")
        yield running


def choices() -> list[list[str]]:
    """Every choice of some of the tables from English to German, but that of all."""
    names = ["words", *(f"glossary{number}" for number in range(GLOSSARIES))]
    return [list(chosen) for size in range(1, len(names)) for chosen in combinations(names, size)]


def one_of(running: Server, number: int) -> None:
    """One request of the mix."""
    kind = number % REQUESTS_PER_SWAP
    query = f"word{number % ENTRIES} word{number * 7 % ENTRIES}"
    if kind == 0:
        version = put_table(running, "words", number)
        assert running.client.delete(f"/v1/tables/words/versions/{version - 1}").status_code == 204
    elif kind == 1 and number % 200 == 1:
        make_collection(running, "passing", "de")
        import_documents(running, "passing", [{"id": "1", "text": "wort1"}])
        search(running, query=query, query_language="en", collections=["passing"])
        assert running.client.delete("/v1/collections/passing").status_code == 204
    elif kind in (5, 15):
        tables = choices()
        search(running, query=query, query_language="en", tables=tables[number % len(tables)], collections=["de"])
    elif kind == 10:
        asked = {"query": query, "query_language": "en", "documents": ["wort1 wort2"], "document_language": "de"}
        assert running.client.post("/v1/rerank", json=asked).status_code == 200
    elif kind == 12:
        answer = running.client.get(f"/v1/tables/words/terms/words{number}")
        assert answer.status_code == 200, answer.text
    elif kind % 2:
        search(running, query=f"wort{number % 50}x0", query_language="de", collections=["fr"], method="psq")
    else:
        search(running, query=query, query_language="en", method="psq")


def test_after_a_hundred_swaps_the_service_holds_what_it_held_after_ten(running: Server) -> None:
    for number in range(BEFORE):
        one_of(running, number)
    before = held(running)
    for number in range(BEFORE, REQUESTS):
        one_of(running, number)
    after = held(running)
    assert after.threads <= before.threads + 4
    assert after.descriptors <= before.descriptors + 8
    assert after.deleted <= before.deleted + 2
    assert after.disk <= before.disk + 4
    assert after.memory <= before.memory + 48


def test_the_choices_of_a_read_only_caller_do_not_fill_the_disk(running: Server) -> None:
    before = held(running)
    for number, tables in enumerate(choices()[:126]):
        search(running, query=f"word{number}", query_language="en", tables=tables, collections=["de"])
    after = held(running)
    assert after.disk <= before.disk + 2
    assert after.descriptors <= before.descriptors + 8


FILES = 256


def test_collections_beyond_the_limit_of_open_files_are_made_or_refused(tmp_path: Path) -> None:
    with server(tmp_path / "data", index_commit_seconds=60) as running:
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        made = []
        for number in range(FILES + 44):
            answer = running.client.post("/v1/collections", json={"name": f"c{number}", "language": "de"})
            assert answer.status_code in (201, 503, 507), answer.text
            if answer.status_code == 201:
                made.append(f"c{number}")
            else:
                assert "open files" in answer.json()["message"]
        told = running.client.get("/v1/collections").json()["collections"]
        assert sorted(one["name"] for one in told) == sorted(made)
        assert running.client.get("/healthz").status_code == 200
        import_documents(running, made[0], [{"id": "1", "text": "Haus"}])
        found = running.client.post("/v1/search", json={"query": "Haus", "query_language": "de", "rerank": False})
        assert [hit["id"] for hit in found.json()["hits"]] == ["1"]
