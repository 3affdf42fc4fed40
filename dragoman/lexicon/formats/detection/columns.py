"""Which column of a file is the source, which the target, which a probability, and which is passed over.

Said by the sender, else by the header, else by what the cells hold: words, numbers, parts of speech, codes, dates. Two
columns of words without a header are taken as source and target, unless they are evidently the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman import deadline
from dragoman.lexicon.formats.cells import as_number, is_nothing
from dragoman.lexicon.formats.detection.direction import ROWS, Direction, Witness
from dragoman.lexicon.formats.detection.headers import HeaderLine, name_of, read_header
from dragoman.lexicon.formats.detection.kinds import (
    NUMERIC,
    decimal_mark,
    is_category,
    is_deepl,
    is_probability,
    is_text,
    may_be_probability,
    share,
    word_count,
)
from dragoman.lexicon.formats.detection.names import language_of_code
from dragoman.lexicon.formats.items import SKIPPED, Choices, Notice, TableFormatError, quote
from dragoman.lexicon.formats.records import Record

_HEADER_WITHIN = 10
_LETTER = re.compile(r"[^\W\d_]")
_MOST_COLUMNS = 256


@dataclass(slots=True)
class Layout:
    """How the rows of a file are read."""

    roles: list[str | None]
    """The role of each column; None for one that is passed over."""
    header: tuple[str, ...] | None = None
    data_from: int = 0
    """The line of the first row after the header, and 0 without one."""
    header_line: int = 0
    decimal: str | None = None
    notices: list[Notice] = field(default_factory=list)
    languages: list[str | None] = field(default_factory=list)

    def places(self, role: str) -> list[int]:
        """The columns of a role."""
        return [place for place, column_role in enumerate(self.roles) if column_role == role]


class Columns:
    """Decides the layout of a file by the first of its rows."""

    def __init__(self, languages: tuple[str, str], choices: Choices, witness: Witness) -> None:
        self._languages = languages
        self._choices = choices
        self._witness = witness
        self._ragged: set[int] = set()
        """Columns before which the rows without them end."""

    def layout(self, rows: Sequence[Record]) -> Layout:
        """
        Raises:
            TableFormatError: the file's columns are not clear, or not those of a table.
        """
        deadline.check()
        header, head = self._header(rows)
        entry_rows = [row.cells for row in rows if head is None or row.line > head.line]
        width = max((_width(row) for row in entry_rows), default=0)
        width = min(_MOST_COLUMNS, max(2, width, len(self._choices.columns or ()), len(head.cells) if head else 0))
        layout = Layout([None] * width)
        if head is not None:
            layout.header = tuple(cell.strip() for cell in head.cells if cell.strip())
            layout.header_line, layout.data_from = head.line, head.line + 1
        columns = [[row[j].strip() for row in entry_rows if j < len(row) and row[j].strip()] for j in range(width)]
        self._ragged = {j for j in range(width) if all(row[j].strip() for row in entry_rows if j < len(row))}
        if self._choices.columns is not None:
            self._assign_chosen(layout)
        elif header is not None:
            self._assign_by_header(layout, header, columns, entry_rows)
        else:
            self._assign_by_cells(layout, columns, entry_rows, head)
        self._complete(layout, columns, head)
        return layout

    def _header(self, rows: Sequence[Record]) -> tuple[HeaderLine | None, Record | None]:
        """What the header says, and its row; a title above it is passed over."""
        if self._choices.header is False or not rows:
            return None, None
        if self._choices.header:
            return self._read_header(rows[0], certain=True), rows[0]
        for place, row in enumerate(rows[:_HEADER_WITHIN]):
            header = self._read_header(row)
            if header is not None and not _recurs(row, header, rows[place + 1 : place + 20]):
                return header, row
            if sum(bool(cell.strip()) for cell in row.cells) > 1:
                break
        return (None, rows[0]) if _names_numbers(rows) else (None, None)

    def _read_header(self, row: Record, certain: bool = False) -> HeaderLine | None:
        try:
            return read_header(row.cells, self._languages, certain)
        except TableFormatError as fault:
            if self._choices.columns is not None:
                return HeaderLine((), (), False)
            raise TableFormatError(fault.reason, row.line) from fault

    def _assign_chosen(self, layout: Layout) -> None:
        chosen = self._choices.columns or ()
        layout.roles[: len(chosen)] = [None if role in SKIPPED else role for role in chosen]

    def _assign_by_header(
        self, layout: Layout, header: HeaderLine, columns: list[list[str]], entry_rows: list[list[str]]
    ) -> None:
        layout.roles[: len(header.roles)] = header.roles
        layout.languages = [*header.languages, *[None] * (len(layout.roles) - len(header.languages))]
        if "probability" not in header.roles and "inverse_probability" not in header.roles:
            for place in range(len(header.roles), len(layout.roles)):
                if is_probability(columns[place]):
                    layout.roles[place] = "probability"
                    break
        direction = self._direction(layout, entry_rows)
        if direction is Direction.SWAPPED:
            raise TableFormatError(
                f"the header says that the columns are {_describe_sides(layout)}, and what they hold is evidently the"
                f" other way round: say which is which with columns=, such as columns={_exchange_sides(layout)}",
                layout.header_line,
            )

    def _assign_by_cells(
        self, layout: Layout, columns: list[list[str]], entry_rows: list[list[str]], head: Record | None
    ) -> None:
        """Roles by what the cells hold, of columns that a header does not name as others."""
        others = {j for j, cell in enumerate(head.cells) if self._is_other(cell)} if head is not None else set()
        self._by_content(layout, columns, others)
        direction = self._direction(layout, entry_rows)
        source_columns, target_columns = layout.places("source"), layout.places("target")
        if direction is Direction.DOUBTFUL:
            layout.notices.append(
                Notice(
                    max(1, layout.data_from),
                    f"column {source_columns[0] + 1} is read as {self._languages[0]} and column"
                    f" {target_columns[0] + 1} as {self._languages[1]}; they may be the other way round:"
                    " columns=target,source says so",
                )
            )
        if direction in (Direction.STRAIGHT, Direction.DOUBTFUL):
            return
        if direction is Direction.UNCLEAR:
            raise TableFormatError(
                f"columns {source_columns[0] + 1} and {target_columns[0] + 1} may be the other way round,"
                f" {self._languages[1]} before {self._languages[0]}: say which is which with"
                " columns=source,target or columns=target,source"
            )
        for place in source_columns:
            layout.roles[place] = "target"
        for place in target_columns:
            layout.roles[place] = "source"
        _settle_probability(layout, entry_rows)
        layout.notices.append(
            Notice(
                max(1, layout.data_from),
                f"the columns are the other way round: column {target_columns[0] + 1} is read as {self._languages[0]},"
                f" column {source_columns[0] + 1} as {self._languages[1]}",
            )
        )

    def _is_other(self, cell: str) -> bool:
        name = name_of(cell, self._languages)
        return name.role in ("other", "source_language", "target_language")

    def _by_content(self, layout: Layout, columns: list[list[str]], others: set[int]) -> None:
        texts = [j for j, cells in enumerate(columns) if cells and j not in others and is_text(cells)]
        if len(texts) < 2 and others:
            raise TableFormatError(
                "the header names less than two columns of words; a table needs one for each language: name them with"
                " columns="
            )
        if len(texts) < 2:
            _refuse_without_words(columns, len(texts))
        if is_deepl(columns):
            first, second = 0, 1
            layout.roles[2:4] = ["source_language", "target_language"]
        elif len(texts) < 2 or texts == [0, 1]:
            first, second = 0, 1
        else:
            first, second = self._two_of(texts, columns)
        layout.roles[first], layout.roles[second] = "source", "target"
        self._more_translations(layout, texts, columns)
        self._numbers(layout, columns)

    def _two_of(self, texts: list[int], columns: list[list[str]]) -> tuple[int, int]:
        """Of several columns of words those that are likeliest in the two languages, else the first two."""
        words_only = [place for place in texts if not is_category(columns[place])]
        usable = words_only if len(words_only) >= 2 else texts
        if len(usable) == 2:
            return usable[0], usable[1]
        scores = {place: self._witness.mean(columns[place]) for place in usable}
        first, second = usable[0], usable[1]
        if abs(scores[first] - scores[second]) >= 1.0:
            return first, second
        for other in usable[2:]:
            if abs(scores[first] - scores[other]) >= 1.5 and len(columns[other]) * 2 > len(columns[first]):
                return first, other
        return first, second

    def _more_translations(self, layout: Layout, texts: list[int], columns: list[list[str]]) -> None:
        """Columns after the second, of as few words, in which some rows go on, and others end before."""
        target = layout.places("target")[-1]
        for place in texts:
            if layout.roles[place] is None and place == target + 1 and place in self._ragged:
                cells, target_cells = columns[place], columns[target]
                short = word_count(cells) <= 1.5 * word_count(target_cells) + 0.5
                mean, like = self._witness.mean(cells), self._witness.mean(target_cells)
                if short and abs(like) >= 1.0 and abs(mean - like) <= abs(like) / 2 and len(cells) < len(target_cells):
                    layout.roles[place] = "target"
                    target = place
                    layout.notices.append(Notice(1, f"column {place + 1} is read as further translations"))

    def _numbers(self, layout: Layout, columns: list[list[str]]) -> None:
        """The columns of numbers after the words that are probabilities: of the target, then of the source."""
        after = max(layout.places("source")[0], layout.places("target")[0]) + 1
        roles = ["probability", "inverse_probability"]
        for place in range(after, len(layout.roles)):
            if layout.roles[place] is not None:
                continue
            cells = columns[place]
            straight = place in (2, 3) and after == 2
            if straight and (not cells or may_be_probability(cells)):
                role = ("probability", "inverse_probability")[place - 2]
                layout.roles[place] = role if cells else None
                roles = [other for other in roles if other != role]
            elif is_probability(cells) and roles:
                layout.roles[place] = roles.pop(0)

    def _direction(self, layout: Layout, entry_rows: list[list[str]]) -> Direction:
        source_columns, target_columns = layout.places("source"), layout.places("target")
        if not source_columns or not target_columns:
            return Direction.STRAIGHT
        i, j = source_columns[0], target_columns[0]
        rows = [(row[i].strip(), row[j].strip()) for row in entry_rows if max(i, j) < len(row)]
        rows = [row for row in rows if all(row) and not is_nothing(row[0]) and not is_nothing(row[1])]
        rows = [row for row in rows if all(map(_LETTER.search, row))][:ROWS] or rows[:ROWS]  # numbers may come first
        direction = self._witness.direction(rows)
        if direction is not Direction.SWAPPED:
            for side, language in enumerate(self._languages):
                if self._witness.foreign([row[side] for row in rows], side):
                    raise TableFormatError(
                        f"column {(i, j)[side] + 1} is to be the {('source', 'target')[side]}, but holds no word in the"
                        f" script of {language}: say what the columns are with columns="
                    )
        return direction

    def _complete(self, layout: Layout, columns: list[list[str]], head: Record | None) -> None:
        """Check that both sides are words, settle the decimal mark, and note what is passed over."""
        if not layout.places("source") or not layout.places("target"):
            raise TableFormatError("no column is the source or the target: name them with columns=source,target")
        if self._choices.columns is None:
            for role in ("source", "target"):
                cells = [cell for place in layout.places(role) for cell in columns[place]]
                if len(cells) >= 2 and sum(as_number(cell) is not None for cell in cells) >= NUMERIC * len(cells):
                    raise TableFormatError(
                        f"the {role} column holds numbers, not words: a table of word numbers needs its words first;"
                        " name the columns of words with columns="
                    )
        _refuse_cut_numbers(layout, columns)
        numbers = [p for role in ("probability", "inverse_probability") for p in layout.places(role)]
        layout.decimal = self._choices.decimal or decimal_mark([cell for place in numbers for cell in columns[place]])
        table_languages = dict(zip(("source", "target"), self._languages, strict=True))
        column_languages = layout.languages or [None] * len(layout.roles)
        layout.languages = [
            table_languages.get(role or "", lang) for role, lang in zip(layout.roles, column_languages, strict=False)
        ]
        if self._choices.columns is not None:
            return
        names = [] if head is None else [cell.strip() for cell in head.cells]
        line = head.line if head is not None else 1
        for place, cells in enumerate(columns):
            if layout.roles[place] is None and cells:
                called = f" ({quote(names[place])})" if place < len(names) and names[place] else ""
                layout.notices.append(Notice(line, f"column {place + 1}{called} is ignored"))


def _width(row: Sequence[str]) -> int:
    return max((place + 1 for place, cell in enumerate(row) if cell.strip()), default=0)


def _describe_sides(layout: Layout) -> str:
    sides = ((role, layout.places(role)[0] + 1) for role in ("source", "target"))
    return " and ".join(f"the {role} in column {place}" for role, place in sides)


def _exchange_sides(layout: Layout) -> str:
    return ",".join(sorted(("source", "target"), key=lambda role: -layout.places(role)[0]))


def _recurs(row: Record, header: HeaderLine, after: Sequence[Record]) -> bool:
    """Whether what would name a column stands in it again, as language codes do in each line of DeepL's glossaries."""
    sides = [place for place, role in enumerate(header.roles) if role in ("source", "target")]
    if sides == [2, 3] and len(row.cells) == 4 and all(language_of_code(row.cells[place].strip()) for place in sides):
        return all(cell.strip() for cell in row.cells[:2])
    again = [later for later in after if all(row.cells[p] == later.cells[p] for p in sides if p < len(later.cells))]
    return bool(again) and len(sides) > 0


