"""Terms that glossaries have in capitals alone, and how entries were written, saved and found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.items import RawEntry
from dragoman.lexicon.table.capitals import Capitals, capitals, is_capitals
from dragoman.lexicon.table.file import CorruptTable
from dragoman.lexicon.table.written import WrittenForms, entries_from, entry_number


def made(*pairs: tuple[str, str], languages: tuple[str, str] = ("en", "de")) -> Normalised:
    return normalise([RawEntry(1, *pair, None, None) for pair in pairs], *languages)


def found(*tables: Normalised) -> tuple[list[str], list[str]]:
    both = capitals("en", [(one.table, one.written) for one in tables])
    assert (list(both.inverse().sources), list(both.inverse().targets)) == (list(both.targets), list(both.sources))
    return list(both.sources), list(both.targets)


@pytest.mark.parametrize(
    ("written", "key", "expected"),
    [
        ("US", "us", True), ("WHO", "who", True), ("IT", "ıt", True), ("THE WHO", "the who", True),
        ("G7A", "g7a", True),
        ("us", "us", False), ("Us", "us", False), ("I", "i", False), ("G7", "g7", False), ("U.S.", "us", False),
        ("ÉTÉ", "ete", False), ("ОН", "он", True), ("大学", "大学", False),
    ],
)  # fmt: skip
def test_capitals_are_two_at_least_and_differ_in_case_alone(written: str, key: str, expected: bool) -> None:
    assert is_capitals(written, key) is expected


def test_a_term_counts_where_every_entry_of_every_glossary_has_it_in_capitals() -> None:
    assert found(made(("US", "USA"), ("US", "Vereinigte Staaten"), ("who", "wer"), ("WHO", "WGO"))) == (
        ["us"],
        ["usa", "wgo"],
    )
    assert found(made(("US", "USA")), made(("us", "uns"))) == ([], ["usa"])
    assert found(made(("US", "USA")), made(("USA", "US"), languages=("de", "en"))) == (["us"], ["usa"])
    assert found(made(("US", "USA")), made(("Usa", "us"), languages=("de", "en"))) == ([], [])
    assert found() == ([], [])
    assert found(made(("house", "haus"))) == ([], [])


def test_they_are_saved_and_opened(tmp_path: Path) -> None:
    read = made(("US", "USA"), ("us", "uns"), ("IT", "Datenverarbeitung"))
    both = capitals("en", [(read.table, read.written)])
    both.save(tmp_path / "capitals")
    opened = Capitals.open(tmp_path / "capitals")
    assert ("it" in opened.sources, "us" in opened.sources, list(opened.targets)) == (True, False, list(both.targets))
    read.written.save(tmp_path / "written")
    forms = WrittenForms.open(tmp_path / "written")
    assert forms.of_pair(read.table, "us", "usa") == ("US", "USA")
    assert forms.of_pair(read.table, "us", "uns") == ("us", "uns")
    assert forms.of_pair(read.table, "us", "nothing") is None
    for wrong, opener in (("written", Capitals.open), ("capitals", WrittenForms.open)):
        with pytest.raises(CorruptTable):
            opener(tmp_path / wrong)  # type: ignore[operator]
    WrittenForms.none().save(tmp_path / "none")
    assert len(WrittenForms.open(tmp_path / "none")) == 0


words = st.text(st.sampled_from("aAbBé"), min_size=1, max_size=3)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=12))
def test_every_entry_is_found_as_one_of_its_pairs_was_written(pairs: list[tuple[str, str]]) -> None:
    read = made(*pairs)
    table, written = read.table, read.written
    for s in table.sources:
        for entry in table.translations(s):
            form = written.of_pair(table, s, entry.term)
            assert form in pairs
            number = entry_number(table, s, entry.term)
            assert entries_from(table, s, entry.term) == number + 1
            assert (written.source.of(number) or s, written.target.of(number) or entry.term) == form
            assert written.source.between(number, number + 1) == [written.source.of(number)]
