"""Questions made out of sentences: they ask for what was taken out, by words that the sentence has."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.indexes.analysis import analysis
from dragoman.service.benchmark import Benchmark
from dragoman.service.mart_cloze import ASKED, cloze, question

BEGINNINGS = sorted({one for ones in ASKED.values() for one in ones}, key=len, reverse=True)
SENTENCE = "The old harbour of Kismayo was rebuilt by the engineer Halima Warsame in 1931 after two storms."


def split(asked: str) -> tuple[str, list[str]]:
    """The beginning of a question, and its other words."""
    begins = next(one for one in BEGINNINGS if asked.startswith(f"{one} "))
    return begins, asked[len(begins) + 1 :].removesuffix("?").split()


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_a_question_is_of_its_sentence_and_lacks_its_answer(seed: int) -> None:
    asked = question(SENTENCE, random.Random(seed))
    assert asked is not None and asked.endswith("?")
    begins, words = split(asked)
    own = re.findall(r"\w+", SENTENCE)
    places = [own.index(word) for word in words]
    assert places == sorted(places)
    assert 2 <= sum(any(token.term for token in analysis("en").tokens(word)) for word in words) <= 7
    if begins in ASKED["time"]:
        assert "1931" not in words


def test_every_kind_of_thing_is_asked_for() -> None:
    asked = {split(question(SENTENCE, random.Random(seed)) or "")[0] for seed in range(300)}
    assert all(asked & set(beginnings) for kind, beginnings in ASKED.items() if kind not in ("number", "place"))
    numbers = "They found 42 ships below the ice near the coast of the island"
    assert {split(question(numbers, random.Random(seed)) or "")[0] for seed in range(50)} & set(ASKED["number"])


@pytest.mark.parametrize("text", ["", "Too short to ask.", "word " * 60, "the of and is was the of and is was the of"])
def test_what_cannot_be_asked_about_gives_none(text: str) -> None:
    assert question(text, random.Random(1)) is None


def test_each_question_is_answered_by_the_document_it_is_of() -> None:
    documents = {"a": SENTENCE, "b": "Short.", "c": SENTENCE.replace("harbour", "bridge")}
    task = Benchmark("en", "en", "passage", {"q": "x"}, {}, documents, {"q": {"a": 1}})
    made = cloze(task, 5, random.Random(1))
    assert set(made.queries) == {"a", "c"}
    assert made.qrels == {"a": {"a": 1}, "c": {"c": 1}}
    assert made.documents == documents
    assert cloze(task, 5, random.Random(1)) == made
    assert len(cloze(task, 1, random.Random(1)).queries) == 1
