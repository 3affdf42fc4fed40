import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.vocabulary import Vocabulary

terms = st.sets(st.text(st.characters(exclude_categories=["Cs"])), max_size=30)


@given(terms, st.text())
def test_lookups_agree_with_a_list(chosen: set[str], other: str) -> None:
    ordered = sorted(chosen)
    vocabulary = Vocabulary.from_terms(ordered)
    assert list(vocabulary) == [vocabulary[i] for i in range(len(vocabulary))] == ordered
    for place, term in enumerate(ordered):
        assert vocabulary.index(term) == place
        assert term in vocabulary
    assert vocabulary.index(other) == (ordered.index(other) if other in chosen else -1)
    assert vocabulary == Vocabulary.from_terms(ordered)


def test_invalid_text_is_not_found() -> None:
    vocabulary = Vocabulary.from_terms(["a", "b"])
    assert vocabulary.index("\ud800") == -1
    assert 1 not in vocabulary


@pytest.mark.parametrize("unsorted", [["b", "a"], ["a", "a"]])
def test_unsorted_terms_are_refused(unsorted: list[str]) -> None:
    with pytest.raises(ValueError, match="sorted and distinct"):
        Vocabulary.from_terms(unsorted)


@pytest.mark.parametrize("number", [-1, 2])
def test_numbers_out_of_range_are_refused(number: int) -> None:
    with pytest.raises(IndexError):
        Vocabulary.from_terms(["a", "b"])[number]
