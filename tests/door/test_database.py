"""The face of the door: the same tests over a folder in this process and over a running service."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import dragoman
from dragoman.door.answers.results import Hit, SearchResults
from dragoman.door.database import Collection, Database
from dragoman.door.table import Table
from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound, PreconditionFailed, Unavailable
from tests.support.serving import Server, server

pytestmark = pytest.mark.slow

DOCUMENTS = [
    {"id": "1", "title": "Physik", "text": "Die Supraleitung bei Zimmertemperatur.", "metadata": {"year": 2024}},
    {"id": "a b/c", "text": "Der Hund <schläft> im Garten.\u2028Ja."},
]
NO_EMBEDDINGS = {"embed": "on_demand", "rerank": "never"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("served")) as started:
        yield started


@pytest.fixture(scope="module", params=["open", "connect"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database with a collection and a table, of which the tests change nothing."""
    if request.param == "open":
        opened = dragoman.open(**NO_EMBEDDINGS)
    else:
        opened = dragoman.connect(request.getfixturevalue("service").url)
    with opened as database:
        imported = database.collection("news", language="de").add(DOCUMENTS)
        assert (imported.accepted, imported.replaced, imported.rejected) == (2, 0, [])
        entries = {"superconductivity": "Supraleitung", "dog": ["Hund", "Köter"]}
        uploaded = database.tables.add("mine", entries, source="en", target="de")
        assert (uploaded.kind, uploaded.active, uploaded.entries) == ("glossary", True, 3)
        yield database


def ids(results: SearchResults) -> list[str]:
    return [hit.id for hit in results]


def test_a_search_has_hits_with_evidence_that_print_and_become_a_frame(db: Database) -> None:
    results = db.search("superconductivity", top_k=5)
    (hit,) = results
    assert isinstance(hit, Hit) and results[0] is hit and len(results) == 1
    assert (hit.rank, hit.id, hit.collection, hit.language, hit.title) == (1, "1", "news", "de", "Physik")
    (highlight,) = hit.highlights
    assert (highlight.table, highlight.version, highlight.match) == ("mine", 1, "table")
    assert hit.snippet[highlight.start - hit.snippet_start : highlight.end - hit.snippet_start] == "Supraleitung"
    assert results.query.language == "en" and results.method == "psq"
    assert [used.name for used in results.translation.tables] == ["mine"]
    (one,) = db.search("superconductivity", snippets={"count": 2, "length": 50})
    assert one.snippets and (one.snippets[0].text, one.snippets[0].start) == (one.snippet, one.snippet_start)
    shown = db.search("dog")._repr_html_()
    assert '<mark title="dog: table (mine@1)">Hund</mark> &lt;schläft&gt;' in shown
    frame = results.to_frame()
    assert frame.loc[0, "id"] == "1" and list(frame.columns)[:3] == ["rank", "score", "id"]


def test_a_document_is_read_and_a_term_looked_up_in_all_tables(db: Database) -> None:
    document = db.collection("news").read("1", "en", query="superconductivity", query_language="en")
    assert document.document == db.collection("news").get("1")
    (highlight,) = (highlight for highlight in document.highlights if highlight.match == "table")
    assert (highlight.document_term, highlight.table) == ("Supraleitung", "mine")
    (gloss,) = document.gloss
    assert (gloss.start, gloss.end) == (highlight.start, highlight.end)
    assert [(word.term, word.table, word.version) for word in gloss.translations] == [("superconductivity", "mine", 1)]
    assert [(sentence.field, sentence.start, sentence.end) for sentence in document.sentences] == [
        ("title", 0, 6), ("text", 0, 38),
    ]  # fmt: skip
    with pytest.raises(InvalidRequest, match="offsets: these records are in code points"):
        db.search("dog", offsets="utf16")  # type: ignore[call-arg]
    found = db.lookup("dog", "en", "de")
    (table,) = (table for table in found.tables if table.name == "mine")
    assert (table.version, table.active, {word.term for word in table.translations}) == (1, True, {"Hund", "Köter"})
    assert found.degraded == []
    with pytest.raises(InvalidRequest, match="term: must not be blank"):
        db.lookup(" ", "en", "de")
    suggested = db.suggest("super", language="en", collections=["news"])
    assert [(one.kind, one.text, one.translation) for one in suggested.completions] == [
        ("term", "superconductivity", "Supraleitung")
    ]
    assert [(one.kind, one.text) for one in db.suggest("phy").completions] == [("title", "Physik")]
    assert [one.correction for one in db.suggest("superconductivty ", language="en").spelling] == ["superconductivity"]
    with pytest.raises(InvalidRequest, match="collections: no name is given"):
        db.suggest("phy", collections=[","])
    with pytest.raises(InvalidRequest, match="target: must be another language"):
        db.lookup("dog", "en", "en")
    hit = db.search("dog", explain={"attention": True}, method="psq", collections=["news"], tables=["mine@1"])[0]
    assert hit.attention is not None
    assert [(word.field, word.text) for word in hit.attention.document_words] == [("text", "Hund")]


