"""Spreadsheets: what they hold is read, and what would fill the memory is refused before it does."""

from __future__ import annotations

import io
import zipfile

import pytest

from dragoman.lexicon.formats.items import Limits
from dragoman.lexicon.formats.reader import Detected, RawEntry, TableFormatError, TableTooLarge, read
from dragoman_lab.benchmarks.tables.generated import ods, xlsx

CELLS = [["English", "Deutsch", "p"], ["house", "Haus", "0.25"], ["tree", "Baum", "1"]]


def changed(data: bytes, name: str, old: str, new: str) -> bytes:
    """The archive with some text of one part replaced."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as after:
        for part in before.namelist():
            text = before.read(part).decode()
            after.writestr(part, text.replace(old, new) if part == name else text)
    return packed.getvalue()


@pytest.mark.parametrize("format", ["xlsx", "ods"])
@pytest.mark.parametrize("said", ["auto", "same"])
def test_cells_are_read_with_their_numbers(format: str, said: str) -> None:
    data = xlsx(CELLS) if format == "xlsx" else ods(CELLS)
    found = list(read([data], format if said == "same" else "auto", languages=("en", "de")))
    assert isinstance(found[0], Detected)
    assert (found[0].format, found[0].columns) == (format, ("source", "target", "probability"))
    entries = [one for one in found if isinstance(one, RawEntry)]
    assert entries == [RawEntry(2, "house", "Haus", 0.25, None), RawEntry(3, "tree", "Baum", 1.0, None)]


def test_a_cell_far_away_is_refused_before_the_area_is_held() -> None:
    sheet = "xl/worksheets/sheet1.xml"
    far = changed(
        xlsx(CELLS), sheet, "</sheetData>", '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )
    with pytest.raises(TableTooLarge, match="spans 1,048,576 rows and 16,384 columns"):
        list(read([far], "auto", languages=("en", "de")))
    repeated = changed(
        ods(CELLS), "content.xml", "<table:table-row>", '<table:table-row table:number-rows-repeated="9000000">'
    )
    with pytest.raises(TableTooLarge, match="spans"):
        list(read([repeated], "auto", languages=("en", "de")))


def test_what_unpacks_beyond_the_limit_is_refused() -> None:
    bomb = changed(xlsx(CELLS), "xl/sharedStrings.xml", "house", "x" * (8 << 20))
    with pytest.raises(TableTooLarge, match="unpacks to more than"):
        list(read([bomb], "auto", Limits(spreadsheet_bytes=1 << 20), languages=("en", "de")))


@pytest.mark.parametrize("part", ["xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"])
def test_document_types_are_refused(part: str) -> None:
    declared = changed(xlsx(CELLS), part, '"UTF-8"?>', '"UTF-8"?><!DOCTYPE a [<!ENTITY b "c">]>')
    with pytest.raises(TableFormatError, match="declares a document type"):
        list(read([declared], "auto", languages=("en", "de")))


@pytest.mark.parametrize("data", [b"PK\x03\x04" + bytes(50), xlsx(CELLS)[:-40], xlsx(CELLS)[:300]])
def test_damaged_archives_are_refused(data: bytes) -> None:
    with pytest.raises(TableFormatError, match="spreadsheet"):
        list(read([data], "auto", languages=("en", "de")))


def test_another_archive_is_no_spreadsheet() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("words.tsv", "house\tHaus\n")
    with pytest.raises(TableFormatError, match="no spreadsheet"):
        list(read([packed.getvalue()], "auto"))
    with pytest.raises(TableFormatError, match=r"no \.ods spreadsheet"):
        list(read([xlsx(CELLS)], "ods"))
