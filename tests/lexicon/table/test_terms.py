"""Terms gathered as bytes: sorted as Python sorts strings, with equal ones recognised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table import terms
from dragoman.lexicon.table.terms import TermRecords

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text("ab\0", max_size=30))


@given(TEXTS)
def test_terms_are_sorted_and_equal_ones_are_one(given_terms: list[str]) -> None:
    records = TermRecords()
    numbers = np.array([records.add(term) for term in given_terms], np.int32)
    first = records.sort()
    vocabulary, ranks = first.vocabulary(first.first[numbers])
    assert list(vocabulary) == sorted(set(given_terms))
    assert [vocabulary[rank] for rank in ranks.tolist()] == given_terms


@given(TEXTS)
def test_what_is_forgotten_is_recorded_again_and_recognised(given_terms: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(terms, "_CACHED_TERMS", 2)
        records = TermRecords()
        numbers = np.array([records.add(term) for term in given_terms], np.int32)
    first = records.sort().first[numbers].tolist()
    earliest = {term: number for number, term in reversed(list(zip(numbers.tolist(), given_terms, strict=True)))}
    assert first == [earliest[term] for term in given_terms]


@given(st.lists(st.text("abc", max_size=20), unique=True), st.data())
def test_terms_that_are_not_used_are_left_out(given_terms: list[str], data: st.DataObject) -> None:
    used = data.draw(st.lists(st.sampled_from(range(len(given_terms))), unique=True)) if given_terms else []
    records = TermRecords()
    for term in given_terms:
        records.add(term)
    vocabulary, ranks = records.sort().vocabulary(np.array(used, np.int32))
    assert list(vocabulary) == sorted(given_terms[number] for number in used)
    assert [vocabulary[rank] for rank in ranks.tolist()] == [given_terms[number] for number in used]


def test_a_lone_surrogate_is_no_term() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        TermRecords().add("\ud800")