def test_options_are_those_of_the_http_api_and_faults_are_its_errors(db: Database) -> None:
    hit = db.search("dog", explain=True, gloss=True, method="psq", collections=["news"])[0]
    assert hit.contributions and hit.contributions[0].query_term == "dog"
    assert db.collection("news").search("dog")[0].id == "a b/c"
    with pytest.raises(InvalidRequest, match="nonsense"):
        db.search("dog", nonsense=1)
    with pytest.raises(InvalidRequest, match="query"):
        db.search("")
    with pytest.raises(NotFound, match="nowhere"):
        db.search("dog", collections=["nowhere"])
    with pytest.raises(NotFound, match="nowhere"):
        db.collection("nowhere")
    with pytest.raises(Conflict, match="'de', not in 'fr'"):
        db.collection("news", language="fr")
    with pytest.raises(InvalidRequest, match="kind"):
        db.tables.add("x", {"a": "b"}, source="en", target="de", kind="nonsense")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="colour"):
        db.tables.add("x", {"a": "b"}, source="en", target="de", colour="red")


def test_many_queries_keep_their_order_from_any_thread(db: Database) -> None:
    queries = ["dog", "superconductivity"] * 10
    assert [ids(results) for results in db.search_many(queries)] == [["a b/c"], ["1"]] * 10
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda query: ids(db.search(query)), queries)) == [["a b/c"], ["1"]] * 10


def test_documents_are_found_listed_and_deleted_by_filters(db: Database, tmp_path: Path) -> None:
    chosen = db.collection("filtered", language="de")
    chosen.add([{"id": str(n), "text": "Ein Wal.", "metadata": {"n": n, "url": f"x/{n}"}} for n in range(6)])
    late = {"n": {"$gte": 4}}
    assert [document.id for document in chosen.documents(late)] == ["4", "5"]
    assert chosen.export(tmp_path / "late.jsonl", late) == 2
    hits = chosen.search("Wal", query_language="de", method="psq", filter=late, fields=["url"])
    assert sorted((hit.id, hit.metadata["url"]) for hit in hits) == [("4", "x/4"), ("5", "x/5")]
    with pytest.raises(PreconditionFailed):
        chosen.delete_documents(late, if_match=99)
    assert chosen.delete_documents(late, dry_run=True) == chosen.delete_documents(late) == 2
    assert len(chosen) == 4
    for ask in (lambda filter: list(chosen.documents(filter)), chosen.delete_documents):
        with pytest.raises(InvalidRequest, match=r"^filter\.n\.\$x: there is no operator"):
            ask({"n": {"$x": 1}})
    chosen.drop()


