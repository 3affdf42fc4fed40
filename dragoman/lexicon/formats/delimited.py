"""Files of text in columns: TSV, CSV, the exports of dict.cc, DeepL and Google, and the tables of Moses and MUSE."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from dragoman.lexicon.formats.cells import as_number
from dragoman.lexicon.formats.detection import separators
from dragoman.lexicon.formats.detection.columns import Layout
from dragoman.lexicon.formats.detection.direction import ROWS, Direction, Witness
from dragoman.lexicon.formats.detection.headers import read_header
from dragoman.lexicon.formats.detection.names import language_of_code, same
from dragoman.lexicon.formats.items import (
    Choices,
    Detected,
    Header,
    Limits,
    Notice,
    ReadEvent,
    Rejection,
    TableFormatError,
)
from dragoman.lexicon.formats.records import SPACES, Record, records
from dragoman.lexicon.formats.rows import Manner, read_rows

SAMPLE_LINES = 500
SPACED = ("giza", "muse", "moses")
_NOTES = re.compile(r"\{(?:n|f|m|pl|sg|adj|adv|\w{1,4}\.?(?: \w{1,3}\.?)?)\}")
_DICT_CC = re.compile(r"^#\s*([A-Za-z]{2,3})-([A-Za-z]{2,3}) vocabulary database", re.IGNORECASE)
_SUMS = 1.02
Numbered = tuple[int, str] | Rejection


def read_delimited(
    lines: Iterator[Numbered],
    format: str,
    encoding: str,
    languages: tuple[str, str],
    choices: Choices,
    limits: Limits,
    witness: Witness,
) -> Iterator[ReadEvent]:
    """What reading a file of columns gives, of this format or, for ``auto``, of the one that its first lines show.

    Raises (while iterating):
        TableFormatError: what separates the columns, or what they are, is not clear.
    """
    first = list(islice(lines, SAMPLE_LINES))
    comments, first, choices, direction = _without_preface(first, languages, choices)
    sample = [numbered_line for numbered_line in first if isinstance(numbered_line, tuple) and numbered_line[1].strip()]
    kind = _kind(format, sample, choices, comments)
    all_lines = chain(first, lines)
    if kind in SPACED:
        manner = Manner(kind, encoding, SPACES, single=True)
        decide = _SpacedColumns(kind, languages, choices, witness)
        yield from read_rows(
            records(all_lines, SPACES, limits), manner, languages, choices, limits, witness, decide.layout
        )
        return
    separator = _separator(kind, sample, languages, choices)
    if kind == "auto":
        kind = "tsv" if separator == "\t" else "csv"
    if direction is not None and choices.columns is None:
        choices = Choices(choices.encoding, choices.separator, choices.decimal, direction, choices.header)
    manner = Manner(kind, encoding, separator, dictionary=kind == "dictcc")
    for event in read_rows(records(all_lines, separator, limits), manner, languages, choices, limits, witness):
        yield _name_deepl(event) if isinstance(event, Detected) and format == "auto" else event


def _name_deepl(detected: Detected) -> Detected:
    """What is told of a file, with the format of DeepL's glossaries where the languages stand in each line."""
    deepl = detected.separator == "," and "source_language" in (detected.columns or ())
    return replace(detected, format="deepl") if deepl else detected


def _without_preface(
    first: list[Numbered], languages: tuple[str, str], choices: Choices
) -> tuple[list[str], list[Numbered], Choices, tuple[str, ...] | None]:
    """The comments at the beginning, the lines after them, the separator and the direction that they tell.

    A comment that is a header loses its mark, and is one.
    """
    comments: list[str] = []
    direction = None
    for place, numbered_line in enumerate(first):
        if isinstance(numbered_line, Rejection) or not numbered_line[1].strip():
            continue
        line_number, line = numbered_line
        if line_number == 1 and (separator := separators.parse_separator_line(line)) is not None:
            choices = Choices(
                choices.encoding, choices.separator or separator, choices.decimal, choices.columns, choices.header
            )
            continue
        if not _is_comment(line, first[place + 1 : place + 20]):
            return comments, first[place:], choices, direction
        header = _commented_header(line, languages)
        if header is not None:
            return comments, [(line_number, header), *first[place + 1 :]], choices, direction
        comments.append(line)
        if (match := _DICT_CC.match(line)) is not None:
            direction = _direction_of((match[1], match[2]), languages, line_number)
    return comments, [], choices, direction


