"""Terms that are spelt nearly as a word is, against the distance as it is defined."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table import nearest as module
from dragoman.lexicon.table.nearest import most_edits, nearest
from dragoman.lexicon.table.vocabulary import Vocabulary

WORDS = st.text("abé語😀 ", min_size=1, max_size=8)


def distance(a: str, b: str) -> int:
    """Optimal string alignment, as it is defined."""

    @cache
    def of(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        best = min(of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            best = min(best, of(i - 2, j - 2) + 1)
        return best

    return of(len(a), len(b))


@given(st.sets(WORDS), WORDS, st.integers(0, 3), st.integers(1, 5))
def test_the_nearest_terms_are_those_of_the_definition(terms: set[str], word: str, most: int, block: int) -> None:
    expected = sorted(
        (distance(word, term), term)
        for term in terms
        if most and term[0] == word[0] and " " not in term and distance(word, term) <= most
    )
    vocabulary = Vocabulary.from_terms(sorted(terms))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        near = nearest(vocabulary, word, most)
    assert [(term.distance, term.term) for term in near] == expected
    assert all(vocabulary[term.place] == term.term for term in near)


@pytest.mark.parametrize(
    ("word", "most"),
    [
        ("ashe", 0),
        ("ashes", 1),
        ("volcanoes", 1),
        ("volcanoess", 2),
        ("covid19", 0),
        ("x" * 41, 0),
        ("", 0),
        ("Δ" * 5, 1),
    ],
)
def test_short_words_and_numbers_have_no_other_spelling(word: str, most: int) -> None:
    assert most_edits(word) == most
