"""Reading parallel text and dictionaries, plain or gzip, all rejections accounted for.

It is tab-separated lines, TMX, or a file for each language, line by line, as of Moses and OPUS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path

from dragoman.engine.tables.odds import odds_between
from dragoman.files.streams import StreamFault, file_parts, lines, unpack
from dragoman.lexicon.formats.detection.direction import ROWS, Direction, Witness
from dragoman.lexicon.formats.detection.names import language_of_code
from dragoman.lexicon.formats.items import Rejection, TableFormatError
from dragoman.lexicon.formats.tmx import IncompleteUnit, tmx_pairs

MAX_LINE_BYTES = 1 << 20
SHOWN_REJECTIONS = 20
SUFFIXES = (".tsv", ".tsv.gz", ".txt", ".txt.gz", ".tmx", ".tmx.gz")
TMX_SUFFIXES = (".tmx", ".tmx.gz")
TEXT_CHARACTERS = 100_000
"""Characters of a text of a unit of TMX."""
COLUMN_NAMES = ("source", "target", "_")


class TrainingError(ValueError):
    """Input that a table cannot be trained from; the message names the file and the line if there is one."""


@dataclass
class FileReport:
    """What one file held. `rejections` lists the first malformed lines, `malformed` counts all of them."""

    path: Path
    lines: int = 0
    pairs: int = 0
    blank: int = 0
    malformed: int = 0
    rejections: list[Rejection] = field(default_factory=list)
    partner: Path | None = None
    """The file of the target language, line by line, of which ``path`` is that of the source language."""
    incomplete: int = 0
    """Units of TMX without text in both languages."""

    def reject(self, reason: str) -> None:
        self.malformed += 1
        if len(self.rejections) < SHOWN_REJECTIONS:
            self.rejections.append(Rejection(self.lines, reason))


@dataclass(frozen=True)
class Columns:
    """Which columns hold the source and the target text; columns after the last named one are ignored."""

    source: int
    target: int

    @classmethod
    def parse(cls, text: str) -> Columns:
        """From a list such as `target,source` or `_,source,target`, `_` being a column to pass over."""
        names = [name.strip() for name in text.split(",")]
        unknown = sorted(set(names) - set(COLUMN_NAMES))
        if unknown or names.count("source") != 1 or names.count("target") != 1:
            raise TrainingError(
                f"columns must name source and target once each, and _ for columns to pass over: got {text!r}"
            )
        return cls(names.index("source"), names.index("target"))

    def exchange(self) -> str:
        """The list that names source and target the other way round."""
        names = ["_"] * self.needed
        names[self.source], names[self.target] = "target", "source"
        return ",".join(names)

    @property
    def needed(self) -> int:
        return max(self.source, self.target) + 1


def expand(paths: Sequence[Path]) -> list[Path]:
    """The files given, and in the folders given those of tabbed lines (.tsv, .txt) and TMX (.tmx), plain or gzip.

    Raises:
        TrainingError: a path that does not exist, a folder without such a file, a file met twice.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files_of_folder = sorted(p for p in path.rglob("*") if p.name.endswith(SUFFIXES) and p.is_file())
            if not files_of_folder:
                raise TrainingError(f"{path}: no file in this folder ends in {', '.join(SUFFIXES)}")
            files.extend(files_of_folder)
        elif path.exists():
            files.append(path)
        else:
            raise TrainingError(f"{path}: no such file or folder")
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise TrainingError(f"{file}: given twice")
        seen.add(file.resolve())
    return files


def join_halves(files: Sequence[Path], languages: tuple[str, str]) -> list[FileReport]:
    """The files, in which two that differ but in the language at their end are one text: ``a.en`` and ``a.de``."""
    halves = {file: halved for file in files if (halved := _half(file)) and halved[1] in languages}
    files_of = {halved: file for file, halved in halves.items()}
    reports: list[FileReport] = []
    for file in files:
        stem, language = halves.get(file, ("", ""))
        source, target = (files_of.get((stem, code)) for code in languages)
        if source is None or target is None or not language:
            reports.append(FileReport(file))
        elif file == source:
            reports.append(FileReport(source, partner=target))
    return reports


def _half(file: Path) -> tuple[str, str] | None:
    """The name of a file up to the language that it ends in, and that language."""
    stem, _, code = str(file).removesuffix(".gz").rpartition(".")
    language = language_of_code(code) if 2 <= len(code) <= 12 else None
    return None if language is None else (stem, language)


