"""How unlike writing the letters of a query are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.models.encoding import COMPARED_SUBWORDS, EncodedQuery
from dragoman.engine.search.relevance.oddness import oddness


def encoded(pieces: list[str], surprisal: float) -> tuple[str, EncodedQuery]:
    text, offsets = "", []
    for piece in pieces:
        offsets.append((len(text), len(text) + len(piece)))
        text += piece
    none = np.zeros((0, 0), np.float32)
    return text, EncodedQuery(np.zeros(0, np.float32), none, np.full(len(pieces), surprisal), offsets)


def test_letters_that_fall_into_many_subwords_are_odd_and_words_are_not() -> None:
    words = oddness(*encoded(["harbour", "strike"], 11.0))
    letters = oddness(*encoded(["x", "qz", "v", "kj", "w", "q"], 9.0))
    assert words < 0 < 0.5 < letters
    assert oddness(*encoded(["с", "ъ", "ж", "щф"], 9.0)) > 0.4


@given(st.lists(st.sampled_from(["2", "1984", "?", "ⴰⵣⵓⵍ", "ᐃᓄᒃ"]), max_size=9), st.floats(0, 16))
def test_of_digits_and_scripts_that_were_not_measured_nothing_is_said(pieces: list[str], surprisal: float) -> None:
    assert oddness(*encoded(pieces, surprisal)) == 0


@given(st.text(max_size=100), st.floats(0, 16))
def test_it_is_finite_and_rarer_subwords_are_no_less_odd(text: str, surprisal: float) -> None:
    assert -16 <= oddness(*encoded(list(text), surprisal / 2)) <= oddness(*encoded(list(text), surprisal)) <= 16


def test_of_long_queries_and_encoders_without_surprisals_nothing_is_said() -> None:
    assert oddness(*encoded(["q"] * COMPARED_SUBWORDS, 9.0)) == 0
    assert oddness("qzv", EncodedQuery(np.zeros(0, np.float32), np.zeros((0, 0), np.float32), np.zeros(0), ())) == 0
