"""The thread that reads documents for names, where a tagger is busy or missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.indexing import follower
from dragoman.engine.indexing.sources import EntityCoverage
from dragoman.engine.models import model_host
from dragoman.engine.settings import Settings
from tests.support.searching import add, running

pytestmark = pytest.mark.slow


class BusyTagger:
    """Finds no names, and is too busy for texts that say so until it is ``free``."""

    def __init__(self) -> None:
        self.asked, self.free = Event(), Event()

    def tag(self, texts: Sequence[str]) -> list[list[Any]]:
        if any("busy" in text for text in texts) and not self.free.is_set():
            self.asked.set()
            raise Unavailable("the tagger is busy")
        return [[] for _ in texts]


@pytest.fixture
def tagger(monkeypatch: pytest.MonkeyPatch) -> Iterator[BusyTagger]:
    made = BusyTagger()
    monkeypatch.setitem(model_host.LOADERS, "ner_tagger", lambda settings, shared: (made, made))
    yield made
    made.free.set()


@pytest.fixture
def tagging(settings: Settings, tmp_path: Path) -> Settings:
    return settings.replace(ner_tagger=str(tmp_path))


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, "it does not come true"
        time.sleep(0.01)


def test_a_collection_that_cannot_be_read_now_holds_up_no_other(
    tagging: Settings, tagger: BusyTagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_PAUSES", (3600.0, 3600.0))
    with running(tagging) as runtime:
        keys = {name: runtime.collections.create(name, "de", entities=True).key for name in ("a", "b")}
        add(runtime, "a", {"id": "1", "text": "busy"})
        assert tagger.asked.wait(30)
        add(runtime, "b", {"id": "1", "text": "Hafen"})
        wait_until(lambda: runtime.source.entity_coverage(keys["b"]) == EntityCoverage(1, 0, 1))
        assert runtime.source.entity_coverage(keys["a"]) == EntityCoverage(0, 0, 1)
        tagger.free.set()
        add(runtime, "a", {"id": "2", "text": "Hafen"})  # what changes is read at once
        wait_until(lambda: runtime.source.entity_coverage(keys["a"]) == EntityCoverage(2, 0, 2))


def test_names_that_are_turned_off_are_not_looked_for(tagging: Settings, tagger: BusyTagger) -> None:
    with running(tagging) as runtime:
        key = runtime.collections.create("c", "sw", entities=True).key
        runtime.collections.change("c", {"entities": False})
        add(runtime, "c", {"id": "1", "text": "moja"})
        runtime.entities.open(key)
        assert runtime.entities.apply(key)
        assert len(runtime.source.untagged_documents(key, 0, 10)) == 1


def test_a_collection_is_tried_again_less_and_less_often(
    tagging: Settings, tagger: BusyTagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_PAUSES", (0.001, 300.0))
    with running(tagging) as runtime:
        key = runtime.collections.create("a", "de", entities=True).key
        queue = runtime.entities.follower._queue
        add(runtime, "a", {"id": "1", "text": "busy"})
        wait_until(lambda: any(turn.pause > 0.005 for turn in list(queue.values())))
        tagger.free.set()
        wait_until(lambda: runtime.source.entity_coverage(key) == EntityCoverage(1, 0, 1))
        wait_until(lambda: not queue)


def test_without_a_tagger_nothing_is_tried_again(
    tagging: Settings, tagger: BusyTagger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tagging) as runtime:
        for name in ("a", "b"):
            runtime.collections.create(name, "de", entities=True)
            add(runtime, name, {"id": "1", "text": "busy"})
    monkeypatch.undo()
    monkeypatch.setattr(follower, "_PAUSES", (0.0, 0.0))
    caplog.clear()
    with running(tagging.replace(ner_tagger="off")) as runtime:
        (thread,) = runtime.entities.follower._threads
        thread.join(30)
        assert not thread.is_alive()
        add(runtime, "a", {"id": "2", "text": "Hafen"})
        assert runtime.entities.follower._threads == [thread]
    (message,) = [record.message for record in caplog.records if "for names" in record.message]
    assert message.startswith("no documents are read for names until the service starts again: task: the tagger ner")
