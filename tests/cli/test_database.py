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
    assert partly.returncode == 1 and f"{file}, line 3: " in partly.stderr
    assert "news" in command("collection", "list").stdout
    found = command("search", "Hund", "--collection", "news", "--query-language", "de", "--json")
    answer = json.loads(found.stdout)
    assert [hit["id"] for hit in answer["hits"]] == ["1"]
    assert "news/1" in command("search", "Hund", "--collection", "news", "--query-language", "de").stdout
    asked = command("ask", "Wo schläft der Hund?", "--context", DOCUMENTS[0]["text"], "--json")
    assert json.loads(asked.stdout)["answers"], asked.stderr
    exported = command("documents", "export", "--collection", "news", "--output", tmp_path / "out.jsonl")
    assert told(exported) == (0, f"{tmp_path / 'out.jsonl'}: 2 documents")
    assert command("documents", "export", "--collection", "nowhere", "--output", tmp_path / "no").returncode == 2
    assert not (tmp_path / "no").exists()
    assert command("collection", "delete", "news").returncode == 0
    assert "news" not in command("collection", "list").stdout


def test_a_directory_that_a_server_has_open_names_the_way_to_it(tmp_path: Path) -> None:
    with server(tmp_path):
        refused = dragoman("collection", "list", "--data-dir", tmp_path)
    status, said = told(refused)
    assert status == 2 and "--url" in said
