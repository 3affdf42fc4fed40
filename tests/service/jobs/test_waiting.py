"""Jobs whose lines need what is damaged or behind: they wait and say why, and all others go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import update

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.indexing.lucene.builds import IndexState
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.settings import Settings
from dragoman.service.jobs.submission import NewJob
from dragoman.service.runtime import Runtime
from dragoman.store.models import TableEntry
from dragoman.store.tables import service as tables
from dragoman.store.tables.service import Upload
from tests.service.jobs.test_service import finished, read, scorer, scores, service, submit, upload_table
from tests.support.job_client import TABLE, body, rerank_lines
from tests.support.modelling import LinkScorer
from tests.support.searching import add
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow

__all__ = ["scorer"]


def test_only_lines_that_need_a_damaged_table_wait_for_it(
    tmp_path: Path, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.load(data_dir=tmp_path)
    with service(settings, scorer) as runtime:
        upload_table(runtime, TABLE)
        runtime.tables.upload(Upload("other", "en", "fr", activate=True), iter([b"volcano\tvolcan\n"]))
        change_entry(runtime, "volcan", "falcon")
    shutil.rmtree(settings.store.tables_dir)
    monkeypatch.setattr(tables, "_RETRY_SECONDS", 0.2)
    with service(settings, scorer) as runtime:
        unharmed = finished(runtime, submit(runtime, rerank_lines(3)))
        assert unharmed.completed == 3
        assert [one["name"] for one in unharmed.table_versions] == ["other", "words"]
        (line,) = rerank_lines(1)
        id = submit(runtime, [line | {"document_language": "fr", "documents": ["volcan"]}])
        undeclared = submit(runtime, [line | {"document_language": None}])
        for one, why in ((id, "a required table cannot be served now"), (undeclared, "a language cannot be")):
            wait_for(lambda one=one: runtime.jobs.get(one).message is not None)  # type: ignore[misc]
            told = runtime.jobs.get(one)
            assert told.status == "in_progress" and str(told.message).startswith(f"waiting: {why}")
            assert "table 'other' version 1" in str(told.message)
        change_entry(runtime, "falcon", "volcan")
        assert [finished(runtime, one).completed for one in (id, undeclared)] == [1, 1]
        assert scores(runtime, id)[0][0] == 1.101


def test_searches_of_a_job_wait_for_tables_and_for_indexes_that_lack_changes(
    tmp_path: Path, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.load(data_dir=tmp_path)
    with service(settings, scorer) as runtime:
        upload_table(runtime, TABLE)
        runtime.collections.create("c", "de")
        add(runtime, "c", {"id": "1", "text": "Vulkan"})
        change_entry(runtime, "vulkan", "fulkan")
    shutil.rmtree(settings.store.tables_dir)
    monkeypatch.setattr(tables, "_RETRY_SECONDS", 0.2)
    with service(settings, scorer) as runtime:
        line = {"custom_id": "q", "query": "volcano", "query_language": "en", "rerank": False}
        id = runtime.jobs.submit(NewJob("search", "tag"), iter([body([line])])).id
        wait_for(lambda: "the tables from en to de cannot be served" in str(runtime.jobs.get(id).message))
        monkeypatch.setattr(CollectionIndex, "open", lambda self: None)  # else it is mended at once
        runtime.collections.index_of("c").state = IndexState.STALE
        change_entry(runtime, "fulkan", "vulkan")
        wait_for(lambda: "collection 'c': the index is stale" in str(runtime.jobs.get(id).message))
        assert runtime.jobs.get(id).status == "in_progress"
        runtime.collections.index_of("c").state = IndexState.READY
        assert finished(runtime, id).completed == 1
        (answer,) = read(runtime.jobs.results(id))
        assert [hit["id"] for hit in answer["response"]["hits"]] == ["1"] and not answer["response"]["degraded"]


def test_what_keeps_a_job_from_its_lines_is_told(
    tmp_path: Path, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service(Settings.load(data_dir=tmp_path), scorer) as runtime:
        snapshot_of = runtime.tables.snapshot_of
        monkeypatch.setattr(runtime.tables, "snapshot_of", _unavailable)
        id = submit(runtime, rerank_lines(3))
        wait_for(lambda: runtime.jobs.get(id).message == "waiting: not now")
        monkeypatch.setattr(runtime.tables, "snapshot_of", snapshot_of)
        done = finished(runtime, id)
        assert (done.completed, done.message) == (3, None)


def _unavailable(*_: object) -> None:
    raise Unavailable("not now")


def change_entry(runtime: Runtime, old: str, new: str) -> None:
    """Change a term in the database behind the service's back."""
    with runtime.store.write() as session:
        session.execute(update(TableEntry).where(TableEntry.target == old).values(target=new))
