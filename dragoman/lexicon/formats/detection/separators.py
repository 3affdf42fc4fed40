"""The separator of a file of columns: what cuts most lines into equally many cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dragoman.lexicon.formats.cells import as_number
from dragoman.lexicon.formats.detection.headers import read_header
from dragoman.lexicon.formats.items import Limits, TableFormatError
from dragoman.lexicon.formats.records import NAMES, SPACES, Record, records

SEPARATORS = ("\t", ";", "|", ",")
_NAMED = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "bar": "|",
    "space": SPACES,
    "spaces": SPACES,
}
_SEP_LINE = re.compile(r'"?sep=(.|\\t)"?')
_CLOSE = 0.9
_SINGLE_WORDS = 0.9

Lines = Sequence[tuple[int, str]]


def find_separator(name: str) -> str | None:
    """The separator that a caller names, by a word or itself; None if it can't be one."""
    if (separator := _NAMED.get(name.strip().lower())) is not None:
        return separator
    return name if name in (*SEPARATORS, SPACES, ":", "~", "^", "=", "/", "#", "\x1f") else None


def parse_separator_line(line: str) -> str | None:
    """The separator that a first line such as ``sep=;`` names, as Excel writes and reads it."""
    matched = _SEP_LINE.fullmatch(line.strip())
    return None if matched is None else "\t" if matched[1] == "\\t" else matched[1]


def detect(lines: Lines, languages: tuple[str, str], usual: str | None = None) -> str | None:
    """The separator of these lines, or None if no line has one; ``usual`` is taken where two would do.

    Raises:
        TableFormatError: two would do.
    """
    limits = Limits()
    scored = []
    for separator in SEPARATORS:
        cut = [record for record in records(lines, separator, limits) if isinstance(record, Record)]
        score = _score(separator, cut, len(lines))
        if score > 0:
            scored.append((score, separator, cut))
    scored.sort(key=lambda candidate: -candidate[0])
    if not scored:
        return None
    if len(scored) > 1 and scored[1][0] >= _CLOSE * scored[0][0]:
        headed = [candidate for candidate in scored[:2] if _has_header(candidate[2], languages)]
        if len(headed) != 1 and usual in (scored[0][1], scored[1][1]):
            return usual
        if len(headed) != 1:
            first, second = (NAMES[separator] for _, separator, _ in scored[:2])
            raise TableFormatError(f"the columns may be separated by {first} or by {second}: say which with separator=")
        return headed[0][1]
    return scored[0][1]


def is_spaced(lines: Lines) -> int | None:
    """Whether nearly all lines are two words, or two words and a number, separated by spaces: 2, 3, or None."""
    widths: Counter[int] = Counter()
    for _, line in lines:
        cells = line.split()
        if len(cells) == 2 or (len(cells) == 3 and as_number(cells[2]) is not None):
            widths[len(cells)] += 1
    width, count = max(widths.items(), key=lambda width_count: width_count[1], default=(0, 0))
    return width if lines and count >= _SINGLE_WORDS * len(lines) else None


def _has_header(cut: Sequence[Record], languages: tuple[str, str]) -> bool:
    try:
        return bool(cut) and read_header(cut[0].cells, languages) is not None
    except TableFormatError:
        return False


def _score(separator: str, cut: Sequence[Record], of: int) -> float:
    """The share of lines that it cuts, times that of those cut alike, less where it stands as in a sentence."""
    widths: Counter[int] = Counter()
    spaced = between = 0
    for record in cut:
        cells = record.cells
        while len(cells) > 1 and not cells[-1].strip():
            cells = cells[:-1]
        if len(record.cells) > 1:
            widths[max(2, len(cells))] += 1
            between += len(record.cells) - 1
            spaced += sum(cell[:1] == " " for cell in record.cells[1:])
            if separator == ",":
                pairs = zip(record.cells, record.cells[1:], strict=False)
                numbers = sum(left[-1:].isdigit() and right[:1].isdigit() for left, right in pairs)
                between, spaced = between, spaced + numbers
    if not widths:
        return 0.0
    share = sum(widths.values()) / max(1, len(cut))
    alike = max(widths.values()) / sum(widths.values())
    return (1.6 if separator == "\t" else 1.0) * share * (0.3 + 0.7 * alike) * (0.2 + 0.8 * (1 - spaced / between))