def test_documents_are_added_from_what_programs_have(db: Database, tmp_path: Path) -> None:
    import pandas

    other = db.collection("other", language="de", description="for this test")
    assert other.info.description == "for this test"
    frame = pandas.DataFrame({"id": ["f1", "f2"], "text": ["Ein Wal.", "Ein Wolf."], "title": ["Wal", None]})
    assert other.add(frame).accepted == 2
    assert (other.get("f1").title, other.get("f2").title) == ("Wal", None)
    file = tmp_path / "more.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS), encoding="utf-8")
    assert other.add(file).accepted == 2
    document = other.get("1")
    assert (document.text, document.metadata, document.collection) == (DOCUMENTS[0]["text"], {"year": 2024}, "other")
    imported = other.add([{"id": "bad"}, {"id": "good", "text": "Ein Bär."}])
    assert imported.accepted == 1 and [(one.line, one.id) for one in imported.rejected] == [(1, "bad")]
    with pytest.raises(InvalidRequest, match="document 2"):
        other.add([{"id": "x", "text": "y"}, {"id": "z", "text": "y", "metadata": {"not": float("nan")}}])
    other.delete("a b/c")
    with pytest.raises(NotFound, match="a b/c"):
        other.get("a b/c")
    assert len(other) == 4
    assert other.export(tmp_path / "kept.jsonl") == 4
    again = db.collection("again", language="de")
    assert again.add(tmp_path / "kept.jsonl").accepted == 4
    assert again.get("1") == replace(document, collection="again", generation=1)
    assert [one.id for one in again] == ["f1", "f2", "1", "good"]
    changed = again.update("1", title=None, metadata={"year": None, "by": "x"}, if_match=1)
    assert changed == replace(document, collection="again", generation=2, title=None, metadata={"by": "x"})
    assert again.add([{"id": "1", "text": "Neu."}], if_match=2).replaced == 1
    assert again.get("1") == replace(changed, text="Neu.", generation=3)
    for attempt in (again.update, again.delete):
        with pytest.raises(PreconditionFailed, match="the document has changed: its generation is 3"):
            attempt("1", if_match=2)
    with pytest.raises(PreconditionFailed, match="the collection has changed: its generation is 3"):
        again.drop(if_match=1)
    with pytest.raises(InvalidRequest, match="colour"):
        again.update("1", colour="red")
    with pytest.raises(InvalidRequest, match="if_match"):
        again.delete("1", if_match="3")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        Collection(db, "nowhere").export(tmp_path / "nothing.jsonl")
    assert not (tmp_path / "nothing.jsonl").exists()
    assert again.stats().languages == {"de": 4} and again.stats().fields[0].examples == ["x"]
    assert (again.change(name="renamed", description="d").description, again.name) == ("d", "renamed")
    assert again.truncate(if_match=3).documents == 0 == len(again)
    db.set_alias("live", "renamed")
    assert db.aliases() == {"live": "renamed"} and db.collection("live").info.name == "renamed"
    with pytest.raises(Conflict, match="'live' stands for this collection"):
        again.drop()
    db.delete_alias("live")
    again.drop()
    other.drop()
    assert [info.name for info in db.collections()] == ["news"]


def test_tables_have_versions_that_are_changed_while_searches_go_on(db: Database, tmp_path: Path) -> None:
    import pandas

    tables = db.tables
    first = tables.add("own", [("whale", "Supraleitung")], source="en", target="de")
    assert ids(db.search("whale")) == ["1"]
    frame = pandas.DataFrame({"target": ["Hund"], "source": ["whale"]})
    second = tables.add("own", frame, source="en", target="de")
    assert ids(db.search("whale")) == ["a b/c"]
    assert [version.version for version in tables.get("own").versions] == [first.version, second.version] == [1, 2]
    tables.activate("own", 1)
    assert ids(db.search("whale")) == ["1"]
    assert [one.term for one in tables.look_up("own", "whale").translations] == ["Supraleitung"]
    assert [one.term for one in tables.look_up("own", "whale", 2).translations] == ["Hund"]
    with pytest.raises(Conflict):
        tables.delete("own", 1)
    tables.deactivate("own")
    assert ids(db.search("whale")) == []
    file = tmp_path / "mine.csv"
    file.write_text("English;Deutsch\nwhale;Hund\n", encoding="utf-8")
    third = tables.add("own", file, source="en", target="de", kind="statistical", activate=False)
    assert (third.version, third.kind, third.active, third.detected["format"]) == (3, "statistical", False, "csv")
    assert tables.add("own", file, source="en", target="de", dry_run=True).dry_run
    learned = Table.train([("the whale", "der Garten"), ("a whale", "ein Garten")] * 3, source="en", target="de")
    assert learned.look_up("whale")[0] == "garten"
    tables.add("own", learned, source="en", target="de", kind="statistical")
    assert ids(db.search("whale")) == ["a b/c"]
    tables.deactivate("own")
    for version in tables.get("own").versions:
        tables.delete("own", version.version)
    assert [table.name for table in tables] == ["mine"]


