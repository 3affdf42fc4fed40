"""Two tables in a row, beside the same sums by plain loops."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.pivot import Fallback, Pivot
from dragoman.lexicon.table.table import Table

UNIT = st.floats(0.02, 1).map(lambda one: float(f"{one:.3g}"))


def tables(source: str, sources: str, target: str, targets: str) -> st.SearchStrategy[Table]:
    pairs = st.tuples(st.sampled_from(sources), st.sampled_from(targets))
    entries = st.dictionaries(pairs, st.tuples(UNIT, UNIT), max_size=12)
    return entries.map(lambda found: Table.from_entries(source, target, [(*pair, *p) for pair, p in found.items()]))


@given(tables("de", "abc", "en", "pqr"), tables("en", "pqs", "ru", "xyz"))
def test_probabilities_are_summed_over_the_words_between(first: Table, second: Table) -> None:
    pivot = Pivot(first, second, offset=3)
    for term in "abcd":
        expected: dict[str, tuple[float, float]] = {}
        for one in first.translations(term):
            for other in second.translations(one.term):
                ahead, back = expected.get(other.term, (0.0, 0.0))
                expected[other.term] = (
                    ahead + one.p_forward * other.p_forward,
                    back + one.p_backward * other.p_backward,
                )
        found = pivot.translations(term)
        assert (term in pivot) == bool(expected)
        assert {entry.term for entry in found} == expected.keys()
        for entry in found:
            assert (entry.p_forward, entry.p_backward) == pytest.approx(
                tuple(min(1.0, value) for value in expected[entry.term]), abs=1e-5
            )
            assert entry.origin == 3
        assert [entry.p_forward for entry in found] == sorted((entry.p_forward for entry in found), reverse=True)
        assert pivot.translations(term, best=1) == found[:1]
        assert pivot.translations(term, least_backward=0.3) == [one for one in found if one.p_backward >= 0.3]


def test_the_origin_is_the_second_tables_that_gives_most() -> None:
    first = Table.from_arrays("de", "en", ["a"], ["p", "q"], [0, 0], [0, 1], [0.6, 0.4], [0.5, 0.5])
    second = Table.from_arrays("en", "ru", ["p", "q"], ["x"], [0, 1], [0, 0], [0.1, 0.9], [0.5, 0.5], origins=[0, 1])
    assert [(one.term, one.origin) for one in Pivot(first, second, 2).translations("a")] == [("x", 3)]


def test_of_many_translations_those_that_are_probable_both_ways_are_kept() -> None:
    targets = [f"{number:02}" for number in range(60)]
    first = Table.from_entries("de", "en", [("a", "p", 1.0, 1.0)])
    rare = [("p", target, 0.001, 1.0) for target in targets[1:31]]
    vague = [("p", target, 0.03, 0.00001) for target in targets[31:]]
    second = Table.from_entries("en", "ru", [("p", "00", 0.05, 0.5), *rare, *vague])
    found = {one.term for one in Pivot(first, second, 1).translations("a")}
    assert len(found) == 40
    assert found >= {"00", *targets[1:31]}


def test_words_between_that_are_improbable_both_ways_are_left_out() -> None:
    first = Table.from_entries("de", "en", [("a", "p", 0.9, 0.009), ("a", "q", 0.009, 0.009), ("a", "r", 0.009, 0.9)])
    second = Table.from_entries("en", "ru", [(one, one.upper(), 1.0, 1.0) for one in "pqr"])
    assert {one.term for one in Pivot(first, second, 1).translations("a")} == {"P", "R"}


@given(tables("de", "abc", "ru", "xyz"), tables("de", "abcd", "en", "pqr"), tables("en", "pqs", "ru", "xyz"))
def test_the_pivot_has_what_the_table_lacks(direct: Table, first: Table, second: Table) -> None:
    pivot = Pivot(first, second, 2)
    both = Fallback(direct, pivot)
    for term in "abcde":
        assert both.translations(term) == (direct.translations(term) or pivot.translations(term))
        assert (term in both) == bool(both.translations(term))


def test_tables_that_do_not_follow_each_other_are_refused() -> None:
    table = Table.from_entries("de", "en", [("a", "p", 1.0, 1.0)])
    with pytest.raises(ValueError, match="into en is not followed by one from de"):
        Pivot(table, table, 0)
