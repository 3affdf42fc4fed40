from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.text.passages import passages, sentences

TEXTS = st.text(st.sampled_from("ab .!?。।\n\u0301é日ก😀)\"'"), max_size=200) | st.text(max_size=200)


@given(TEXTS, st.integers(1, 60), st.booleans())
def test_spans_are_in_order_within_the_length_and_cover_the_rest(text: str, longest: int, whole: bool) -> None:
    spans = passages(text, longest) if whole else sentences(text, longest)
    ends = [0, *(end for _, end in spans)]
    assert all(before <= start < end <= start + longest for before, (start, end) in zip(ends, spans, strict=False))
    gaps = [text[before:start] for before, start in zip(ends, [*(start for start, _ in spans), len(text)], strict=True)]
    assert not "".join(gaps).strip()
    assert all(text[start:end].strip() == text[start:end] for start, end in spans)


@given(TEXTS, st.integers(1, 60))
def test_neighbouring_passages_would_not_fit_into_one(text: str, longest: int) -> None:
    spans = passages(text, longest)
    starts = {start for start, _ in sentences(text, longest)}
    assert {start for start, _ in spans} <= starts
    firsts = [next(end for start, end in sentences(text, longest) if start == low) for low, _ in spans]
    assert all(first - low > longest for (low, _), first in zip(spans, firsts[1:], strict=False))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three", ["One.", "Two!", "Three"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("北京是首都。上海很大！", ["北京是首都。", "上海很大！"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("a line\n\nanother", ["a line", "another"]),
        ("version 3.5 is out", ["version 3.5 is out"]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


def test_a_long_sentence_is_cut_at_white_space_or_between_characters() -> None:
    assert _cut("one two three four", 9) == ["one two", "three", "four"]
    assert _cut("e\u0301e\u0301e\u0301", 3) == ["e\u0301"] * 3
    assert "".join(_cut("日" * 1000, 400)) == "日" * 1000


def _cut(text: str, longest: int) -> list[str]:
    return [text[start:end] for start, end in sentences(text, longest)]


@pytest.mark.parametrize("text", ["." * 300_000, ".)" * 200_000, "\n" * 300_000, "a. " * 100_000, " " * 300_000])
def test_no_text_takes_more_than_linear_time(text: str) -> None:
    started = time.process_time()
    passages(text)
    assert time.process_time() - started < 60  # quadratic time would be hours