def test_what_would_be_taken_for_something_else_is_refused(db: Database, tmp_path: Path) -> None:
    news, add = db.collection("news"), db.tables.add
    for id in ("", ".", ".."):
        for work in (news.get, news.delete, lambda told: db.tables.look_up("mine", told), db.collection):
            with pytest.raises(InvalidRequest, match="names nothing"):
                work(id)
    assert len(news) == 2
    several = (lambda: db.rank("dog", "Hund"), lambda: db.tag("Paris"), lambda: db.search_many("dog"))
    for ask in several:
        with pytest.raises(InvalidRequest, match="several texts are wanted"):
            ask()
    rows = ([("a",)], ["ab"], [{"source": "a", "goal": "b"}], {"a": 0.5}, b"a\tb", 5, [("a", "b", 1, 2)])
    for entries in rows:
        with pytest.raises(InvalidRequest, match=r"entr|translations"):
            add("x", entries, source="en", target="de")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        add("x", tmp_path / "missing.tsv", source="en", target="de")
    learned = Table("en", "de", [("whale", "Wal", 1.0, 1.0)])  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="from en to de"):
        add("x", learned, source="fr", target="de")
    assert add("x", learned, source="en", target="de").kind == "statistical"
    assert add("x", [{"source": "whale", "target": "Wal"}], source="en", target="de").kind == "glossary"
    db.tables.deactivate("x")
    for version in db.tables.get("x").versions:
        db.tables.delete("x", version.version)


def test_a_collection_may_be_in_several_parts(db: Database) -> None:
    parts = db.collection("parts", language="de", shards=2)
    parts.add(DOCUMENTS)
    expected = [(hit.id, hit.score) for hit in db.collection("news").search("superconductivity dog")]
    assert [(hit.id, hit.score) for hit in parts.search("superconductivity dog")] == expected
    assert parts.change(shards=3).shards == 3
    until = time.monotonic() + 60
    while parts.info.index["shards"] != 3:
        assert time.monotonic() < until
    assert [(hit.id, hit.score) for hit in parts.search("superconductivity dog")] == expected
    with pytest.raises(InvalidRequest, match="shards"):
        parts.change(shards=0)
    parts.drop()


def test_texts_are_ranked_tagged_and_read(db: Database) -> None:
    best = db.rank("dog", ["Ein Rezept für Brot.", "Der Köter bellt laut."])
    assert [(one.index, one.text) for one in best] == [(1, "Der Köter bellt laut."), (0, "Ein Rezept für Brot.")]
    assert len(db.rank("dog", ["Brot.", "Der Köter."], top_k=1)) == 1
    (tags,) = db.tag(["Angela Merkel besuchte Paris."])
    assert [(tag.text, tag.label) for tag in tags] == [("Angela Merkel", "PER"), ("Paris", "LOC")]
    answers = db.ask("Where does the dog sleep?", context="Der Hund schläft im Garten.", gloss=True)
    assert answers[0].text in answers[0].sentence and answers.model
    assert db.judge("A dog sleeps.", context="Der Hund schläft im Garten.").label in ("true", "false", "unknown")
    assert db.judge("Der Hund schläft im Garten", context="Es regnet. Der Hund schläft im Garten.").label == "true"


def test_an_event_loop_has_the_same_face(service: Server) -> None:
    async def work() -> None:
        async with dragoman.connect_async(service.url) as db:
            news = await db.collection("async", language="de")
            assert (await news.add(DOCUMENTS)).accepted == 2
            uploaded = await db.tables.add("async", {"cat": "Hund"}, source="en", target="de")
            assert uploaded.active
            results = await db.search_many(["cat"] * 8, collections=["async"])
            assert [ids(one) for one in results] == [["a b/c"]] * 8
            assert (await news.search("cat"))[0].highlights[0].table == "async"
            assert (await news.info()).documents == 2
            with pytest.raises(NotFound):
                await news.get("nowhere")
            await db.tables.deactivate("async")
            await news.drop()

    asyncio.run(work())


