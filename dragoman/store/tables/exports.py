"""The entries of a version as a file, in every format that an upload takes and another program reads.

XML is written as in TBX-Basic (ISO 30042:2008), TMX 1.4b and FreeDict's TEI. Each has one pair of terms an entry.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args
from xml.sax.saxutils import escape

import numpy as np

from dragoman import deadline
from dragoman.engine.core.errors import InvalidRequest
from dragoman.lexicon.formats.cells import escape_moses
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.written import WrittenForms
from dragoman.store.database import EntryRow
from dragoman.store.tables.repository import entry_rows

ExportFormat = Literal["tsv", "csv", "jsonl", "giza", "moses", "muse", "tbx", "tmx", "deepl", "google", "freedict"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
COLUMNS = ("source", "target", "probability", "inverse_probability")
_ROWS = 1_000
_CHECKED_EVERY = 4_096
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Content = tuple[Table, WrittenForms]
Fields = tuple[str, ...]
"""A source term, a target term, P(target | source) and P(source | target) as text."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How a file is written: what stands around the entries, and each entry."""

    line: Callable[[Fields], str]
    begin: str = ""
    end: str = ""
    spaced: bool = False
    """Whether terms are single words, with spaces between."""
    xml: bool = False


def choose_format(wished: str | None, uploaded: str) -> ExportFormat:
    """The format that is asked for, or else that of the upload where it can be written, or else tsv.

    Raises:
        InvalidRequest: an unknown format.
    """
    for format in EXPORT_FORMATS:
        if format == (uploaded if wished is None else wished):
            return format
    if wished is not None:
        raise InvalidRequest(f"format: {wished[:40]!r} is unknown; choose one of {', '.join(EXPORT_FORMATS)}")
    return "tsv"


def export_entries(content: Content, format: ExportFormat, probabilities: bool) -> Iterator[bytes]:
    """The entries of a version as a file that an upload takes, in blocks.

    ``probabilities`` is whether any was given at the upload: if none was, columns have none.

    Raises:
        InvalidRequest: a term that the format cannot hold. Nothing has been written then.
        DeadlinePassed: looking for such a term takes too long.
    """
    form = _form(format, content[0].source, content[0].target, probabilities)
    if form.spaced or form.xml:
        _check_terms(content, format, form)
    return _write(content, form)


def _write(content: Content, form: _Form) -> Iterator[bytes]:
    rows = entry_rows(*content)
    if form.begin:
        yield form.begin.encode()
    while block := list(islice(rows, _ROWS)):
        yield "".join([form.line(_fields(row)) for row in block]).encode()
    if form.end:
        yield form.end.encode()


def _check_terms(content: Content, format: str, form: _Form) -> None:
    for row in deadline.check_each(entry_rows(*content), interval=_CHECKED_EVERY):
        for term in _fields(row)[:2]:
            if form.spaced and len(term.split()) != 1:
                raise InvalidRequest(
                    f"format: {format} has single words alone, and the table has {term[:40]!r}; choose another format"
                )
            if form.xml and (character := _NO_XML.search(term)):
                raise InvalidRequest(
                    f"format: {format} cannot hold U+{ord(character[0]):04X}, which is in {term[:40]!r};"
                    " choose another format"
                )


def _fields(row: EntryRow) -> Fields:
    source, target, p_ts, p_st, *written = row
    return written[0] or source, written[1] or target, _decimal(p_ts), _decimal(p_st)


def _decimal(probability: float) -> str:
    """The shortest text of a number that is stored with 32 bits."""
    return str(np.float32(probability))


def _form(format: ExportFormat, source: str, target: str, probabilities: bool) -> _Form:
    count = len(COLUMNS) if probabilities else 2
    if format in _XML:
        return _xml_form(format, source, target)
    forms: dict[str, _Form] = {
        "tsv": _Form(lambda fields: _tsv(fields[:count]), _tsv(COLUMNS[:count])),
        "csv": _Form(lambda fields: _csv(fields[:count]), _csv(COLUMNS[:count])),
        "jsonl": _Form(lambda fields: _jsonl(fields[:count])),
        "giza": _Form(lambda fields: " ".join(fields[:3]) + "\n", spaced=True),
        "moses": _Form(lambda fields: _moses(fields), spaced=True),
        "muse": _Form(lambda fields: " ".join(fields[:2]) + "\n", spaced=True),
        "deepl": _Form(lambda fields: _csv((*fields[:2], source, target))),
        "google": _Form(lambda fields: _csv(fields[:2]), _csv((source, target))),
    }
    return forms[format]


def _tsv(fields: Fields) -> str:
    return "\t".join(fields) + "\n"


def _csv(fields: Fields) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(fields)
    return stream.getvalue()


def _jsonl(fields: Fields) -> str:
    values = [json.dumps(field, ensure_ascii=False) for field in fields[:2]] + list(fields[2:])
    return "{" + ", ".join(f'"{name}": {text}' for name, text in zip(COLUMNS, values, strict=False)) + "}\n"


def _moses(fields: Fields) -> str:
    return f"{escape_moses(fields[1])} {escape_moses(fields[0])} {fields[2]}\n"


_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_XML = {
    "tbx": (
        '<martif type="TBX-Basic" xml:lang="{source}">\n<martifHeader><fileDesc><sourceDesc><p>Dragoman</p>'
        "</sourceDesc></fileDesc></martifHeader>\n<text><body>\n",
        '<termEntry><langSet xml:lang="{source}"><tig><term>{0}</term></tig></langSet>'
        '<langSet xml:lang="{target}"><tig><term>{1}</term></tig></langSet></termEntry>\n',
        "</body></text>\n</martif>\n",
    ),
    "tmx": (
        '<tmx version="1.4">\n<header creationtool="Dragoman" creationtoolversion="1" segtype="phrase"'
        ' o-tmf="Dragoman" adminlang="en" srclang="{source}" datatype="plaintext"/>\n<body>\n',
        '<tu><tuv xml:lang="{source}"><seg>{0}</seg></tuv><tuv xml:lang="{target}"><seg>{1}</seg></tuv></tu>\n',
        "</body>\n</tmx>\n",
    ),
    "freedict": (
        '<TEI xmlns="http://www.tei-c.org/ns/1.0">\n<teiHeader/>\n<text><body xml:lang="{source}">\n',
        '<entry><form><orth>{0}</orth></form><sense><cit type="trans" xml:lang="{target}"><quote>{1}</quote></cit>'
        "</sense></entry>\n",
        "</body></text>\n</TEI>\n",
    ),
}


def _xml_form(format: str, source: str, target: str) -> _Form:
    begin, entry, end = (part.replace("{source}", source).replace("{target}", target) for part in _XML[format])
    return _Form(lambda fields: entry.format(*map(escape, fields[:2])), _DECLARATION + begin, end, xml=True)