def read_pairs(
    report: FileReport, columns: Columns, languages: tuple[str, str] | None = None
) -> Iterator[tuple[str, str]]:
    """(source text, target text) of each line or unit of `report.path`; what is left out is noted in `report`.

    Raises:
        TrainingError: unreadable file, damaged gzip, or most of the file malformed (after its last line).
    """
    if report.partner is not None:
        yield from _read_halves(report, report.partner)
    elif languages is not None and report.path.name.endswith(TMX_SUFFIXES):
        yield from _read_tmx(report, languages)
    else:
        yield from _read_columns(report, columns)
    if report.malformed * 2 > report.lines:
        first = report.rejections[0]
        raise TrainingError(
            f"{report.path}: {report.malformed} of {report.lines} lines are malformed, "
            f"the first in line {first.line}: {first.reason}"
        )


def _read_tmx(report: FileReport, languages: tuple[str, str]) -> Iterator[tuple[str, str]]:
    try:
        for unit in tmx_pairs(unpack(file_parts(report.path)), languages, TEXT_CHARACTERS):
            report.lines += 1
            if not isinstance(unit, Rejection):
                report.pairs += 1
                yield unit[1], unit[2]
            elif isinstance(unit, IncompleteUnit):
                report.incomplete += 1
            else:
                report.malformed += 1
                if len(report.rejections) < SHOWN_REJECTIONS:
                    report.rejections.append(unit)
    except (TableFormatError, StreamFault, OSError) as error:
        raise TrainingError(f"{report.path}: {error}") from error


def _read_halves(report: FileReport, partner: Path) -> Iterator[tuple[str, str]]:
    halves = (lines(unpack(file_parts(path)), MAX_LINE_BYTES, blank=True) for path in (report.path, partner))
    try:
        for source, target in zip_longest(*halves):
            report.lines += 1
            if source is None or target is None:
                shorter = report.path if source is None else partner
                raise TrainingError(
                    f"{report.path} and {partner.name} have to have as many lines as each other:"
                    f" {shorter.name} ends before line {report.lines}"
                )
            texts = [_decode_line(line.content, report) for line in (source, target)]
            if texts[0] is None or texts[1] is None:
                continue
            if not texts[0].strip() or not texts[1].strip():
                report.blank += 1
                continue
            report.pairs += 1
            yield texts[0], texts[1]
    except (StreamFault, OSError) as error:
        raise TrainingError(f"{report.path} or {partner.name}, after line {report.lines}: {error}") from error


def _read_columns(report: FileReport, columns: Columns) -> Iterator[tuple[str, str]]:
    try:
        for line in lines(unpack(file_parts(report.path)), MAX_LINE_BYTES, blank=True):
            report.lines = line.line_number
            pair = _parse(line.content, report, columns)
            if pair is not None:
                report.pairs += 1
                yield pair
    except (StreamFault, OSError) as error:
        raise TrainingError(f"{report.path}, after line {report.lines}: {error}") from error


def check_order(path: Path, columns: Columns, languages: tuple[str, str]) -> None:
    """Refuse a file whose first lines show that its columns are the other way round.

    Raises:
        TrainingError: naming the columns that it has; and what :func:`read_pairs` raises.
    """
    witness = Witness(languages, odds_between(*languages))
    first = [
        (source, target) for source, target in islice(read_pairs(FileReport(path), columns), ROWS) if source and target
    ]
    if witness.direction(first) is Direction.SWAPPED:
        raise TrainingError(
            f"{path}: column {columns.source + 1} is to be {languages[0]} and column {columns.target + 1}"
            f" {languages[1]}, but they are evidently the other way round: name them as they are with --columns, such"
            f" as {columns.exchange()}, or exchange --source and --target"
        )


def _decode_line(raw: bytes | None, report: FileReport) -> str | None:
    if raw is None:
        report.reject(f"longer than {MAX_LINE_BYTES} bytes")
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        report.reject(f"not UTF-8 at byte {error.start + 1}")
        return None


def _parse(raw: bytes | None, report: FileReport, columns: Columns) -> tuple[str, str] | None:
    line = _decode_line(raw, report)
    if line is None:
        return None
    if not line.strip():
        report.blank += 1
        return None
    cells = line.split("\t")
    if len(cells) < columns.needed:
        noun = "column" if len(cells) == 1 else "columns"
        report.reject(f"{len(cells)} tab-separated {noun} where {columns.needed} are needed")
        return None
    return cells[columns.source], cells[columns.target]
