"""Exports come back as they were: every format, uploaded again, gives the entries that it can hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dragoman.engine.core.errors import InvalidRequest
from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.items import Choices, RawEntry
from dragoman.lexicon.formats.reader import read
from dragoman.lexicon.text.tokens import fold_term
from dragoman.store.tables.exports import EXPORT_FORMATS, ExportFormat, choose_format, export_entries
from dragoman.store.tables.repository import entry_rows

SPACED = ("giza", "moses", "muse")


def made(*entries: tuple[str, str]) -> Normalised:
    return normalise([RawEntry(1, s, t, None, None) for s, t in entries], "en", "de")


def file(table: Normalised, format: ExportFormat) -> bytes:
    return b"".join(export_entries((table.table, table.written), format, table.probabilities))


def written(table: Normalised) -> dict[tuple[str, str], float]:
    rows = entry_rows(table.table, table.written)
    return {(forms[0] or s, forms[1] or t): round(p, 6) for s, t, p, _, *forms in rows}


def words(alphabet: str) -> st.SearchStrategy[str]:
    """Terms that look like no note, number or list, so that every format may read them as they are."""
    texts = st.text(st.sampled_from(alphabet), min_size=1, max_size=8).map(lambda text: " ".join(text.split()))
    return texts.filter(lambda text: fold_term(text, "en") != "" and fold_term(text, "de") != "")


COLUMNS = {
    "giza": ("source", "target", "probability"),
    "moses": ("target", "source", "probability"),
    "deepl": ("source", "target", "-", "-"),
}


def again(content: bytes, format: ExportFormat) -> Normalised:
    """The file read with its columns named: what stands in neither language is no evidence of their order."""
    choices = Choices(columns=COLUMNS.get(format, ("source", "target")))
    return normalise(read(iter([content]), format, languages=("en", "de"), choices=choices), "en", "de")


@pytest.mark.parametrize("format", [name for name in EXPORT_FORMATS if name not in ("tsv", "csv", "jsonl")])
@hypothesis_settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_an_export_is_read_again(format: ExportFormat, data: st.DataObject) -> None:
    alphabet = "aBcéßΣж水한&<>'\"" + ("" if format in SPACED else " ")
    if format not in ("tbx", "tmx", "freedict", "moses"):
        alphabet = alphabet.replace("<", "").replace('"', "")
    entries = data.draw(st.lists(st.tuples(words(alphabet), words(alphabet)), min_size=1, max_size=8))
    first = made(*entries)
    second = again(file(first, format), format)
    assert (second.rejected, second.pruned) == ([], 0)
    assert written(second) == written(first)
    assert file(second, format) == file(first, format)


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_each_format_is_detected_or_named(format: ExportFormat) -> None:
    words = [("house", "Haus"), ("horse", "Pferd"), ("church", "Kirche"), ("weather", "Wetter"), ("bread", "Brot")]
    content = file(made(*words), format)
    detected = "auto" if format not in ("moses", "tmx") else format
    assert set(written(normalise(read(iter([content]), detected, languages=("en", "de")), "en", "de"))) == set(words)


def test_what_the_formats_look_like() -> None:
    table = made(("R&D", "Forschung"), ("don't", "nicht"))
    assert file(table, "moses").decode() == "nicht don&apos;t 1.0\nForschung R&amp;D 1.0\n"
    assert file(table, "muse").decode() == "don't nicht\nR&D Forschung\n"
    assert file(table, "deepl").decode() == "don't,nicht,en,de\nR&D,Forschung,en,de\n"
    assert file(table, "google").decode() == "en,de\ndon't,nicht\nR&D,Forschung\n"
    assert '<term>R&amp;D</term></tig></langSet><langSet xml:lang="de">' in file(table, "tbx").decode()
    assert '<tuv xml:lang="en"><seg>R&amp;D</seg></tuv>' in file(table, "tmx").decode()
    assert json.loads(file(table, "jsonl").splitlines()[1]) == {"source": "R&D", "target": "Forschung"}


def test_what_a_format_cannot_hold_is_refused_before_anything_is_written() -> None:
    table = made(("heart attack", "Herzinfarkt"))
    for format in ("moses", "giza", "muse"):
        with pytest.raises(InvalidRequest, match=f"format: {format} has single words alone.*'heart attack'"):
            export_entries((table.table, table.written), format, False)
    odd = made(("a\ufffe", "b"))
    with pytest.raises(InvalidRequest, match=r"tbx cannot hold U\+FFFE"):
        export_entries((odd.table, odd.written), "tbx", False)


def test_the_format_of_the_upload_is_the_one_of_the_export() -> None:
    assert [choose_format(None, uploaded) for uploaded in ("tbx", "moses", "xlsx", "dictcc")] == [
        "tbx",
        "moses",
        "tsv",
        "tsv",
    ]
    assert choose_format("csv", "tbx") == "csv"
    with pytest.raises(InvalidRequest, match="format: 'xlsx' is unknown; choose one of tsv, csv"):
        choose_format("xlsx", "tsv")
