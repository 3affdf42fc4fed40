"""Calls that are refused: a folder in this process and a running service say the same of each."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.door import calls
from dragoman.door.database import Collection, Database
from dragoman.engine.core.errors import InvalidRequest
from tests.support.serving import server

pytestmark = pytest.mark.slow

SETTINGS = {"embed": "on_demand", "rerank": "never", "ner_tagger": "off", "tag_texts": 3, "tag_chars": 100}
TABLE = {"source": "en", "target": "de"}

Refused = tuple[Callable[[Database], object], int, str]


def search(**options: Any) -> Callable[[Database], object]:
    return lambda db: db.search("dog", **options)


def add_document(**document: Any) -> Callable[[Database], object]:
    return lambda db: db.collection("news").add([document])


def add_table(entries: Any = (("a", "b"),), **options: Any) -> Callable[[Database], object]:
    return lambda db: db.tables.add("new", entries, **{**TABLE, **options})


SEARCHES: list[Refused] = [
    (lambda db: db.search(" "), 422, "query: must not be blank"),
    (lambda db: db.search(b"dog"), 422, "query: bytes is not JSON"),
    (lambda db: db.search("a\ud800"), 422, "query: holds a lone surrogate at position 1"),
    (lambda db: db.search("a\0"), 422, "query: holds a NUL character at position 1"),
    (lambda db: db.search("x" * 20_000), 422, "query: longer than 10000 characters"),
    (lambda db: db.search_many(["dog", 5]), 422, "query: Input should be a valid string"),
    (lambda db: db.search_many("dog"), 422, "queries: several texts are wanted"),
    (search(collections=["nowhere"]), 404, r"collections\[0\]: there is no collection named 'nowhere'"),
    (search(collections=["No Where"]), 404, r"collections\[0\]: there is no collection"),
    (search(collections=[]), 422, "collections: List should have at least 1 item"),
    (search(collections="news"), 422, "collections: Input should be a valid list"),
    (search(collections={"news"}), 422, "collections: set is not JSON"),
    (search(query_language="xx"), 422, "query_language: unknown language code 'xx'"),
    (search(reader_languages=["xx"]), 422, r"reader_languages\[0\]: unknown language code"),
    (search(top_k=0), 422, "top_k: Input should be greater than or equal to 1"),
    (search(top_k=10**9), 422, "top_k: must be at most 1000"),
    (search(top_k=10**5000), 422, "top_k: Exceeds the limit"),
    (search(top_k=1.5), 422, "top_k: Input should be a valid integer"),
    (search(top_k=math.nan), 422, "top_k: Out of range float"),
    (search(method="nonsense"), 422, "method: Input should be 'psq'"),
    (search(method=Path("psq")), 422, "method: PosixPath is not JSON"),
    (search(tables=["nowhere"]), 404, r"tables\[0\]: there is no active table named 'nowhere'"),
    (search(rerank=True), 422, "rerank: must be an object"),
    (search(rerank={"depth": 0}), 422, "rerank.depth: "),
    (search(names=object()), 422, "names: object is not JSON"),
    (search(nonsense=1), 422, "nonsense: Extra inputs"),
    (search(**{f"field{position}": 1 for position in range(150)}), 422, "body: has 151 fields"),
    (search(rerank={"model": [[[[1]]]]}), 422, "rerank.model: "),
    (lambda db: Collection(db, "nowhere").search("dog"), 404, "nowhere"),
    (lambda db: db.collection("news").search("dog", collections=["news"]), 422, "collections: .* 'news' alone"),
]
COLLECTIONS: list[Refused] = [
    (lambda db: db.collection("nowhere"), 404, "there is no collection named 'nowhere'"),
    (lambda db: db.collection("news", language="fr"), 409, "'de', not in 'fr'"),
    (lambda db: db.send(calls.create_collection("news", "de", {})), 409, "there is a collection named 'news'"),
    (lambda db: db.collection("new", language="xx"), 422, "language: unknown language code"),
    (lambda db: db.collection("New One", language="de"), 422, "name: must be 1 to 64 characters"),
    (lambda db: db.collection("a/b", language="de"), 422, "name: 'a/b' names nothing"),
    (lambda db: db.collection("a\ud800"), 422, "name: .* names nothing"),
    (lambda db: db.collection("a\0b"), 404, "there is no collection"),
    (lambda db: db.collection("new", language="de", nonsense=1), 422, "nonsense: Extra inputs"),
    (lambda db: db.collection("new", language="de", description=5), 422, "description: "),
    (lambda db: db.collection("new", language="de", entities=True), 503, "task: the tagger ner is off"),
    (lambda db: Collection(db, "nowhere").drop(), 404, "nowhere"),
    (lambda db: Collection(db, "nowhere").add([{"id": "1", "text": "x"}]), 404, "nowhere"),
    (lambda db: db.collection("news").add([]), 422, "holds no documents"),
    (lambda db: db.collection("news").add(5), 422, "documents: int holds none"),
    (lambda db: db.collection("news").add(["a text"]), 422, "line 1: the line is not a JSON object"),
    (add_document(id="x"), 422, "line 1: text: Field required"),
    (add_document(id=[5], text="x"), 422, "line 1: id: Input should be a valid string"),
    (add_document(id="5", text="x", colour=1), 422, "line 1: colour: Extra inputs"),
    (add_document(id="5", text="x", language="xx"), 422, "line 1: language: unknown language code"),
    (add_document(id="5", text="\ud800"), 422, "line 1: text: holds a lone surrogate"),
    (add_document(id="5", text="x", metadata={"a": math.nan}), 422, "^document 1: Out of range float values"),
    (add_document(id="5", text=object()), 422, "^document 1: object is not JSON"),
    (lambda db: db.collection("news").get("nowhere"), 404, "there is no document with id 'nowhere'"),
    (lambda db: db.collection("news").get("a\ud800"), 422, "id: .* names nothing"),
    (lambda db: db.collection("news").delete("a\0"), 404, "there is no document"),
]
TABLES: list[Refused] = [
    (lambda db: db.tables.get("nowhere"), 404, "there is no translation table named 'nowhere'"),
    (lambda db: db.tables.deactivate("nowhere"), 404, "nowhere"),
    (lambda db: db.tables.delete("mine", 1), 409, "is active"),
    (lambda db: db.tables.delete("mine", 0), 422, "path parameter version: Input should be greater"),
    (lambda db: db.tables.activate("mine", 99), 404, "no version 99"),
    (lambda db: db.tables.activate("mine", 2**40), 422, "path parameter version: Input should be less"),
    (lambda db: db.tables.activate("mine", "x"), 422, "path parameter version: Input should be a valid integer"),
    (lambda db: db.tables.activate("mine", 1.5), 422, "path parameter version: Input should be a valid integer"),
    (lambda db: db.tables.activate("mine", None), 422, "version: a text, a number or a boolean is wanted"),
    (lambda db: db.tables.activate("mine", 10**5000), 422, "version: Exceeds the limit"),
    (lambda db: db.tables.look_up("nowhere", "dog"), 404, "nowhere"),
    (lambda db: db.tables.look_up("mine", "x" * 1001), 422, "path parameter term: longer than 1000"),
    (lambda db: db.tables.look_up("mine", "x\0", 0), 422, "term: holds a NUL.*; query parameter version: Input"),
    (lambda db: db.tables.look_up("mine", "dog", "x"), 422, "query parameter version: Input should be a valid int"),
    (lambda db: db.tables.look_up("mine", "dog", [1]), 422, "version: a text, a number or a boolean"),
    (add_table(kind="nonsense"), 422, "query parameter kind: Input should be 'statistical' or 'glossary'"),
    (add_table(colour="red"), 422, "unknown query parameter 'colour': there are source, target, format, "),
    (add_table(created_by="me"), 422, "unknown query parameter 'created_by'"),
    (add_table(target="xx"), 422, "query parameter target: unknown language code 'xx'"),
    (add_table(target=5), 422, "query parameter target: unknown language code '5'"),
    (add_table(target=None), 422, "query parameter target: Field required"),
    (add_table(target="en"), 422, "must be different languages"),
    (add_table(weight=0), 422, "query parameter weight: Input should be greater than 0"),
    (add_table(weight=math.nan), 422, "query parameter weight: Input should be a finite number"),
    (add_table(weight=1e9), 422, "query parameter weight: Input should be less than"),
    (add_table(weight=[1]), 422, "weight: a text, a number or a boolean is wanted, and no list"),
    (add_table(activate="perhaps"), 422, "query parameter activate: Input should be a valid boolean"),
    (add_table(format="nonsense"), 422, "query parameter format: Input should be 'auto'"),
    (add_table(encoding="x" * 100), 422, "query parameter encoding: longer than 40 characters"),
    (add_table(columns="nonsense"), 422, "columns: name source and target"),
    (add_table(columns=["source", "target"]), 422, "columns: a text, a number or a boolean is wanted"),
    (add_table(header="perhaps", weight=0), 422, "parameter header: .*; query parameter weight: "),
    (add_table({}), 422, "the file is empty"),
    (add_table(5), 422, "entries: int holds none"),
    (add_table([("a", "b", "much")]), 422, "line 1: probability must be a number"),
    (add_table([(1, 2)]), 422, "line 1: source must be a string"),
    (add_table([("a", "\ud800")]), 422, "line 1: the target holds the lone surrogate"),
    (add_table([("a", object())]), 422, "entry 1: object is not JSON"),
    (lambda db: db.tables.add("New One", {"a": "b"}, **TABLE), 422, "must be 1 to 64 characters"),
    (lambda db: db.tables.add("mine", {"a": "b"}, source="en", target="fr"), 409, "is from en to de"),
]
READING: list[Refused] = [
    (lambda db: db.ask(""), 422, "question: must not be blank"),
    (lambda db: db.send(calls.Call("ask")), 422, "give either question or statement"),
    (lambda db: db.ask("Who?", statement="Somebody."), 422, "not both"),
    (lambda db: db.ask("Who?", context="Somebody.", collections=["news"]), 422, "either context or collections"),
    (lambda db: db.ask("Who?", collections=["nowhere"]), 404, "nowhere"),
    (lambda db: db.ask("Who?", gloss=1), 422, "gloss: Input should be a valid boolean"),
    (lambda db: db.judge(None), 422, "give either question or statement"),
    (lambda db: db.rank("dog", []), 422, "documents: List should have at least 1 item"),
    (lambda db: db.rank("dog", 5), 422, "documents: several texts are wanted"),
    (lambda db: db.rank("dog", ["a"], top_k=0), 422, "top_k: must be an integer of at least 1"),
    (lambda db: db.rank("dog", ["a"], top_k="1"), 422, "top_k: must be an integer of at least 1"),
    (lambda db: db.rank("dog", ["a"], top_n=1), 422, "top_n: there is no such option; there are query_language"),
    (lambda db: db.rank("dog", [{"text": 5}]), 422, r"documents\[0\].text: must be a text"),
    (lambda db: db.rank("dog", ["a"], tables=["nowhere"]), 404, "nowhere"),
    (lambda db: db.translate("Hund", "xx"), 422, "source: unknown language code"),
    (lambda db: db.translate([], "de"), 422, "texts: List should have at least 1 item"),
    (lambda db: db.translate(5, "de"), 422, "texts: several texts are wanted"),
    (lambda db: db.tag(["x"], task="nonsense"), 422, "task: Input should be 'ner' or 'pos'"),
    (lambda db: db.tag(["x"]), 503, "task: the tagger ner is off"),
    (lambda db: db.tag(["x"] * 4, task="pos"), 422, "texts: 4 of them; at most 3 are allowed"),
    (lambda db: db.tag(["x" * 101], task="pos"), 422, "texts: 101 characters together; at most 100"),
]


def said_by(call: Callable[[Database], object], db: Database) -> tuple[type[Exception], str, int, str]:
    with pytest.raises(dragoman.Error) as refused:
        call(db)
    error = refused.value
    return type(error), error.error_type, error.status, str(error)


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Database]]:
    """The same content in a folder of this process and in a service."""
    with (
        server(tmp_path_factory.mktemp("served"), **SETTINGS) as started,
        dragoman.open(**SETTINGS) as opened,
        dragoman.connect(started.url) as connected,
    ):
        for db in (opened, connected):
            db.collection("news", language="de").add([{"id": "1", "text": "Der Hund schläft."}])
            db.tables.add("mine", {"dog": "Hund"}, source="en", target="de")
        yield opened, connected


@pytest.mark.parametrize(("call", "status", "message"), [*SEARCHES, *COLLECTIONS, *TABLES, *READING])
def test_a_folder_and_a_service_refuse_alike(
    databases: tuple[Database, Database], call: Callable[[Database], object], status: int, message: str
) -> None:
    opened, connected = (said_by(call, db) for db in databases)
    assert opened == connected
    assert opened[2] == status
    assert re.search(message, opened[3])


def test_nothing_of_what_was_refused_is_kept(databases: tuple[Database, Database]) -> None:
    """Runs after the others: a refused table or collection must not be there."""
    for db in databases:
        assert [(table.name, len(table.versions)) for table in db.tables] == [("mine", 1)]
        assert [(info.name, info.documents) for info in db.collections()] == [("news", 1)]


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_a_fault_before_anything_is_sent(
    databases: tuple[Database, Database], tmp_path: Path, name: str
) -> None:
    for db in databases:
        for add in (Collection(db, "nowhere").add, lambda file, db=db: db.tables.add("No Name", file, **TABLE)):
            with pytest.raises(OSError, match=str(tmp_path)):
                add(tmp_path / name)


def test_numbers_of_numpy_are_numbers(databases: tuple[Database, Database]) -> None:
    import numpy as np

    for db in databases:
        assert len(db.search("dog", top_k=np.int64(1))) == 1
        assert db.tables.activate("mine", np.int64(1)).active_version == 1


def test_an_event_loop_is_refused_alike(databases: tuple[Database, Database]) -> None:
    url = databases[1]._transport.url  # type: ignore[attr-defined]

    async def work() -> None:
        async with dragoman.connect_async(url) as db:
            news = await db.collection("news")
            for call, field in (
                (lambda: news.search("dog", collections=["news"]), "collections: "),
                (lambda: db.search("a\ud800"), "query: holds a lone surrogate"),
                (lambda: db.rank("dog", ["a"], top_n=1), "top_n: "),
                (lambda: db.tables.activate("mine", None), "version: "),
            ):
                with pytest.raises(InvalidRequest, match=field):
                    await call()

    asyncio.run(work())
