"""Aliases of collections: moved at once, never the name of a collection, and in the way of a deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Any

import pytest

from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound, ServiceError
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.collections.aliases import AliasInfo
from dragoman.store.database import Store
from dragoman.store.documents.patch import DocumentPatch
from dragoman.store.models import Collection
from tests.support.searching import add, found, running

pytestmark = pytest.mark.slow


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as started:
        for name in ("old", "new"):
            started.collections.create(name, "sw")
            add(started, name, {"id": name, "text": "neno"})
        yield started


def search(runtime: Runtime, *collections: str) -> list[tuple[str, str]]:
    query = SearchQuery(query="neno", query_language="sw", collections=list(collections), method="psq")
    return sorted((hit.collection, hit.id) for hit in runtime.search.search(query, "id").hits)


def test_an_alias_stands_wherever_a_collection_is_named(runtime: Runtime) -> None:
    collections, aliases = runtime.collections, runtime.collections.aliases
    assert aliases.put("live", "old") == AliasInfo("live", "old") == aliases.get("live")
    assert search(runtime, "live") == search(runtime, "live", "old") == [("old", "old")]
    assert search(runtime, "new", "live") == [("new", "new"), ("old", "old")]
    assert aliases.put("live", "new").collection == "new"
    assert aliases.put("also", "live").collection == "new"
    assert search(runtime, "live") == [("new", "new")]
    assert collections.get("live").name == collections.document("live", "new").collection == "new"
    add(runtime, "live", {"id": "2", "text": "mbili"})
    collections.change_document("live", "2", DocumentPatch(text="tatu"))
    assert found(runtime, "new", "tatu") == ["2"]
    assert [info.collection for info in collections.list_documents("live", 10).documents] == ["new", "new"]
    collections.delete_document("live", "2")
    collections.change("live", {"name": "renamed"})
    assert aliases.all() == [AliasInfo("also", "renamed"), AliasInfo("live", "renamed")]
    for attempt in (lambda: collections.delete("renamed"), lambda: collections.delete("live")):
        with pytest.raises(Conflict, match="the alias 'also' stands for this collection"):
            attempt()
    aliases.delete("also")
    aliases.delete("live")
    collections.delete("renamed")
    for name in ("live", "No such name", "\0"):
        with pytest.raises(NotFound, match="no alias named"):
            aliases.delete(name)
        with pytest.raises(NotFound, match="no alias named"):
            aliases.get(name)
    with pytest.raises(NotFound, match=r"collections\[1\]: there is no collection named 'live'"):
        search(runtime, "old", "live")


@pytest.mark.parametrize("alias_stays", [True, False])
def test_what_an_alias_stood_for_is_not_deleted(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, alias_stays: bool
) -> None:
    collections, aliases = runtime.collections, runtime.collections.aliases
    aliases.put("live", "old")
    find = collections._row

    def find_and_move(name: str) -> Collection:
        row = find(name)
        aliases.put("live", "new") if alias_stays else aliases.delete("live")
        return row

    monkeypatch.setattr(collections, "_row", find_and_move)
    with pytest.raises(Conflict if alias_stays else NotFound, match="live"):
        collections.delete("live")
    assert [info.name for info in collections.all()] == ["new", "old"]


def test_no_name_is_an_alias_and_a_collection(runtime: Runtime) -> None:
    collections, aliases = runtime.collections, runtime.collections.aliases
    aliases.put("live", "old")
    with pytest.raises(Conflict, match="a collection named 'new' already"):
        aliases.put("new", "old")
    with pytest.raises(Conflict, match="an alias named 'live' already"):
        collections.create("live", "sw")
    with pytest.raises(Conflict, match="an alias named 'live' already"):
        collections.change("new", {"name": "live"})
    with pytest.raises(NotFound, match="collection: there is no collection named 'nowhere'"):
        aliases.put("live", "nowhere")
    with pytest.raises(InvalidRequest, match="alias: must be 1 to 64"):
        aliases.put("No", "old")
    assert aliases.all() == [AliasInfo("live", "old")]


def test_who_is_first_at_once_has_the_name(runtime: Runtime) -> None:
    done: list[str] = []

    def attempt(kind: str) -> None:
        try:
            if kind == "alias":
                runtime.collections.aliases.put("name", "old")
            elif kind == "create":
                runtime.collections.create("name", "sw")
            else:
                runtime.collections.change("new", {"name": "name"})
        except ServiceError as fault:
            assert isinstance(fault, Conflict)
        else:
            done.append(kind)

    threads = [Thread(target=attempt, args=(kind,)) for kind in ("alias", "create", "rename")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1


def test_an_alias_is_put_and_deleted_at_once(runtime: Runtime) -> None:
    aliases = runtime.collections.aliases
    faults: list[Exception] = []

    def attempt(work: Callable[[], object]) -> None:
        for _ in range(40):
            try:
                work()
            except NotFound:
                pass
            except Exception as fault:
                faults.append(fault)

    works = [lambda: aliases.put("live", "old"), lambda: aliases.put("live", "new"), lambda: aliases.delete("live")]
    threads = [Thread(target=attempt, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_an_alias_that_becomes_a_name_is_found_meanwhile(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    collections = runtime.collections
    collections.aliases.put("live", "old")
    read = type(runtime.store).rows

    def read_and_rename(store: Store, *of_statement: Any) -> Sequence[Any]:
        rows = read(store, *of_statement)
        collections.aliases.delete("live")
        collections.change("old", {"name": "live"})
        return rows

    monkeypatch.setattr(type(runtime.store), "rows", read_and_rename)
    (info,) = collections.chosen(["live"])
    assert info.key == collections.get("live").key


def test_searches_meanwhile_see_the_one_or_the_other(runtime: Runtime) -> None:
    aliases = runtime.collections.aliases
    aliases.put("live", "old")
    seen: set[tuple[tuple[str, str], ...]] = set()
    over = False

    def ask() -> None:
        while not over:
            seen.add(tuple(search(runtime, "live")))

    asking = Thread(target=ask)
    asking.start()
    try:
        for turn in range(40):
            aliases.put("live", ("new", "old")[turn % 2])
    finally:
        over = True
        asking.join()
    assert seen and seen <= {(("new", "new"),), (("old", "old"),)}
