"""Tagging by passages, with a worker whose tagger is replaced."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.engine.models.queue.batches import Limits
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Worker
from dragoman.engine.models.tagging import Tagging
from dragoman.lexicon.text.passages import PASSAGE_LENGTH
from dragoman.tagging.tag import Tag

read: list[str] = []


def capitals(_task: Any, texts: list[str]) -> list[list[Tag]]:
    """Every capital letter is a name."""
    read.extend(texts)
    return [
        [Tag(letter, place, place + 1, "PER", 1.0) for place, letter in enumerate(text) if letter.isupper()]
        for text in texts
    ]


@pytest.fixture
def worker() -> Iterator[Worker]:
    read.clear()
    made = Worker(capitals, queue=sys.maxsize, limits=lambda task: Limits(8, 4_000))
    yield made
    made.close()


def test_tags_stand_at_their_places_in_whole_texts(worker: Worker) -> None:
    texts = [" Anna ging. " + "x" * 3_000 + " Berta", "", "\n", "Anna", "、" * 1_000 + "B"]
    underway = Tagging(worker, "ner", texts)
    gather(underway.futures, 60)
    for text, tags in zip(texts, underway.results(), strict=True):
        assert [tag.start for tag in tags] == [place for place, letter in enumerate(text) if letter.isupper()]
        assert all(text[tag.start : tag.end] == tag.text for tag in tags)
    assert max(map(len, read)) <= PASSAGE_LENGTH and "Anna" in read
