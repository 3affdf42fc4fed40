"""Spreadsheets, .xlsx and .ods, read by calamine once their size is known to be harmless.

Both are ZIP archives of XML. Before the reader sees one, every part is unpacked and counted, no part may declare a
document type, and the area of cells is measured. The reader holds all of it, and a single cell in the last column of
the last row would make it 17 billion.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from xml.parsers import expat

from dragoman import deadline
from dragoman.installation import needed_for
from dragoman.lexicon.formats.items import Limits, Notice, ReadEvent, TableFormatError, TableTooLarge
from dragoman.lexicon.formats.records import Record

_IN_MEMORY = 1 << 20
_BLOCK = 1 << 16
_MOST_PARTS = 10_000
_MOST_CELLS = 4_000_000
_WIDEST = 1024
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_ODS_TYPE = b"application/vnd.oasis.opendocument.spreadsheet"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of the first sheet that holds any, and notices of others."""

    format: str
    name: str
    rows: Iterator[Record]
    notices: list[ReadEvent]


def open_sheet(content: Iterable[bytes], format: str, limits: Limits) -> tuple[IO[bytes], Sheet]:
    """A spreadsheet, spooled to a temporary file that the caller closes once its rows are read.

    Raises:
        TableTooLarge: it is larger than the limits, packed or unpacked, or its area is.
        TableFormatError: it is no such spreadsheet, or it is encrypted or damaged.
    """
    file: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
    try:
        size = 0
        for block in content:
            size += len(block)
            if size > limits.spreadsheet_bytes:
                raise TableTooLarge(f"the spreadsheet is larger than {limits.spreadsheet_bytes:,} bytes")
            file.write(block)
        sheet_format = _check_archive(file, format, limits)
        return file, _read_sheet(file, sheet_format)
    except BaseException:
        file.close()
        raise


def _check_archive(file: IO[bytes], format: str, limits: Limits) -> str:
    """The format of an archive that is a spreadsheet within the limits."""
    try:
        with zipfile.ZipFile(file) as archive:
            sheet_format = _format(archive)
            if sheet_format is None or format not in ("auto", sheet_format):
                raise TableFormatError(
                    f"the file is no {'' if format == 'auto' else f'.{format} '}spreadsheet: send .xlsx, .ods or text"
                )
            left = limits.spreadsheet_bytes
            for part in archive.infolist():
                left = _part(archive, part, sheet_format, left, limits)
            return sheet_format
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as fault:
        if isinstance(fault, TableFormatError):
            raise
        raise TableFormatError(f"the spreadsheet cannot be read: {str(fault)[:200] or type(fault).__name__}") from fault
    except zipfile.zlib.error as fault:  # type: ignore[attr-defined]
        raise TableFormatError("the spreadsheet is damaged") from fault


def _format(archive: zipfile.ZipFile) -> str | None:
    names = set(archive.namelist())
    if len(names) > _MOST_PARTS:
        raise TableTooLarge(f"the spreadsheet has more than {_MOST_PARTS:,} parts")
    if "xl/workbook.xml" in names:
        return "xlsx"
    if "mimetype" in names:
        with archive.open("mimetype") as part:
            kind = part.read(200)
        return "ods" if kind.strip().startswith(_ODS_TYPE) else None
    return None


def _part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, format: str, left: int, limits: Limits) -> int:
    """Unpack a part and look at what matters in it; the bytes that are left for the others."""
    is_sheet = part.filename.startswith("xl/worksheets/") if format == "xlsx" else part.filename == "content.xml"
    is_xml = part.filename.endswith((".xml", ".rels"))
    area = _Area(format) if is_sheet and is_xml else None
    with archive.open(part) as stream:
        first = True
        while block := stream.read(_BLOCK):
            deadline.check()
            left -= len(block)
            if left < 0:
                raise TableTooLarge(f"the spreadsheet unpacks to more than {limits.spreadsheet_bytes:,} bytes")
            if first and is_xml and (b"<!DOCTYPE" in block or b"<!ENTITY" in block):
                raise TableFormatError("the spreadsheet declares a document type or entities, which are not read")
            first = False
            if area is not None:
                area.feed(block)
    if area is not None:
        area.feed(b"", final=True)
    return left


