"""A search process answers as the service's own process does, bit for bit, and sees what was changed just before."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.backbones import tiny_veco
from tests.support.processes import Connection, Processes
from tests.support.searching import ndjson
from tests.support.serving import wait_for

pytestmark = [pytest.mark.slow]

GERMAN = [
    "Der Vulkan spuckt Asche und Lava über das Dorf.",
    "Nach dem Ausbruch fiel Asche auf die Stadt.",
    "Der Fluss trat über die Ufer, und die Stadt stand unter Wasser.",
    "Ein Bergsteiger fand Wasser und Salz im Berg.",
    "Das Dorf am Berg hat ein neues Museum.",
    "Die Lava des Vulkans floss in den Fluss.",
]
RUSSIAN = ["Вулкан выбросил пепел и лаву.", "Река вышла из берегов.", "В горах нашли соль и воду."]
TABLE = "volcano\tVulkan\t.9\nash\tAsche\t.8\nash\tEsche\t.2\nriver\tFluss\t1\ntown\tStadt\t.7\nwater\tWasser\t1\n"
QUERIES: list[dict[str, object]] = [
    {"method": "psq"},
    {"method": "smt"},
    {"method": "none", "query": "Vulkan Asche"},
    {"method": "dense"},
    {"method": "hybrid"},
    {},
    {"filter": {"year": {"$gte": 2003}}, "facets": ["year"]},
    {"method": "psq", "sort": ["-year", "_score"], "facets": [{"field": "kind", "size": 2}]},
    {"explain": True, "gloss": True, "reader_languages": ["en"]},
    {"collections": ["de"], "must": ["volcano"]},
    {"collections": ["ru"], "method": "dense"},
    {"collections": ["news"], "fields": ["year"], "snippets": {"count": 2, "length": 60}, "offsets": "utf16"},
    {"tables": ["words"], "method": "psq"},
    {"query": "Valcano ashes", "syntax": "simple"},
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    folder = tmp_path_factory.mktemp("processes")
    running = Processes(folder / "data", encoder=tiny_veco(folder / "encoder"))
    try:
        fill(running)
        yield running
    finally:
        running.server.kill()


@pytest.fixture
def ways(service: Processes) -> Iterator[tuple[Connection, Connection]]:
    """A connection to the service's own process, and one to a search process."""
    both = service.connect(service.server.pid), service.connect(service.searching[0])
    yield both
    for way in both:
        way.close()


def document(number: int, text: str) -> dict[str, Any]:
    metadata = {"year": 2000 + number, "kind": "report" if number % 2 else "news"}
    return {"id": f"d{number}", "title": text.split()[1], "text": text, "metadata": metadata}


def write(connection: Any, name: str, documents: list[dict[str, Any]]) -> None:
    address, sent = f"/v1/collections/{name}/documents", {"content-type": "application/x-ndjson"}
    connection.post(address, content=ndjson(documents), headers=sent).raise_for_status()


def fill(service: Processes) -> None:
    client = service.server.client
    for name, texts in (("de", GERMAN), ("ru", RUSSIAN)):
        client.post("/v1/collections", json={"name": name, "language": name}).raise_for_status()
        write(client, name, [document(number, text) for number, text in enumerate(texts)])
    client.put("/v1/aliases/news", json={"collection": "de"}).raise_for_status()
    upload(client, TABLE)
    wait_for(lambda: embedded(client))
    settle(service)


def upload(client: Any, table: str) -> None:
    chosen = {"source": "en", "target": "de", "activate": "true"}
    client.put("/v1/tables/words", params=chosen, content=table.encode()).raise_for_status()


def embedded(client: Any) -> bool:
    collections = client.get("/v1/collections").json()["collections"]
    return all(each["embeddings"] and each["embeddings"]["embedded"] == each["documents"] for each in collections)


def settle(service: Processes) -> None:
    """Wait until the search process answers by itself: it has read all that there is."""
    (pid,) = service.searching
    way = service.connect(pid)

    def answers() -> bool:
        before = service.answered(pid)
        way.search(query="volcano")
        return service.answered(pid) > before

    wait_for(answers)
    way.close()


@pytest.mark.parametrize("fields", QUERIES, ids=str)
def test_both_answer_the_same(
    service: Processes, ways: tuple[Connection, Connection], fields: dict[str, object]
) -> None:
    (pid,) = service.searching
    asked = {"query": "volcano ash river town", "query_language": "en", **fields}
    here, there = ways
    settle(service)
    before = service.answered(pid)
    first = here.search(**asked)
    assert there.search(**asked) == first
    wait_for(lambda: service.answered(pid) == before + 1)  # counted when it has been sent
    assert first["hits"]


