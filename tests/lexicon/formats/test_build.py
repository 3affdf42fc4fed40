"""Normalising an uploaded file agrees with a plain, slow reading of its rules."""

import math
import tracemalloc
from collections import defaultdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.lexicon.formats import build
from dragoman.lexicon.formats.build import normalise
from dragoman.lexicon.formats.items import ROWS_KEPT, Notice
from dragoman.lexicon.formats.reader import Header, RawEntry, Rejection, TableFormatError
from dragoman.lexicon.table import terms
from dragoman.lexicon.text import tokens

probabilities = st.none() | st.floats(0, 1)
raw_entries = st.lists(
    st.builds(
        RawEntry,
        st.just(1),
        st.sampled_from(["a", "A", "b", "b c", "d"]),
        st.sampled_from(["x", "X!", "y", "z z", "w"]),
        probabilities,
        probabilities,
    ),
    min_size=1,
    max_size=12,
)
Pair = tuple[str, str]


def reference(raw: list[RawEntry], threshold: float) -> tuple[dict[Pair, tuple[float, float]], int]:
    """The documented rules, one dictionary at a time."""
    given: dict[Pair, list[float | None]] = {}
    for entry in raw:
        pair = (entry.source.lower(), entry.target.lower().strip("!"))
        sums = given.setdefault(pair, [None, None])
        for i, value in enumerate((entry.p_ts, entry.p_st)):
            if value is not None:
                sums[i] = (sums[i] or 0.0) + value
    forward: dict[Pair, float] = {}
    for (s, t), (p_ts, p_st) in given.items():
        siblings = [other for other in given if other[0] == s]
        if p_ts is not None:
            forward[s, t] = p_ts
        elif p_st is None:
            forward[s, t] = 1 / len(siblings)
        else:
            total = math.fsum(given[other][1] or 0.0 for other in siblings)
            forward[s, t] = p_st / total if total else 0.0
    backward: dict[Pair, float] = {}
    for (s, t), (_, p_st) in given.items():
        total = math.fsum(forward[other] for other in given if other[1] == t)
        backward[s, t] = p_st if p_st is not None else forward[s, t] / total if total else 0.0
    for side, values in ((0, forward), (1, backward)):
        totals: dict[str, float] = defaultdict(float)
        for pair, value in values.items():
            totals[pair[side]] += value
        for pair in values:
            values[pair] /= max(1.0, totals[pair[side]])
    kept = {p: (forward[p], backward[p]) for p in given if max(forward[p], backward[p]) >= threshold}
    return kept, len(given) - len(kept)


@example([RawEntry(1, "a", "x", None, 1.0)] * 2 + [RawEntry(1, "b", "x", None, 1e-8)], 0.0)
@given(raw_entries, st.sampled_from([0.0, 1e-4, 0.3]))
def test_normalising_agrees_with_the_rules(raw: list[RawEntry], threshold: float) -> None:
    expected, pruned = reference(raw, threshold)
    if not expected:
        with pytest.raises(TableFormatError, match="no entry"):
            normalise(raw, "en", "de", threshold)
        return
    result = normalise(raw, "en", "de", threshold)
    found = {
        (s, e.term): (e.p_forward, e.p_backward) for s in result.table.sources for e in result.table.translations(s)
    }
    assert found.keys() == expected.keys()
    for pair, (p_ts, p_st) in expected.items():
        assert found[pair] == pytest.approx((p_ts, p_st), rel=1e-6, abs=1e-9)
    assert (result.pruned, result.entries) == (pruned, len(expected))
    assert result.source_terms == len({s for s, _ in expected})


@given(raw_entries)
def test_sums_are_at_most_one(raw: list[RawEntry]) -> None:
    table = normalise(raw, "en", "de", 0.0).table
    for side in (table, table.inverse()):
        for term in side.sources:
            assert sum(entry.p_forward for entry in side.translations(term)) <= 1 + 1e-6


def test_pairs_without_probability_share_it() -> None:
    raw = [
        RawEntry(i, s, t, None, None)
        for i, (s, t) in enumerate([("house", "Haus"), ("house", "Gebäude"), ("building", "Gebäude")])
    ]
    result = normalise(raw, "en", "de")
    found = [(e.term, e.p_forward, e.p_backward) for e in result.table.translations("house")]
    assert found == [("gebaude", 0.5, pytest.approx(1 / 3)), ("haus", 0.5, 1.0)]


def test_given_directions_are_kept_and_mass_under_one_is_left() -> None:
    raw = [RawEntry(1, "a", "x", 0.5, 0.25), RawEntry(2, "a", "y", 0.25, 0.125)]
    table = normalise(raw, "en", "de").table
    assert [(e.p_forward, e.p_backward) for e in table.translations("a")] == [(0.5, 0.25), (0.25, 0.125)]


def test_terms_are_folded_by_their_language() -> None:
    raw = [RawEntry(1, "the BIG-house!", "ISPARTA’da", 1.0, 1.0), RawEntry(2, "ＡＢＣ", "北京 大学", None, None)]
    table = normalise(raw, "en", "tr").table
    assert list(table.sources) == ["abc", "the big house"]
    assert list(table.targets) == ["ısparta", "北京 大学"]


def test_entries_without_a_searchable_word_are_warnings_with_their_line() -> None:
    raw = [RawEntry(1, "a", "b", None, None), RawEntry(2, "…", "x", None, None), RawEntry(3, "x", "♠", None, None)]
    result = normalise(raw, "en", "de")
    assert result.warnings == [
        Notice(2, "the source '…' has no searchable word; the entry is left out"),
        Notice(3, "the target '♠' has no searchable word; the entry is left out"),
    ]
    assert (result.entries, result.warnings_count, result.rejected) == (1, 2, [])


def test_the_header_is_kept() -> None:
    assert normalise([Header(("source", "target")), RawEntry(2, "a", "b", None, None)], "en", "de").header == (
        "source",
        "target",
    )


def test_rejections_are_all_counted_and_the_first_kept() -> None:
    raw = [RawEntry(1, "a", "b", None, None), *(Rejection(n, "why") for n in range(2, 3000))]
    result = normalise(raw, "en", "de")
    assert result.rejected_count == 2998
    assert result.rejected == [Rejection(n, "why") for n in range(2, 2 + ROWS_KEPT)]


def test_nothing_usable_is_refused_with_the_first_fault() -> None:
    with pytest.raises(TableFormatError, match="no line of the file is an entry: line 7: the source"):
        normalise([RawEntry(7, "!", "b", None, None)], "en", "de")
    with pytest.raises(TableFormatError, match="above the threshold"):
        normalise([RawEntry(1, "a", "b", 0.0, 0.0)], "en", "de")
    with pytest.raises(TableFormatError):
        normalise([], "en", "de")


def test_a_large_table_takes_little_memory_for_each_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 40_000
    monkeypatch.setattr(build, "_CACHED_TERMS", 1 << 10)  # their number is limited, and so does not count
    monkeypatch.setattr(terms, "_CACHED_TERMS", 1 << 10)
    monkeypatch.setattr(tokens, "_KNOWN_WORDS", 1 << 10)
    entries = (RawEntry(number, f"source{number}", f"target{number}", 0.5, 0.5) for number in range(count))
    tracemalloc.start()
    try:
        assert normalise(entries, "en", "de").entries == count
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / count <= 200