class _Area:
    """Measures how many cells a sheet spans, by streaming its XML."""

    def __init__(self, format: str) -> None:
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._rows = self._columns = 0
        self._row = self._repeated = 1
        self._column = 0
        self._parser.StartElementHandler = self._xlsx if format == "xlsx" else self._ods
        self._parser.EndElementHandler = None if format == "xlsx" else self._ods_end
        self._filled = False

    def feed(self, block: bytes, final: bool = False) -> None:
        try:
            self._parser.Parse(block, final)
        except expat.ExpatError as fault:
            raise TableFormatError(
                f"the spreadsheet is not well-formed XML: {expat.ErrorString(fault.code)}"
            ) from fault
        if self._columns > _WIDEST or self._rows * max(1, self._columns) > _MOST_CELLS:
            raise TableTooLarge(f"the spreadsheet spans {self._rows:,} rows and {self._columns:,} columns")

    def _doctype(self, *_: object) -> None:
        raise TableFormatError("the spreadsheet declares a document type, which is not read")

    def _xlsx(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "row":
            reference = attributes.get("r", "")
            self._row = int(reference) if reference.isdecimal() and len(reference) < 8 else self._row + 1
            self._column = 0
        elif name == "c":
            matched = _REFERENCE.fullmatch(attributes.get("r", ""))
            if matched is not None:
                self._column, self._row = _column_number(matched[1]), int(matched[2])
            else:
                self._column += 1
            self._span(self._row, self._column)

    def _ods(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "table":
            self._row = 0
        elif name == "table-row":
            self._repeated = _count(attributes, "table:number-rows-repeated")
            self._column, self._filled = 0, False
        elif name in ("table-cell", "covered-table-cell"):
            count = _count(attributes, "table:number-columns-repeated")
            self._column += count
            if any(key.startswith(("office:", "calcext:", "table:formula")) for key in attributes):
                self._filled = True
                self._span(self._row + 1, self._column)
        elif name == "p":
            self._filled = True
            self._span(self._row + 1, self._column)

    def _ods_end(self, tag: str) -> None:
        if tag.rpartition(":")[2] == "table-row":
            self._row += self._repeated
            if self._filled:
                self._span(self._row, self._columns)

    def _span(self, row: int, column: int) -> None:
        self._rows, self._columns = max(self._rows, row), max(self._columns, column)


def _count(attributes: dict[str, str], name: str) -> int:
    text = attributes.get(name, "1")
    return int(text) if text.isdecimal() and len(text) < 9 else 1


def _column_number(letters: str) -> int:
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - 64
    return column


def _read_sheet(file: IO[bytes], format: str) -> Sheet:
    with needed_for("a spreadsheet"):
        from python_calamine import CalamineError, CalamineWorkbook

    file.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(file)
        chosen, notices = None, []
        for name in book.sheet_names:
            deadline.check()
            sheet = book.get_sheet_by_name(name)
            if not sheet.height:
                continue
            if chosen is None:
                chosen = sheet
            else:
                notices.append(Notice(1, f"the sheet {name[:80]!r} is ignored: only the first one is read"))
    except (CalamineError, ValueError, OSError) as fault:
        raise TableFormatError(f"the spreadsheet cannot be read: {str(fault)[:200]}") from fault
    if chosen is None:
        raise TableFormatError("the spreadsheet holds no cells")
    return Sheet(format, chosen.name, _rows(chosen), list(notices))


def _rows(sheet: Any) -> Iterator[Record]:
    first = (sheet.start or (0, 0))[0] + 1
    for line_number, row in enumerate(deadline.check_each(sheet.iter_rows(), interval=1000), first):
        cells = [_text(cell) for cell in row]
        if any(cells):
            yield Record(line_number, cells)


def _text(cell: object) -> str:
    """The text of a cell, as the reader gives it; a whole number without its decimals."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()  # Excel makes TRUE of the word true
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, int):
        return str(cell)
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, timedelta) else ""
