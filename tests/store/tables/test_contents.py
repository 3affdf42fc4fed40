"""What a table holds comes back as it was written: exports, lists, comparisons and patches."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dragoman.engine.core.errors import InvalidRequest, TooLarge
from dragoman.engine.tables.compiled import content_checksum
from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.items import Choices, RawEntry
from dragoman.lexicon.formats.reader import read
from dragoman.lexicon.text.tokens import fold_term
from dragoman.store.tables.contents import difference, list_terms
from dragoman.store.tables.exports import COLUMNS, Content, ExportFormat, export_entries
from dragoman.store.tables.patching import Addition, Patch, Removal, apply_patch
from dragoman.store.tables.repository import entry_rows

Pair = tuple[str, str]


def made(*entries: tuple[str, str] | tuple[str, str, float]) -> Normalised:
    return normalise([RawEntry(1, s, t, p[0] if p else None, None) for s, t, *p in entries], "en", "de")


def content(read: Normalised) -> Content:
    return read.table, read.written


def file(read: Normalised, format: ExportFormat = "tsv") -> bytes:
    return b"".join(export_entries(content(read), format, read.probabilities))


def pairs(read: Normalised) -> dict[Pair, float]:
    return {
        (written[0] or s, written[1] or t): round(p, 4) for s, t, p, _, *written in entry_rows(read.table, read.written)
    }


words = (
    st.text(st.sampled_from("aBcéÉßſİıIΣς '9жЖ水한กิ"), min_size=1, max_size=8)
    .map(lambda text: " ".join(text.split()))
    .filter(lambda text: fold_term(text, "en") != "" and fold_term(text, "de") != "")
)
chances = st.floats(0, 1, width=32) | st.floats(0, 1) | st.none()
entries = st.lists(st.tuples(words, words, chances, chances), min_size=1, max_size=12)


@hypothesis_settings(max_examples=100, deadline=None)
@given(entries, st.booleans(), st.sampled_from(["tsv", "csv", "jsonl"]))
def test_an_export_uploaded_again_gives_the_same_entries(
    found: list[tuple[str, str, float | None, float | None]], bare: bool, format: ExportFormat
) -> None:
    raw = [RawEntry(1, s, t, *((None, None) if bare else (p, q))) for s, t, p, q in found]
    try:
        first = normalise(raw, "en", "de")
    except ValueError:  # every probability is zero
        return
    columns = COLUMNS if first.probabilities and format != "jsonl" else COLUMNS[:2]
    choices = Choices(columns=columns)  # what stands in neither language is no evidence of the order
    items = read(iter([file(first, format)]), format, languages=("en", "de"), choices=choices)
    again = normalise(items, "en", "de")
    assert content_checksum(*content(again)) == content_checksum(*content(first))
    assert (again.rejected, again.warnings, again.pruned) == ([], [], 0)
    assert again.probabilities == first.probabilities
    assert file(again, format) == file(first, format)


def test_an_export_is_what_was_uploaded() -> None:
    read = made(("US", "Vereinigte Staaten"), ("Straße", 'die "Allee", breit'))
    assert file(read).decode() == 'source\ttarget\nUS\tVereinigte Staaten\nStraße\tdie "Allee", breit\n'
    assert file(read, "csv").decode().splitlines()[2] == 'Straße,"die ""Allee"", breit"'
    assert json.loads(file(read, "jsonl").splitlines()[0]) == {"source": "US", "target": "Vereinigte Staaten"}
    weighted = file(made(("US", "USA", 0.3), ("US", "Staaten", 0.1)))
    assert weighted.decode().splitlines()[:2] == [
        "source\ttarget\tprobability\tinverse_probability",
        "US\tStaaten\t0.1\t1.0",
    ]


def test_a_pair_keeps_its_first_form_but_capitals_only_where_all_are() -> None:
    assert list(pairs(made(("Bank", "BANK"), ("bank", "Bank")))) == [("bank", "Bank")]
    assert list(pairs(made(("us", "uns"), ("US", "uns")))) == [("US", "uns"), ("us", "uns")]
    assert list(pairs(made(("Bank", "Ufer"), ("bank", "ufer")))) == [("Bank", "Ufer")]


def test_terms_are_listed_by_prefix_and_page() -> None:
    read = made(("Haus", "house"), ("Häuser", "houses"), ("Hausboot", "houseboat"), ("Haus", "home"), ("Zaun", "fence"))
    seen: list[str] = []
    cursor = None
    while True:
        page = list_terms(content(read), False, " HAUS", cursor, 1)
        seen += [one.term for one in page.terms]
        if (cursor := page.next) is None:
            break
    assert seen == ["Haus", "Hausboot", "Häuser"]
    assert list_terms(content(read), False, "haus", None, 10).terms[0].translations == 2
    assert [one.term for one in list_terms(content(read), True, "", None, 10).terms] == [
        "fence", "home", "house", "houseboat", "houses",
    ]  # fmt: skip
    for wrong in ("x", "bm8=", "WyJhIiwiYiJd"):
        with pytest.raises(InvalidRequest, match="cursor"):
            list_terms(content(read), False, "", wrong, 10)


simple = st.dictionaries(
    st.tuples(st.sampled_from("aBcD"), st.sampled_from("wXyZ")), st.sampled_from([0.125, 0.25]), min_size=1
)


@hypothesis_settings(max_examples=100, deadline=None)
@given(simple, simple, st.integers(1, 4))
def test_the_pages_of_a_comparison_are_the_whole_difference(
    old: dict[Pair, float], new: dict[Pair, float], limit: int
) -> None:
    before, after = (made(*((*pair, p) for pair, p in one.items())) for one in (old, new))
    added: dict[Pair, float] = {}
    removed: dict[Pair, float] = {}
    changed: dict[Pair, float] = {}
    cursor = None
    while True:
        page = difference(content(before), content(after), True, cursor, limit)
        assert len(page.added) + len(page.removed) + len(page.changed) <= limit
        added |= {(one.source, one.target): one.probability for one in page.added}
        removed |= {(one.source, one.target): one.probability for one in page.removed}
        changed |= {(one.source, one.target): one.probability for _, one in page.changed}
        if (cursor := page.next) is None:
            break
    assert added == {pair: p for pair, p in new.items() if pair not in old}
    assert removed == {pair: p for pair, p in old.items() if pair not in new}
    assert changed.keys() >= {pair for pair, p in new.items() if pair in old and old[pair] != p}
    assert changed.keys() <= old.keys() & new.keys()


def changed(read: Normalised, add: list[Addition], remove: list[Removal], most: int = 100) -> Normalised:
    return apply_patch(*content(read), read.probabilities, Patch(add, remove), most).normalised


def test_a_patch_shares_anew_where_no_probability_was_given() -> None:
    read = made(("bank", "Bank"), ("bank", "Ufer"), ("US", "USA"))
    more = changed(read, [Addition("Bank", "Geldhaus")], [])
    assert pairs(more) == {
        ("bank", "Bank"): 0.3333, ("Bank", "Geldhaus"): 0.3333, ("bank", "Ufer"): 0.3333, ("US", "USA"): 1.0,
    }  # fmt: skip
    assert not more.probabilities
    assert pairs(changed(more, [], [Removal("bank", "ufer"), Removal("us")])) == {
        ("bank", "Bank"): 0.5, ("Bank", "Geldhaus"): 0.5,
    }  # fmt: skip


def test_a_patch_keeps_given_probabilities_and_replaces() -> None:
    read = made(("bank", "Bank", 0.5), ("bank", "Ufer", 0.25))
    assert pairs(changed(read, [Addition("Bank", "UFER", 0.125)], [])) == {
        ("bank", "Bank"): 0.5, ("Bank", "UFER"): 0.125,
    }  # fmt: skip


def test_a_removal_means_what_is_written_so_if_there_is_any() -> None:
    read = made(("US", "USA"), ("us", "uns"))
    assert set(pairs(changed(read, [], [Removal("US")]))) == {("us", "uns")}
    assert set(pairs(changed(read, [], [Removal("Us")]))) == {("US", "USA")}
    with pytest.raises(InvalidRequest, match="no entry would be left"):
        changed(made(("US", "USA")), [], [Removal("us")])


def test_what_a_patch_refuses_is_named() -> None:
    read = made(("house", "Haus"))
    for add, remove, message in (
        ([], [Removal("house"), Removal("tree")], r"remove\[1\]: the table has no entry 'tree'"),
        ([], [Removal("house", "Baum")], r"remove\[0\]: .*house → Baum"),
        ([Addition("x", "y"), Addition("…", "y")], [], r"add\[1\].source: '…' has no searchable word"),
        ([Addition("x", "a\tb")], [], r"add\[0\].target: .*control character"),
    ):
        with pytest.raises(InvalidRequest, match=message):
            changed(read, add, remove)
    with pytest.raises(TooLarge, match="more than 1 entries"):
        changed(read, [Addition("x", "y")], [], most=1)


def test_rows_are_read_from_any_entry_on() -> None:
    read = made(*((f"s{n}", f"T{n % 3}") for n in range(20)))
    rows = list(entry_rows(read.table, read.written))
    assert [list(entry_rows(read.table, read.written, n)) for n in (0, 7, 20)] == [rows, rows[7:], []]
