"""Reading uploaded translation tables, one entry, rejection or notice at a time.

============ ====================================================================================
``auto``     any of the following, whatever the file's content shows
``tsv``      source TAB target [TAB P(target|source) [TAB P(source|target)]]; an empty probability
             is a missing one
``csv``      the same columns separated by commas, semicolons, bars or tabs, quoted as in RFC 4180
``giza``     source, target and P(target|source), separated by spaces
``moses``    target, source and P(target|source), as in Moses' ``lex.f2e`` and ``lex.e2f``
``muse``     source and target, separated by a space or a tab
``jsonl``    an object a line: ``source``, ``target``, and optionally ``probability``, which is
             P(target|source), and ``inverse_probability``, which is P(source|target)
``freedict`` TEI: every headword (``orth``) with every translation (``quote`` in a ``cit`` of type
             ``trans``) of its entry, or with its definitions
``tbx``      term bases: TBX, and the XML of SDL MultiTerm
``tmx``      TMX 1.4b, each unit an entry; a memory of sentences is what a table is trained from
``xlsx``,    spreadsheets, with the columns of ``csv``; the first sheet that holds any cells
``ods``
``deepl``    source, target and optionally the codes of their languages, separated by commas
``google``   columns whose header are language codes, ``pos`` and ``description``
``dictcc``   columns of dict.cc, with its annotations
============ ====================================================================================

In files of columns the header, the order of the columns and further columns are told by
:mod:`~dragoman.lexicon.formats.detection`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, get_args

from dragoman.lexicon.formats import spreadsheets
from dragoman.lexicon.formats.cells import validate_entry
from dragoman.lexicon.formats.delimited import read_delimited
from dragoman.lexicon.formats.detection import encodings
from dragoman.lexicon.formats.detection.direction import ROWS, Direction, Witness
from dragoman.lexicon.formats.freedict import freedict_pairs
from dragoman.lexicon.formats.items import (
    REJECTIONS_NAMED,
    Choices,
    Detected,
    Header,
    Limits,
    Notice,
    Odds,
    RawEntry,
    ReadEvent,
    Rejection,
    TableFormatError,
    TableTooLarge,
    quote,
    without_entries,
)
from dragoman.lexicon.formats.jsonlines import read_jsonlines
from dragoman.lexicon.formats.rows import Manner, read_rows
from dragoman.lexicon.formats.streams import ZIP, blocks, head, lines
from dragoman.lexicon.formats.termbases import termbase_pairs
from dragoman.lexicon.formats.tmx import tmx_pairs

__all__ = [
    "FORMATS",
    "Choices",
    "Detected",
    "Format",
    "Header",
    "Limits",
    "Notice",
    "RawEntry",
    "ReadEvent",
    "Rejection",
    "TableFormatError",
    "TableTooLarge",
    "read",
]

Format = Literal[
    "auto",
    "tsv",
    "csv",
    "giza",
    "muse",
    "jsonl",
    "freedict",
    "xlsx",
    "ods",
    "tbx",
    "deepl",
    "google",
    "dictcc",
    "moses",
    "tmx",
]
FORMATS: tuple[Format, ...] = get_args(Format)
_MARKUP = ("freedict", "tbx", "tmx")
_SHEETS = ("xlsx", "ods")
_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
_ROOTS = {"TEI": "freedict", "TEI.2": "freedict", "teiCorpus": "freedict", "martif": "tbx", "tbx": "tbx", "mtf": "tbx"}
_NO_LANGUAGES = ("en", "en")


def read(
    chunks: Iterable[bytes],
    format: str,
    limits: Limits | None = None,
    gzip: bool = False,
    languages: tuple[str, str] | None = None,
    choices: Choices | None = None,
    odds: Odds | None = None,
) -> Iterator[ReadEvent]:
    """Read a file given as chunks of bytes of any size, without holding more than its head and a block of it.

    ``languages`` are the codes of source and target, by which columns and encodings are told; ``odds`` is what a
    language detector says of a term, and ``choices`` what the sender says of the file.

    Raises (while iterating):
        ValueError: for an unknown format, listing the known ones.
        NotGzip: for a file that is not gzip where, with ``gzip``, it has to be.
        TableTooLarge: if the file exceeds a limit.
        TableFormatError: naming the line, if the file cannot be read at all (empty, binary, truncated or
            damaged gzip, XML that is not well-formed), or none of its lines is an entry. Also if it is not clear how it
            is to be read: then the message names the parameter that says so.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown table format {quote(format)}: choose one of {', '.join(FORMATS)}")
    limits = limits or Limits()
    reader = _Reader(format, limits, languages or _NO_LANGUAGES, choices or Choices(), odds)
    entries = rejections = 0
    first: list[Rejection] = []
    for event in reader.events(blocks(chunks, limits, gzip)):
        if isinstance(event, Rejection):
            rejections += 1
            if not entries and rejections <= REJECTIONS_NAMED:
                first.append(event)
        elif isinstance(event, RawEntry):
            entries += 1
            if entries > limits.entries:
                raise TableTooLarge(f"the file holds more than {limits.entries:,} entries", event.line)
        yield event
    if not entries:
        raise without_entries(first, rejections)