def test_both_faces_have_the_same_methods() -> None:
    from dragoman.door import asynchronous, database

    def face(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert face(asynchronous.AsyncDatabase) == face(database.Database)
    assert face(asynchronous.AsyncCollection) == face(database.Collection) - {"export", "wait"}
    assert face(asynchronous.AsyncTables) - {"all"} == face(database.Tables)


def test_a_folder_keeps_what_it_has_and_is_that_of_a_server(tmp_path: Path) -> None:
    with dragoman.open(tmp_path / "data", **NO_EMBEDDINGS) as db:
        db.collection("news", language="de").add(DOCUMENTS)
        db.tables.add("mine", {"dog": "Hund"}, source="en", target="de")
        with pytest.raises(Conflict, match=r"dragoman\.connect"):
            dragoman.open(tmp_path / "data")
    with server(tmp_path / "data") as started:
        assert ids(dragoman.connect(started.url).search("dog")) == ["a b/c"]
        with pytest.raises(Conflict, match=r"dragoman\.connect"):
            dragoman.open(tmp_path / "data")
    with dragoman.open(str(tmp_path / "data"), **NO_EMBEDDINGS) as db:
        assert ids(db.search("dog")) == ["a b/c"]
        db.close()
    with pytest.raises(InvalidRequest, match="nonsense"):
        dragoman.open(tmp_path / "data", nonsense=1)


def test_after_the_end_nothing_is_done(tmp_path: Path, service: Server) -> None:
    for opened in (dragoman.open(tmp_path, **NO_EMBEDDINGS), dragoman.connect(service.url)):
        collection = opened.collection("ended", language="de")
        collection.add(DOCUMENTS)
        opened.close()
        opened.close()
        work = (opened.collections, lambda c=collection: c.delete("1"), lambda o=opened: o.search("dog"))
        for call in work:
            with pytest.raises(Unavailable, match="the database is closed"):
                call()
    with dragoman.open(tmp_path, **NO_EMBEDDINGS) as again:
        assert len(again.collection("ended")) == 2


def test_a_program_may_end_without_closing_and_keeps_its_mask(tmp_path: Path) -> None:
    program = """
import os, sys, dragoman
os.umask(0o022)
db = dragoman.open(sys.argv[1])
db.collection("news", language="de").add([{"id": str(n), "text": f"Der Hund {n} bellt."} for n in range(200)])
print(oct(os.umask(0o022)))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "0o22\n"), done.stderr
    with dragoman.open(tmp_path / "data", **NO_EMBEDDINGS) as db:
        assert len(db.collection("news")) == 200


def test_a_program_that_ends_while_a_model_computes_waits_for_it() -> None:
    program = """
import threading, torch, dragoman
from dragoman.engine.models import models
from dragoman.engine.models.queue.worker import Worker

computing, results = threading.Event(), Worker._results

def slow(*batch):
    computing.set()
    for _ in range(20):
        torch.mm(torch.ones(2000, 2000), torch.ones(2000, 2000))
    print("computed", flush=True)
    return results(*batch)

models._CLOSE_SECONDS, Worker._results = 0.0, slow
db = dragoman.open()
db.collection("news", language="de").add([{"id": "1", "text": "Der Hund bellt."}])
computing.wait()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "computed\n"), done.stderr


def test_waiting_for_embeddings_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    with dragoman.open(encoder=str(tmp_path / "encoder")) as db:
        news = db.collection("news", language="de")
        news.add(DOCUMENTS)
        with pytest.raises(Unavailable, match="0 of 2 documents have embeddings"):
            news.wait(0.5)


def test_no_folder_is_made_of_an_address() -> None:
    for name in ("http://127.0.0.1:8080", ""):
        with pytest.raises(InvalidRequest, match="connect"):
            dragoman.open(name)


def test_a_service_that_is_not_there_and_one_with_keys(tmp_path: Path) -> None:
    with dragoman.connect("http://127.0.0.1:9") as db, pytest.raises(Unavailable, match="cannot be reached"):
        db.search("dog")
    with server(tmp_path) as started:
        key = started.client.post("/v1/keys", json={"name": "k", "scopes": ["search"]}).json()["key"]
        with pytest.raises(dragoman.Error) as refused:
            dragoman.connect(started.url).search("dog")
        assert refused.value.status == 401
        assert dragoman.connect(started.url, key).search("dog").hits == []


def test_records_take_what_a_newer_service_says_beside() -> None:
    from dragoman.door.answers.reading import read
    from dragoman.door.answers.results import Ranked

    assert read(Ranked, {"index": 1, "score": 0.5, "text": "x", "later": SimpleNamespace()}) == Ranked(1, 0.5, "x")
