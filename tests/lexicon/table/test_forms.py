"""Terms of a table by their index terms, against a slow reading of the table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.forms import Forms
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import Token, words

TERMS = ["a", "as", "b", "bs", "a b", "as b", "the", "the a"]


class Plurals:
    """English of two stop words and one ending."""

    language = "en"
    fingerprint = "plurals"

    def tokens(self, text: str) -> list[Token]:
        return [
            Token(one.word, "" if one.word in ("the", "of") else one.word.removesuffix("s"), one.start, one.end)
            for one in words(text, "en")
        ]


def key(term: str) -> list[str]:
    return [token.term for token in Plurals().tokens(term) if token.term]


@given(st.sets(st.sampled_from(TERMS), min_size=1), st.sampled_from([*TERMS, "c", "of the bs"]))
def test_the_terms_found_have_the_index_terms_of_the_term(terms: set[str], term: str) -> None:
    table = Table.from_entries("en", "de", [(one, "x", 1.0, 0.1) for one in terms])
    expected = sorted(one for one in terms if key(one) and key(one) == key(term))
    assert Forms(table, Plurals()).of(term) == expected


def test_the_translations_of_several_terms_are_averaged() -> None:
    table = Table.from_entries("en", "de", [("a", "x", 0.8, 0.5), ("as", "x", 0.4, 0.6), ("as", "y", 0.6, 0.2)])
    found = Forms(table, Plurals()).translations(["a", "as"])
    assert [one.term for one in found] == ["x", "y"]
    assert [(one.p_forward, one.p_backward) for one in found] == [
        (pytest.approx(0.6), 1.0),
        (pytest.approx(0.3), pytest.approx(0.2)),
    ]