class _Reader:
    def __init__(
        self, format: str, limits: Limits, languages: tuple[str, str], choices: Choices, odds: Odds | None
    ) -> None:
        self._format = format
        self._limits = limits
        self._languages = languages
        self._choices = choices
        self._witness = Witness(languages, odds)

    def events(self, content: Iterator[bytes]) -> Iterator[ReadEvent]:
        start, whole, content = head(content, encodings.HEAD_BYTES)
        if self._format in _SHEETS or (self._format == "auto" and start.startswith(ZIP)):
            return self._sheet(content)
        if start.startswith(ZIP):
            raise TableFormatError("the file is a ZIP archive: send text, .xlsx, .ods or gzip")
        format = self._format
        if format in _MARKUP:
            return self._markup(content, format, "")
        encoding = encodings.detect(start, whole, self._languages, self._choices.encoding)
        if format == "auto":
            format = _by_content(start[encoding.mark :].decode(encoding.codec, "ignore")[:20_000])
        if format in _MARKUP:
            return self._markup(content, format, encoding.name)
        numbered = lines(content, self._limits, encoding)
        if format == "jsonl":
            return read_jsonlines(numbered, encoding.name, self._languages, self._choices, self._limits, self._witness)
        return read_delimited(
            numbered, format, encoding.name, self._languages, self._choices, self._limits, self._witness
        )

    def _sheet(self, content: Iterator[bytes]) -> Iterator[ReadEvent]:
        file, sheet = spreadsheets.open_sheet(content, self._format, self._limits)
        with file:
            manner = Manner(sheet.format)
            events = read_rows(sheet.rows, manner, self._languages, self._choices, self._limits, self._witness)
            yield from islice(events, 1)
            yield from sheet.notices
            yield from events

    def _markup(self, content: Iterator[bytes], format: str, encoding: str) -> Iterator[ReadEvent]:
        """The pairs of a dictionary or a term base; the first ones tell whether they are the other way round."""
        if format == "tbx":
            pairs = termbase_pairs(content, self._languages, self._limits)
            yield Detected("tbx", encoding or None, languages=self._languages)
            yield from map(self._entry, pairs)
            return
        if format == "tmx":
            yield Detected("tmx", encoding or None, languages=self._languages)
            yield from map(self._entry, tmx_pairs(content, self._languages, self._limits.term_characters))
            return
        pairs = freedict_pairs(content, self._limits, self._languages)
        first = list(islice(pairs, ROWS))
        columns = self._choices.columns
        swapped = columns is not None and columns[:2] == ("target", "source")
        if columns is None:
            direction = self._witness.direction([(pair[1], pair[2]) for pair in first if isinstance(pair, tuple)])
            if direction is Direction.UNCLEAR:
                raise TableFormatError(
                    "the headwords may be of the target language: say columns=source,target or columns=target,source"
                )
            swapped = direction is Direction.SWAPPED
        languages = self._languages[::-1] if swapped else self._languages
        yield Detected("freedict", encoding or None, languages=languages)
        if swapped and columns is None:
            yield Notice(1, f"the headwords are read as the target, {self._languages[1]}, as they evidently are")
        for part in (first, pairs):
            for pair in part:
                yield self._entry((pair[0], pair[2], pair[1]) if swapped and isinstance(pair, tuple) else pair)

    def _entry(self, pair: tuple[int, str, str] | Rejection | Notice) -> ReadEvent:
        if not isinstance(pair, tuple):
            return pair
        line, source, target = pair
        return validate_entry(line, source, target, None, None, self._limits)


def _by_content(text: str) -> str:
    """The format that the beginning of a text shows, or ``auto`` for columns.

    Raises:
        TableFormatError: it is XML of a kind that is not read, or a JSON array.
    """
    text = text.removeprefix("\ufeff").lstrip()
    if text.startswith("<"):
        root = _ROOT.search(_COMMENTS.sub("", text))
        name = root[1] if root else ""
        if name in _ROOTS:
            return _ROOTS[name]
        if text.startswith(("<?xml", "<!DOCTYPE")):
            advice = (
                "; format=tmx reads its units as entries, and dragoman table train makes a table of sentences"
                if name == "tmx"
                else ""
            )
            raise TableFormatError(f"XML of the kind {quote(name)} is not read: send TBX or TEI{advice}", 1)
    if text.startswith("{") and text[1:].lstrip()[:1] in ('"', "}", ""):
        return "jsonl"
    if text.startswith("[") and text[1:].lstrip()[:1] in ("{", "["):
        raise TableFormatError("the file is a JSON array: send one object a line (jsonl)", 1)
    return "auto"
