"""Commands with a data directory, and the same by a running service."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.serving import dragoman, server

pytestmark = pytest.mark.slow

DOCUMENTS = [{"id": "1", "text": "Der Hund schläft im Garten."}, {"id": "2", "title": "Wal", "text": "Ein Wal."}]

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(params=["directory", "service"])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Command]:
    if request.param == "directory":
        yield lambda *arguments: dragoman(*arguments, "--data-dir", tmp_path / "data")
        return
    with server(tmp_path / "data") as started:
        yield lambda *arguments: dragoman(*arguments, url=started.url)


def told(done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    """The status, and the last line on standard error: Java may say something before."""
    return done.returncode, done.stderr.splitlines()[-1]


def test_an_import_goes_on_and_syncs(command: Command, tmp_path: Path) -> None:
    command("collection", "create", "news", "--language", "de")
    file = tmp_path / "news.csv"
    file.write_text("nr;text;year\n1;Ein Hund;1999\n2;Ein Wal;2000\n3;;\n", encoding="utf-8")
    arguments = ("documents", "import", file, "--collection", "news", "--map", "id=nr,metadata.year:number=year")
    first = command(*arguments)
    assert first.returncode == 1 and f"{file}: 2 documents, 0 of them replaced" in first.stderr
    assert f"{file}, line 4: text: Field required" in first.stderr
    file.write_text("nr;text;year\n1;Ein Hund;1999\n4;Ein Tal;\n", encoding="utf-8")
    assert told(command(*arguments)) == (0, f"{file}: 1 documents, 0 of them replaced, 1 unchanged")
    asked = command(*arguments, "--sync")
    assert asked.returncode == 1 and "Delete 1 documents of news" in asked.stderr
    assert told(command(*arguments, "--sync", "--yes")) == (0, "news: 1 documents deleted")
    command("documents", "export", "--collection", "news", "--output", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["id"], line["metadata"]) for line in lines] == [("1", {"year": 1999}), ("4", {})]
    again = command("documents", "import", tmp_path / "out.jsonl", "--collection", "news")
    assert told(again) == (0, f"{tmp_path / 'out.jsonl'}: 0 documents, 0 of them replaced, 2 unchanged")


def test_an_empty_file_is_an_error_and_deletes_nothing(command: Command, tmp_path: Path) -> None:
    command("collection", "create", "news", "--language", "de")
    good = tmp_path / "good.tsv"
    good.write_text("id\ttext\n1\tHund\n2\tWal\n3\tTal\n", encoding="utf-8")
    command("documents", "import", good, "--collection", "news")
    empty = {
        "zero.ndjson": "",
        "header.csv": "id,text\n",
        "array.json": "[]",
        "swallowed.tsv": 'id\ttext\n1\t"x\n2\ty"\n',
    }
    for name, text in empty.items():
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        done = command("documents", "import", file, "--collection", "news", "--sync", "--yes")
        assert done.returncode != 0, done.stderr
    out = tmp_path / "out.jsonl"
    command("documents", "export", "--collection", "news", "--output", out)
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3


def test_a_backup_reads_a_database_that_is_there_and_nobody_else_reads_it(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    file = tmp_path / "backup.gz"
    file.write_bytes(b"a good one")
    refused = dragoman("backup", file, "--data-dir", tmp_path / "empty")
    assert refused.returncode != 0 and "there is no database" in refused.stderr
    assert file.read_bytes() == b"a good one" and not list((tmp_path / "empty").iterdir())
    dragoman("collection", "create", "news", "--language", "de", "--data-dir", tmp_path / "data")
    done = dragoman("backup", file, "--data-dir", tmp_path / "data")
    assert done.returncode == 0, done.stderr
    assert file.stat().st_mode & 0o077 == 0


def test_collections_and_documents_from_the_command_line(command: Command, tmp_path: Path) -> None:
    made = command("collection", "create", "news", "--language", "de", "--description", "some")
    assert told(made) == (0, "news: a collection in de")
    again = command("collection", "create", "news", "--language", "de")
    assert again.returncode == 2 and "news" in again.stderr
    file = tmp_path / "news.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS), encoding="utf-8")
    imported = command("documents", "import", file, "--collection", "news")
    assert told(imported) == (0, f"{file}: 2 documents, 0 of them replaced")
    with file.open("a") as stream:
        stream.write('{"id": "3"}\n')
    partly = command("documents", "import", file, "--collection", "news")
    assert partly.returncode == 1 and f"{file}: no line is a document, nothing was stored: line 3: " in partly.stderr
    assert "news" in command("collection", "list").stdout
    status, said = told(command("collection", "change", "news", "--shards", "2"))
    assert status == 0 and said.startswith("news: 2 shards")
    found = command("search", "Hund", "--collection", "news", "--query-language", "de", "--json")
    answer = json.loads(found.stdout)
    assert [hit["id"] for hit in answer["hits"]] == ["1"]
    assert "news/1" in command("search", "Hund", "--collection", "news", "--query-language", "de").stdout
    asked = command("ask", "Wo schläft der Hund?", "--context", DOCUMENTS[0]["text"], "--json")
    assert json.loads(asked.stdout)["answers"], asked.stderr
    exported = command("documents", "export", "--collection", "news", "--output", tmp_path / "out.jsonl")
    assert told(exported) == (0, f"{tmp_path / 'out.jsonl'}: 2 documents")
    assert command("documents", "export", "--collection", "news").stdout == (tmp_path / "out.jsonl").read_text()
    assert command("documents", "export", "--collection", "nowhere", "--output", tmp_path / "no").returncode == 2
    deleting = ("documents", "delete", "--collection", "news", "--filter", '{"id": {"$ne": "1"}}')
    assert told(command(*deleting, "--dry-run")) == (0, "news: 1 documents match")
    assert command(*deleting).returncode == 1  # nobody answers the question
    assert told(command(*deleting, "--yes")) == (0, "news: 1 documents deleted")
    refused = command(*deleting[:-1], '{"n": {"$x": 1}}', "--yes")
    assert refused.returncode == 2 and "filter.n.$x: there is no operator" in refused.stderr
    assert not (tmp_path / "no").exists()
    assert told(command("collection", "alias", "live", "news")) == (0, "live: stands for news")
    assert command("collection", "alias").stdout.split()[-2:] == ["live", "news"]
    assert json.loads(command("search", "Hund", "--collection", "live", "--json").stdout)["hits"][0]["id"] == "1"
    refused = command("collection", "delete", "news")
    assert refused.returncode == 2 and "'live' stands for this collection" in refused.stderr
    assert command("collection", "alias", "live").returncode == 2
    assert told(command("collection", "alias", "live", "--delete")) == (0, "live: deleted")
    assert command("collection", "delete", "news").returncode == 0
    assert "news" not in command("collection", "list").stdout


REFUSED = {
    ("search", "dog", "--collection", "nowhere"): "collections[0]: there is no collection named 'nowhere'",
    ("search", "a\udcff", "--collection", "news"): "query: holds a lone surrogate at position 1",
    ("search", "dog", "--collection", "news", "--top-k", "0"): "top_k: Input should be greater than or equal to 1",
    ("ask", "Who?", "--context", "x", "--collection", "news"): "body: give either context or collections, not both",
    ("collection", "delete", "a/b"): "name: 'a/b' names nothing, because no address can hold it",
    ("collection", "create", "New", "--language", "de"): "name: must be 1 to 64 characters of a-z, 0-9, '_', '.' and "
    "'-', the first of them a letter or digit",
}


def test_what_is_refused_is_so_in_the_same_words(command: Command) -> None:
    assert command("collection", "create", "news", "--language", "de").returncode == 0
    said = {arguments: told(command(*arguments)) for arguments in REFUSED}
    assert said == {arguments: (2, f"dragoman: {message}") for arguments, message in REFUSED.items()}


def test_what_is_not_installed_is_told_from_what_is_wrong(tmp_path: Path) -> None:
    dragoman("collection", "create", "news", "--language", "de", "--data-dir", tmp_path)
    status, said = told(dragoman("ask", "Who?", "--context", "A dog.", "--data-dir", tmp_path, reader="off"))
    assert status == 1 and "DRAGOMAN_READER" in said


def test_a_directory_that_a_server_has_open_names_the_way_to_it(tmp_path: Path) -> None:
    with server(tmp_path):
        refused = dragoman("collection", "list", "--data-dir", tmp_path)
    status, said = told(refused)
    assert status == 2 and "--url" in said