def _names_numbers(rows: Sequence[Record]) -> bool:
    """Whether the first row has text where the others have probabilities."""
    if len(rows) < 3:
        return False
    for place, name in enumerate(rows[0].cells):
        rest = [row.cells[place].strip() for row in rows[1:] if place < len(row.cells) and row.cells[place].strip()]
        text = name.strip()
        if len(rest) < 2 or not text or as_number(text) is not None or text.lstrip("+-").lower() in ("nan", "inf"):
            continue
        if not any(character.isdigit() for character in text) and share(rest, as_number) > 0.95:
            return True
    return False


def _refuse_without_words(columns: Sequence[Sequence[str]], texts: int) -> None:
    """Refuse a file with less than two columns of words, where there are enough cells to say so."""
    filled = [cells for cells in columns if cells]
    if len(filled) < 2 or min(map(len, filled[:2])) < 2:
        return
    numbers = any(share(cells, as_number) >= NUMERIC for cells in filled[:2])
    if numbers or (texts == 1 and len(filled) > 2 and len(filled[0]) >= 3):
        raise TableFormatError(
            "the columns hold numbers, codes or parts of speech where words of two languages are expected: a table of"
            " word numbers needs its words first; name the columns of words with columns="
        )


def _refuse_cut_numbers(layout: Layout, columns: Sequence[Sequence[str]]) -> None:
    """Refuse numbers with decimal commas that the separator, a comma too, has cut in two."""
    for place in layout.places("probability"):
        after = columns[place + 1] if place + 1 < len(columns) else []
        cut = columns[place] and set(columns[place]) <= {"0", "1"} and all(cell.isdecimal() for cell in after)
        if cut and len(after) * 2 > len(columns[place]) and not set(after) <= {"0", "1"}:
            raise TableFormatError(
                f"columns {place + 1} and {place + 2} look like numbers with decimal commas that are cut at the"
                " separator: quote them, use another separator, or say what the columns are with columns="
            )


def _settle_probability(layout: Layout, entry_rows: Sequence[Sequence[str]]) -> None:
    """Where columns were exchanged: whether the numbers are given the target, since of each target they sum to 1."""
    places = layout.places("probability")
    if not places or layout.places("inverse_probability"):
        return
    source, target = layout.places("source")[0], layout.places("target")[0]
    whole = [row for row in entry_rows if len(row) > max(source, target, places[0])]
    if _sum_to_one(whole, target, places[0]) > _sum_to_one(whole, source, places[0]):
        layout.roles[places[0]] = "inverse_probability"


def _sum_to_one(rows: Sequence[Sequence[str]], of: int, column: int) -> int:
    """How many terms of a column with several rows have numbers that sum to 1."""
    sums: dict[str, list[float]] = {}
    for row in rows:
        sums.setdefault(row[of].strip(), []).append(as_number(row[column]) or 0.0)
    return sum(len(values) > 1 and abs(sum(values) - 1) < 0.02 for values in sums.values())
