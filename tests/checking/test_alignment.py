"""Sentences of a text and of its translation that belong together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.checking import Knowledge, TooManySentences, align
from dragoman.lexicon.text.passages import sentences
from tests.checking.test_checker import knowledge

SOURCE = "Der Vulkan brach gestern aus. Tausende Menschen flohen an die Küste. Die Regierung schickte Schiffe."
MERGED = "The volcano erupted yesterday and thousands of people fled to the coast. The government sent ships."
SHORTENED = "The volcano erupted yesterday. The government sent ships."


def texts(source: str, translation: str) -> list[tuple[str, str]]:
    aligned = align(source, translation, knowledge())
    return [(source[slice(*spans.source)], translation[slice(*spans.target)]) for spans in aligned]


def test_merged_sentences_stay_together() -> None:
    first, second = texts(SOURCE, MERGED)
    assert first[0].endswith("an die Küste.") and first[1].endswith("to the coast.")
    assert second == ("Die Regierung schickte Schiffe.", "The government sent ships.")


def test_a_sentence_that_is_left_out_stands_alone() -> None:
    assert ("Tausende Menschen flohen an die Küste.", "") in texts(SOURCE, SHORTENED)
    assert ("", "Tausende Menschen flohen an die Küste.") in [pair[::-1] for pair in texts(SOURCE, SHORTENED)]


@settings(max_examples=60, deadline=None)
@given(*[st.lists(st.sampled_from(["Ja. ", "Ein langer Satz steht hier. ", "Nein!\n"]), max_size=30).map("".join)] * 2)
def test_every_sentence_is_in_one_span(source: str, translation: str) -> None:
    aligned = align(source, translation, Knowledge(source="de", target="en"))
    for text, spans in ((source, [each.source for each in aligned]), (translation, [each.target for each in aligned])):
        assert spans == sorted(spans)
        for start, end in sentences(text):
            assert sum(first <= start and end <= last for first, last in spans) == 1


def test_too_many_sentences_are_refused() -> None:
    with pytest.raises(TooManySentences, match="at most 1000"):
        align("Ja. " * 1001, "Yes.", Knowledge(source="de", target="en"))
