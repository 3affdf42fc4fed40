"""Merging agrees with a plain implementation of its rule."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.compose import Member, merge
from dragoman.lexicon.table.table import Entry, Table

probabilities = st.sampled_from([0.0, 0.125, 0.25, 0.5])
contents = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), st.tuples(probabilities, probabilities), max_size=8
)
Content = dict[tuple[str, str], tuple[float, float]]


@st.composite
def member_lists(draw: st.DrawFn) -> list[Member]:
    return [
        Member(
            Table.from_entries("en", "de", [(s, t, *p) for (s, t), p in draw(contents).items()]),
            f"m{k}",
            1,
            draw(st.sampled_from(["statistical", "statistical", "glossary"])),
            draw(st.sampled_from([1.0, 2.0, 0.5])),
        )
        for k in range(draw(st.integers(1, 4)))
    ]


def content(table: Table) -> Content:
    return {(s, e.term): (e.p_forward, e.p_backward) for s in table.sources for e in table.translations(s)}


def reference(members: list[Member]) -> dict[tuple[str, str], tuple[float, float, int]]:
    contents = [content(member.table) for member in members]
    glossaries = [k for k, member in enumerate(members) if member.kind == "glossary"]
    covered = [{pair[side] for k in glossaries for pair in contents[k]} for side in (0, 1)]
    found: dict[tuple[str, str], tuple[float, float, int]] = {}
    for pair in {pair for entries in contents for pair in entries}:
        by_glossary = pair[0] in covered[0] or pair[1] in covered[1]
        group = [k for k, m in enumerate(members) if (m.kind == "glossary") == by_glossary and pair in contents[k]]
        if not group:
            continue
        sums, shares = [0.0, 0.0], dict.fromkeys(group, 0.0)
        for side in (0, 1):
            knowing = sum(
                m.weight
                for k, m in enumerate(members)
                if (m.kind == "glossary") == by_glossary and any(other[side] == pair[side] for other in contents[k])
            )
            for k in group:
                part = members[k].weight * contents[k][pair][side] / knowing
                sums[side] += part
                shares[k] += part
        found[pair] = (*sums, min(group, key=lambda k: (-round(shares[k], 12), k)))
    return found


@given(member_lists())
def test_merging_agrees_with_the_rule(members: list[Member]) -> None:
    merged = merge(members)
    expected = reference(members)
    found = {(s, e.term): e for s in merged.sources for e in merged.translations(s)}
    assert found.keys() == expected.keys()
    for pair, (p_ts, p_st, origin) in expected.items():
        assert (found[pair].p_forward, found[pair].p_backward) == pytest.approx((p_ts, p_st), rel=1e-6)
        assert found[pair].origin == origin or _tied(members, pair, found[pair].origin, origin)


def _tied(members: list[Member], pair: tuple[str, str], one: int, other: int) -> bool:
    """Whether two members contribute equally to a pair, but for rounding."""
    parts = []
    for k in (one, other):
        entry = content(members[k].table)[pair]
        parts.append(members[k].weight * (entry[0] + entry[1]))
    return parts[0] == pytest.approx(parts[1])


@given(member_lists())
def test_merging_the_inverses_is_the_inverse(members: list[Member]) -> None:
    inverses = [Member(m.table.inverse(), m.name, m.version, m.kind, m.weight) for m in members]
    assert content(merge(inverses).inverse()) == content(merge(members))


@given(member_lists())
def test_merging_one_table_changes_nothing(members: list[Member]) -> None:
    assert content(merge(members[:1])) == content(members[0].table)


BANK = Table.from_entries("en", "de", [("bank", "bank", 0.9, 1), ("bank", "ufer", 0.1, 0.2), ("shore", "ufer", 1, 0.8)])
RIVER = Table.from_entries("en", "de", [("bank", "ufer", 1, 1)])


def test_a_glossary_outranks_on_both_sides() -> None:
    merged = merge([Member(BANK, "news", 3), Member(RIVER, "rivers", 1, "glossary")])
    assert merged.translations("bank") == [Entry("ufer", 1.0, 1.0, 1)]
    assert merged.translations("shore") == []
    assert merged.inverse().translations("bank") == []


def test_a_term_that_one_member_does_not_know_keeps_its_mass() -> None:
    other = Table.from_entries("en", "de", [("bank", "bank", 0.5, 0.5)])
    merged = merge([Member(BANK, "a", 1, weight=3.0), Member(other, "b", 1)])
    assert merged.translations("shore") == [Entry("ufer", 1.0, pytest.approx(0.8), 0)]
    assert merged.translations("bank")[0] == Entry("bank", pytest.approx(0.8), pytest.approx(0.875), 0)


def test_opened_tables_merge(tmp_path: Path) -> None:
    BANK.save(tmp_path / "t")
    assert content(merge([Member(Table.open(tmp_path / "t"), "a", 1)])) == content(BANK)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_weights_must_be_positive(weight: float) -> None:
    with pytest.raises(ValueError, match="weight of table a must be positive"):
        merge([Member(BANK, "a", 1, weight=weight)])


def test_invalid_merges_are_refused() -> None:
    with pytest.raises(ValueError, match="between 1 and 256"):
        merge([])
    with pytest.raises(ValueError, match="table b is de to en, not en to de as a is"):
        merge([Member(BANK, "a", 1), Member(BANK.inverse(), "b", 1)])
