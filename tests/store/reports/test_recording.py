"""What is recorded of searches and events, and the reports of it, in every database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.settings import Settings
from dragoman.store.database import Store
from dragoman.store.models import now
from dragoman.store.recorded_models import RecordedEvent, RecordedSearch, RecordedWord
from dragoman.store.reports import recording as module
from dragoman.store.reports.recording import EventMade, Recording, SearchMade
from dragoman.store.reports.reports import Reports

QUERIES = ["ash", "Ash [of]", "вулкан"]
SEARCHES = st.lists(
    st.tuples(
        st.sampled_from(QUERIES),
        st.sampled_from(["en", "ru"]),
        st.integers(0, 2),
        st.dictionaries(st.sampled_from(["de", "sw"]), st.lists(st.sampled_from(["Ash", "ash", "of"]), max_size=3)),
        st.sampled_from([None, "click", "item_CLICK", "view"]),
    ),
    max_size=12,
)


@pytest.fixture
def plain(settings: Settings) -> Settings:
    return settings.replace(record_searches="plain")


def made(request_id: str, query: str = "ash", at: datetime | None = None, **oov: list[str]) -> SearchMade:
    return SearchMade(request_id, "en", query, 1, oov, at or now())


def click(query_id: str, action: str = "click", at: datetime | None = None) -> EventMade:
    return EventMade(query_id, "c/1", action, "ada", at or now())


def counts(store: Store) -> tuple[int, int, int]:
    with store.read() as session:
        searches, words, events = (
            session.scalar(select(func.count()).select_from(model)) or 0
            for model in (RecordedSearch, RecordedWord, RecordedEvent)
        )
    return searches, words, events


@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(searches=SEARCHES)
def test_reports_count_what_was_recorded(
    store: Store, plain: Settings, searches: list[tuple[str, str, int, dict[str, list[str]], str | None]]
) -> None:
    with store.write() as session:
        for model in (RecordedEvent, RecordedWord, RecordedSearch):
            session.execute(delete(model))
    recording = Recording(store, plain)
    missing: Counter[tuple[str, str, str]] = Counter()
    made_of, without, unclicked = Counter[tuple[str, str]](), Counter[tuple[str, str]](), 0
    for place, (query, language, hits, oov, action) in enumerate(searches):
        assert recording.add(SearchMade(str(place), language, query, hits, oov, now()))
        missing.update({(word.lower(), language, target) for target, words in oov.items() for word in words})
        clicked = action is not None and "click" in action.lower()
        if action is not None:
            assert recording.add(click(str(place), action))
        made_of[query, language] += 1
        without[query, language] += not clicked
        unclicked += not clicked
    reports = Reports(store, recording)
    vocabulary, report = reports.vocabulary(100), reports.searches(100)
    assert {(word.word, word.source, word.target): word.searches for word in vocabulary.words} == missing
    assert [word.searches for word in vocabulary.words] == sorted(missing.values(), reverse=True)
    assert {(query.query, query.language): (query.searches, query.without_click) for query in report.queries} == {
        key: (made_of[key], count) for key, count in without.items() if count
    }
    assert (report.searches, report.without_click) == (len(searches), unclicked)
    assert (vocabulary.total, report.total) == (len(missing), len(report.queries))
    if report.queries:
        first = reports.searches(1)
        assert (first.queries, first.total) == (report.queries[:1], report.total)


def test_hashed_texts_are_counted_and_not_read(store: Store, settings: Settings) -> None:
    recording = Recording(store, settings.replace(record_searches="hashed"))
    for place in range(2):
        recording.add(made(str(place), "secret words", de=["Secret"]))
    recording.add(click("0"))
    reports = Reports(store, Recording(store, settings.replace(record_searches="hashed")))
    recording.flush()
    (word,), (query,) = reports.vocabulary(10).words, reports.searches(10).queries
    assert (word.hashed, word.searches, query.hashed, query.without_click) == (True, 2, True, 1)
    assert word.word == recording.hash_text("secret") and query.query == recording.hash_text("secret words")
    with store.read() as session:
        stored = [*session.scalars(select(RecordedSearch.query)), *session.scalars(select(RecordedWord.word))]
        stored += [client or "" for client in session.scalars(select(RecordedEvent.client_id))]
    assert all("secret" not in text and text != "ada" for text in stored)
    key = settings.store.data_dir / "reports.key"
    assert key.stat().st_mode & 0o077 == 0
    key.write_bytes(b"short")
    with pytest.raises(Unavailable, match=r"reports\.key"):
        recording.hash_text("secret")


def test_nothing_is_recorded_by_default(store: Store, settings: Settings) -> None:
    recording = Recording(store, settings)
    assert not recording.add(made("1")) and not recording.add(click("1"))
    recording.flush()
    report = Reports(store, recording).searches(10)
    assert (report.recording, report.since, report.searches) == ("off", None, 0)
    assert counts(store) == (0, 0, 0)


def test_the_oldest_go(store: Store, plain: Settings) -> None:
    recording = Recording(store, plain.replace(record_most=3, record_days=10))
    old = now() - timedelta(days=11)
    for place in range(5):
        recording.add(made(str(place), de=["word"]))
        recording.add(click(str(place), at=old if place == 4 else None))
    recording.add(made("old", at=old))
    recording.flush()
    recording._prune()
    assert counts(store) == (3, 3, 3)
    assert Reports(store, recording).searches(1).searches == 3


def test_what_waits_is_bounded_and_written_in_parts(
    store: Store, plain: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUEUE", 7)
    monkeypatch.setattr(module, "_BATCH", 2)
    recording = Recording(store, plain)
    assert [recording.add(made(str(place))) for place in range(9)] == [True] * 7 + [False] * 2
    recording.flush()
    assert counts(store)[0] == 7 and recording.add(made("again"))


def test_what_cannot_be_written_is_tried_again(
    store: Store, plain: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recording = Recording(store, plain)
    recording.add(made("1"))
    with monkeypatch.context() as patch:
        patch.setattr(recording, "_insert_searches", lambda *_: 1 / 0)
        recording._try(recording.flush)
    assert "tried again" in caplog.text and counts(store)[0] == 0
    recording.flush()
    assert counts(store)[0] == 1


@pytest.fixture
def running(store: Store, plain: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.01)
    recording = Recording(store, plain)
    recording.start()
    yield recording
    recording.close()


def test_many_threads_record_each_search_once(store: Store, running: Recording) -> None:
    def record(name: str) -> None:
        for place in range(50):
            running.add(made(f"{name}{place}"))
            if place % 20 == 0:
                running.flush()

    threads = [Thread(target=record, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    running.close()
    with store.read() as session:
        ids = session.scalars(select(RecordedSearch.request_id)).all()
    assert sorted(ids) == sorted(f"{name}{place}" for name in "abcd" for place in range(50))


def test_times_keep_their_zone(store: Store, plain: Settings) -> None:
    recording = Recording(store, plain)
    moment = now().replace(microsecond=0)
    recording.add(made("1", at=moment, de=["x"]))
    report = Reports(store, recording).vocabulary(1)
    assert report.since == moment == report.words[0].last_at and report.words[0].last_at.tzinfo == UTC
