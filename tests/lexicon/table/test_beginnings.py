"""Terms that begin as something typed does, with or without marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.beginnings import begin_ranges
from dragoman.lexicon.table.derivations import is_derived
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.text.plain_letters import plain_text
from dragoman.lexicon.text.tokens import fold

TERMS = st.lists(st.text("adeloæłđằó ", min_size=1, max_size=4).map(lambda text: fold(text, "vi")), max_size=12)


@given(TERMS, st.text("adelo", min_size=1, max_size=3))
def test_what_is_typed_without_marks_finds_all_terms_that_begin_so(terms: list[str], typed: str) -> None:
    words = Vocabulary.from_terms(sorted(set(terms) - {""}))
    ranges = begin_ranges(words, typed, "vi")
    begun = {words[place] for _, first, last in ranges for place in range(first, last)}
    assert begun == {term for term in words if plain_text(term).startswith(typed)}
    assert sum(last - first for _, first, last in ranges) == len(begun)


@pytest.mark.parametrize(("typed", "language"), [("lodz", "pl"), ("łodz", "pl"), ("da nang", "vi"), ("đà n", "vi")])
def test_names_are_completed(typed: str, language: str) -> None:
    words = Vocabulary.from_terms(sorted({"łodz", "đà nẵng", "lodging"}))
    (found,) = begin_ranges(words, typed, language)
    assert words[found[1]] in ("łodz", "đà nẵng")


def test_a_word_with_a_regular_ending_is_derived() -> None:
    stems = ["bank", "bake", "farm", "sing"]
    terms = [*stems, *(f"{stem}er" for stem in stems[1:]), "bankrupt"]
    table = Table.from_entries("en", "de", [(term, "x", 1.0, 1.0) for term in terms])
    assert is_derived("banker", [table])
    assert not is_derived("bankxq", [table]) and not is_derived("volcaner", [table])