def _is_comment(line: str, after: Sequence[Numbered]) -> bool:
    """Whether a line at the beginning is a comment: a mark and a space, or a mark before fewer cells than follow."""
    if not line.startswith(("#", "//")):
        return False
    if line.startswith(("# ", "##", "#!", "// ")) or line.strip() == "#":
        return not line.startswith(("#\t", "#,", "#;")) or line.strip() == "#"
    rest = [numbered_line[1] for numbered_line in after if isinstance(numbered_line, tuple)]
    return not any(mark in line for mark in "\t;,|") and any(
        mark in following for following in rest for mark in "\t;,|"
    )


def _commented_header(line: str, languages: tuple[str, str]) -> str | None:
    bare = line.lstrip("#/ ")
    for separator in separators.SEPARATORS:
        try:
            if separator in bare and read_header(bare.split(separator), languages) is not None:
                return bare
        except TableFormatError:
            continue
    return None


def _direction_of(codes: tuple[str, str], languages: tuple[str, str], line: int) -> tuple[str, ...]:
    file_languages = tuple(language_of_code(code) for code in codes)
    table_languages = tuple(same(code) for code in languages)
    if file_languages == table_languages:
        return ("source", "target")
    if file_languages == table_languages[::-1]:
        return ("target", "source")
    raise TableFormatError(
        f"the file is of {codes[0]} and {codes[1]}, and the table of {languages[0]} and {languages[1]}", line
    )


def _kind(format: str, sample: Sequence[tuple[int, str]], choices: Choices, comments: Sequence[str]) -> str:
    """The format of a file, ``auto`` for columns whose separator is to be found."""
    if format != "auto":
        return format
    if any("dict.cc" in line for line in comments):
        return "dictcc"
    lines = [line for _, line in sample]
    if choices.separator is None or choices.separator == SPACES:
        width = None
        if choices.separator == SPACES or not any(mark in line for line in lines for mark in "\t;|"):
            width = separators.is_spaced(sample)
        if width is not None and (choices.separator == SPACES or not _has_commas(lines)):
            return "muse" if width == 2 else "giza"
    tabbed = [line for line in lines if "\t" in line]
    noted = sum(_NOTES.search(line) is not None for line in tabbed)
    if noted >= 2 and noted * 10 >= len(tabbed):
        return "dictcc"
    return "auto"


def _has_commas(lines: Sequence[str]) -> bool:
    return sum("," in line for line in lines) * 2 > len(lines)


def _separator(kind: str, sample: Sequence[tuple[int, str]], languages: tuple[str, str], choices: Choices) -> str:
    if choices.separator is not None:
        return choices.separator
    if kind == "tsv":
        return "\t"
    separator = separators.detect(sample, languages, {"csv": ",", "deepl": ",", "dictcc": "\t"}.get(kind))
    if separator is not None:
        return separator
    if kind == "auto" and sample:
        raise TableFormatError(
            "no tab, comma, semicolon or bar separates columns: say what does with separator=, or the format",
            sample[0][0],
        )
    return "\t" if kind in ("auto", "dictcc", "google") else ","