@pytest.mark.parametrize("method", ["psq", "dense", None])
def test_pages_of_one_list_may_come_from_both(
    service: Processes, ways: tuple[Connection, Connection], method: str | None
) -> None:
    asked = {"query": "volcano ash river", "query_language": "en", "top_k": 2, "method": method}
    whole = ways[0].search(**asked | {"top_k": 6})["hits"]
    settle(service)
    page, hits = ways[0].search(**asked), []
    for turn in range(1, 4):
        hits += page["hits"]
        if page["next"] is None:
            break
        page = ways[turn % 2].search(**asked, cursor=page["next"])
    assert [hit["id"] for hit in hits] == [hit["id"] for hit in whole]
    assert [hit["score"] for hit in hits] == [hit["score"] for hit in whole]


def test_what_was_changed_is_seen_by_the_next_search(service: Processes, ways: tuple[Connection, Connection]) -> None:
    client, (here, there) = service.server.client, ways
    for method in ("psq", "dense", None):
        asked = {"query": "volcano", "query_language": "en", "method": method, "collections": ["de"]}
        for number in range(4):
            added = document(100 + number, f"Noch ein Vulkan, der Nummer {number} hat.")
            write(client, "de", [added])
            assert added["id"] in {hit["id"] for hit in there.search(**asked)["hits"]}
            client.patch(f"/v1/collections/de/documents/{added['id']}", json={"title": f"Neu {number}"})
            titles = {hit["id"]: hit["title"] for hit in there.search(**asked)["hits"]}
            assert titles[added["id"]] == f"Neu {number}"
            if number % 2:
                settle(service)
            client.delete(f"/v1/collections/de/documents/{added['id']}").raise_for_status()
            assert added["id"] not in {hit["id"] for hit in there.search(**asked)["hits"]}
    settle(service)
    assert there.search(query="volcano ash") == here.search(query="volcano ash")


def test_an_active_table_is_used_by_the_next_search(service: Processes, ways: tuple[Connection, Connection]) -> None:
    client, (here, there) = service.server.client, ways
    asked = {"query": "summit", "query_language": "en", "method": "psq", "collections": ["de"]}
    assert there.search(**asked)["hits"] == []
    for turn in range(3):
        upload(client, TABLE + "summit\tBerg\t1\n")
        hits = there.search(**asked)["hits"]
        assert [hit["id"] for hit in hits] == ["d3", "d4"]
        if turn:
            settle(service)
            assert there.search(**asked) == here.search(**asked)
        upload(client, TABLE)
        assert there.search(**asked)["hits"] == []


def test_another_number_of_parts_is_searched_by_both_the_same(
    service: Processes, ways: tuple[Connection, Connection]
) -> None:
    here, there = ways
    asked = {"query": "volcano ash river", "query_language": "en"}
    before = here.search(**asked)
    service.server.client.patch("/v1/collections/de", json={"shards": 2}).raise_for_status()
    wait_for(lambda: service.server.client.get("/v1/collections/de").json()["index"]["state"] == "ready")
    settle(service)
    assert there.search(**asked) == here.search(**asked)
    assert [hit["score"] for hit in here.search(**asked)["hits"]] == [hit["score"] for hit in before["hits"]]


def test_what_is_counted_is_of_all_processes(service: Processes, ways: tuple[Connection, Connection]) -> None:
    settle(service)
    before = requests_counted(service)
    for way in ways:
        for _ in range(3):
            way.search(query="volcano")
    wait_for(lambda: requests_counted(service) == before + 6)


def requests_counted(service: Processes) -> float:
    lines = service.server.client.get("/metrics").text.splitlines()
    (line,) = (line for line in lines if line.startswith("dragoman_requests_total") and "/v1/search" in line)
    return float(line.split()[-1])


def test_a_search_process_that_is_killed_comes_again_and_what_it_counted_stays(service: Processes) -> None:
    settle(service)
    (pid,) = service.searching
    before = requests_counted(service)
    os.kill(pid, signal.SIGKILL)
    service.wait_for_all(1, but=pid)
    assert service.searching != [pid]
    assert requests_counted(service) == before
    settle(service)
