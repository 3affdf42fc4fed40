"""Tables that nothing searches any more: their compiled files are no longer mapped into memory."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.searching import add, running

pytestmark = pytest.mark.slow


def put(runtime: Runtime, name: str, target: str, content: str) -> None:
    runtime.tables.upload(Upload(name, "en", target, activate=True), iter([content.encode()]))


def search(runtime: Runtime, query: str, **more: object) -> list[str]:
    request = SearchQuery(query=query, query_language="de", gloss=True, explain=True, **more)  # type: ignore[arg-type]
    return [hit.id for hit in runtime.search.search(request, "x").hits]


def mapped(settings: Settings) -> set[str]:
    """The compiled files of tables that this process has mapped, deleted ones as well."""
    gc.collect()
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split(maxsplit=5)[5] for line in lines if str(settings.store.data_dir) in line}
    return {path for path in paths if "/tables/" in path}


@pytest.mark.parametrize("way", ["deactivated", "deleted", "replaced"])
def test_the_files_of_tables_that_are_not_searched_any_more_are_let_go(settings: Settings, way: str) -> None:
    """Whatever looked at them: searches by two tables in a row or by chosen ones, glosses and look-ups."""
    with running(settings) as runtime:
        runtime.collections.create("ru", "ru")
        add(runtime, "ru", {"id": "house", "text": "Старый дом"})
        runtime.collections.create("en", "en")
        add(runtime, "en", {"id": "old", "text": "An old house"})
        put(runtime, "russian", "ru", "house\tдом\n")
        before = mapped(settings)
        put(runtime, "german", "de", "house\tHaus\n")
        put(runtime, "more", "de", "old\talt\n")
        for tables in (None, ["german", "russian"], ["german"]):
            search(runtime, "Haus", tables=tables)
            search(runtime, "altes Haus", method="smt", tables=tables)
        assert runtime.tables.look_up("german", "houses", 1).entries
        searched = mapped(settings) - before
        assert len(searched) >= 4
        if way == "replaced":
            put(runtime, "german", "de", "house\tGebäude\n")
        else:
            for name in ("german", "more"):
                runtime.tables.deactivate(name)
                if way == "deleted":
                    runtime.tables.delete(name, 1)
        in_use = [f"/tables/{version.id}/" for version in runtime.tables.registry.snapshot.versions]
        held = mapped(settings) & searched  # how the tables in use are written stays open
        assert [path for path in held if not any(folder in path for folder in in_use)] == []