class _SpacedColumns:
    """The layout of lines of single words: which side is first, and of which the number is the probability.

    GIZA and MUSE write the source first and P(second|first); Moses writes in ``lex.e2f`` and ``lex.f2e`` the word that
    is translated second and P(first|second). The sums over either side tell which it is: they are at most 1.
    """

    def __init__(self, kind: str, languages: tuple[str, str], choices: Choices, witness: Witness) -> None:
        self._kind = kind
        self._languages = languages
        self._choices = choices
        self._witness = witness

    def layout(self, rows: Sequence[Record]) -> Layout:
        """
        Raises:
            TableFormatError: the words are numbers, or it is not clear which side is first.
        """
        width = 2 if self._kind == "muse" else 3
        whole = [row.cells for row in rows if len(row.cells) == width]
        header = self._header(rows, width)
        entry_rows = [cells for cells in whole if header is None or cells is not rows[0].cells]
        if len(entry_rows) >= 2 and any(
            sum(as_number(row[j]) is not None for row in entry_rows) >= 0.9 * len(entry_rows) for j in (0, 1)
        ):
            raise TableFormatError(
                "the words are numbers: a table of word numbers needs its words first (GIZA++'s .vcb files)"
            )
        roles, notices = self._roles(entry_rows, width, header)
        layout = Layout(list(roles), notices=notices)
        if header is not None:
            layout.header, layout.header_line, layout.data_from = header.columns, rows[0].line, rows[0].line + 1
        if width == 3:
            layout.decimal = self._choices.decimal or ("," if any("," in row[2] for row in entry_rows) else ".")
        table_languages = dict(zip(("source", "target"), self._languages, strict=True))
        layout.languages = [table_languages.get(role or "") for role in layout.roles]
        return layout

    def _header(self, rows: Sequence[Record], width: int) -> Header | None:
        if self._choices.header is False or not rows or len(rows[0].cells) != width:
            return None
        cells = rows[0].cells
        if self._choices.header or read_header(cells, self._languages) is not None:
            return Header(tuple(cells))
        return None

    def _roles(
        self, entry_rows: Sequence[list[str]], width: int, header: Header | None
    ) -> tuple[Sequence[str | None], list[Notice]]:
        if self._choices.columns is not None:
            chosen = [None if role in ("-", "_") else role for role in self._choices.columns]
            return [*chosen, *[None] * (width - len(chosen))], []
        named = None if header is None else read_header(header.columns, self._languages)
        swapped = named.roles[0] == "target" if named is not None else self._is_swapped(entry_rows)
        sides = ["target", "source"] if swapped else ["source", "target"]
        if width == 2:
            return sides, _notices(swapped and named is None)
        given_first = self._given_first(entry_rows, swapped)
        of_source = given_first != swapped  # the side that is given: P(target|source) is given the source
        return [*sides, "probability" if of_source else "inverse_probability"], _notices(
            swapped and self._kind != "moses"
        )

    def _is_swapped(self, entry_rows: Sequence[list[str]]) -> bool:
        rows = [(row[0], row[1]) for row in entry_rows if "NULL" not in row[:2]][:ROWS]
        direction = self._witness.direction(rows)
        if direction is Direction.UNCLEAR or (direction is not Direction.SWAPPED and self._kind == "moses"):
            if self._kind == "moses" and self._witness.direction([row[::-1] for row in rows]) is not Direction.SWAPPED:
                return True
            if direction is Direction.UNCLEAR:
                raise TableFormatError(
                    f"the first words may be {self._languages[1]} and the second {self._languages[0]}: say which is"
                    " which with columns=source,target,probability or columns=target,source,probability"
                )
        return direction is Direction.SWAPPED

    def _given_first(self, entry_rows: Sequence[list[str]], swapped: bool) -> bool:
        """Whether the numbers are probabilities given the first word, not given the second."""
        by_first, by_second = _most(entry_rows, 0), _most(entry_rows, 1)
        if by_first <= _SUMS < by_second:
            return True
        if by_second <= _SUMS < by_first:
            return False
        return self._kind != "moses"


def _notices(swapped: bool) -> list[Notice]:
    return [Notice(1, "the columns are the other way round: the second is read as the source")] if swapped else []


def _most(entry_rows: Sequence[list[str]], place: int) -> float:
    """The largest sum of the numbers of one word of a side."""
    sums: dict[str, float] = {}
    for row in entry_rows:
        sums[row[place]] = sums.get(row[place], 0.0) + (as_number(row[2]) or 0.0)
    return max(sums.values(), default=0.0)
