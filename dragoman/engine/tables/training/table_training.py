"""`dragoman table train`: from parallel files to a translation table in a TSV file."""

from __future__ import annotations

import gzip
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import BinaryIO, cast

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

from dragoman.engine.tables.training.parallel_text import (
    TMX_SUFFIXES,
    Columns,
    FileReport,
    TrainingError,
    check_order,
    expand,
    join_halves,
    read_pairs,
)
from dragoman.files.atomic import atomic_file
from dragoman.lexicon.alignment.training import (
    AlignmentConfig,
    CorpusCounts,
    IterationReport,
    Progress,
    SentencePair,
    TrainedTable,
    train,
)
from dragoman.lexicon.text.languages import check_language
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis, Token, content_terms

__all__ = ["FileReport", "TrainingError", "TrainingReport", "progress_bars", "train_table"]

GRID = 1e-9


@dataclass(frozen=True)
class TrainingReport:
    """What a training read, left out, learned and wrote."""

    source: str
    target: str
    output: Path
    files: list[FileReport]
    corpus: CorpusCounts
    iterations: list[IterationReport]
    entries: int
    pruned: int
    seconds: dict[str, float] = field(default_factory=dict)
    """Of each step: analysis, reading (without analysis), alignment, writing."""

    def left_out(self) -> list[str]:
        """One line for each kind of thing that was left out, and for the first malformed lines of each file."""
        counts = self.corpus
        reasons = {
            "with an empty side": counts.empty,
            "with too long a side": counts.too_long,
            "too different in length": counts.length_ratio,
        }
        lines = [f"{count} sentence pairs left out: {reason}" for reason, count in reasons.items() if count]
        for file in self.files:
            lines += [f"{file.path}, line {rejection.line}: {rejection.reason}" for rejection in file.rejections]
            if file.incomplete:
                lines.append(f"{file.path}: {file.incomplete} units without text in both languages")
            if file.malformed > len(file.rejections):
                lines.append(f"{file.path}: {file.malformed - len(file.rejections)} more malformed lines")
        return lines

    def as_dict(self) -> dict[str, object]:
        """For JSON: paths as text."""
        result = asdict(self)
        result["output"] = str(self.output)
        result["files"] = [
            {**asdict(file), "path": str(file.path), "partner": file.partner and str(file.partner)}
            for file in self.files
        ]
        return result


@dataclass
class _Reader:
    """Sentence pairs of all files, analysed; the seconds that took."""

    source: Analysis
    target: Analysis
    files: list[FileReport] = field(default_factory=list)
    analysing: float = 0.0
    total: float = 0.0

    def pairs(self, reports: Sequence[FileReport], columns: Columns, weight: float) -> Iterator[SentencePair]:
        languages = self.source.language, self.target.language
        for report in reports:
            self.files.append(report)
            begin = time.perf_counter()
            for source, target in read_pairs(report, columns, languages):
                analysing = time.perf_counter()
                pair = SentencePair(self._tokens(self.source, source), self._tokens(self.target, target), weight)
                end = time.perf_counter()
                self.analysing += end - analysing
                self.total += end - begin
                yield pair
                begin = time.perf_counter()

    @staticmethod
    def _tokens(analysis: Analysis, text: str) -> list[Token]:
        return content_terms(analysis.tokens(text), analysis.language)


def train_table(
    parallel: Sequence[Path],
    source: str,
    target: str,
    output: Path,
    columns: str = "target,source",
    *,
    config: AlignmentConfig | None = None,
    dictionaries: Sequence[Path] = (),
    inverse_dictionaries: Sequence[Path] = (),
    dictionary_weight: float = 1.0,
    plain: bool = False,
    progress: Bars | None = None,
    notify: Progress | None = None,
) -> TrainingReport:
    """Learn a table from parallel text and write it, whole or not at all.

    Args:
        parallel: files or folders of tab-separated lines, plain or gzip; `columns` says what is where. TMX, and two
            files of a language each (`a.en`, `a.de`), need no columns.
        source: language code, as `target`.
        output: lines of source TAB target TAB P(target|source) TAB P(source|target); gzip if named `.gz`.
        config: model, iterations, symmetrisation, pruning.
        dictionaries: further files, lines of source TAB target (further columns are ignored), each line a
            sentence pair that counts `dictionary_weight`.
        inverse_dictionaries: the same with the columns the other way round.
        plain: split words without stemming, stop words or Java.
        progress: bars to report on, see `progress_bars`.
        notify: is told each phase, how much of it is done, and of how much, from several threads; what it raises
            ends the training.

    Raises:
        TrainingError: bad input, with the file and line, or input without a usable pair.
        UnknownLanguage: naming the code.
    """
    _check(source, target, output, dictionary_weight)
    order = Columns.parse(columns)
    reader = _Reader(_analysis(source, plain), _analysis(target, plain))
    languages = reader.source.language, reader.target.language
    corpus_files = join_halves(expand(parallel), languages)
    dictionary_files, inverse_files = (
        [FileReport(path) for path in expand(paths)] for paths in (dictionaries, inverse_dictionaries)
    )
    if not corpus_files and not dictionary_files and not inverse_files:
        raise TrainingError("no parallel file given")
    _check_orders(
        [
            (corpus_files, order),
            (dictionary_files, Columns.parse("source,target")),
            (inverse_files, Columns.parse("target,source")),
        ],
        (source, target),
    )

    def pairs() -> Iterator[SentencePair]:
        yield from reader.pairs(corpus_files, order, 1.0)
        yield from reader.pairs(dictionary_files, Columns.parse("source,target"), dictionary_weight)
        yield from reader.pairs(inverse_files, Columns.parse("target,source"), dictionary_weight)

    begin = time.perf_counter()
    table = train(pairs(), config or AlignmentConfig(), notify or _Phases(progress, source, target))
    trained = time.perf_counter()
    if not len(table):
        raise TrainingError(f"nothing to learn from: {_left_out(table.corpus)}")
    write_table(table, output)
    seconds = {
        "reading": reader.total - reader.analysing,
        "analysis": reader.analysing,
        "alignment": trained - begin - reader.total,
        "writing": time.perf_counter() - trained,
    }
    return TrainingReport(
        source,
        target,
        output,
        reader.files,
        table.corpus,
        table.iterations,
        len(table),
        table.pruned,
        {name: round(step_seconds, 3) for name, step_seconds in seconds.items()},
    )


def _check(source: str, target: str, output: Path, dictionary_weight: float) -> None:
    if check_language(source) == check_language(target):
        raise TrainingError(f"source and target are both {source!r}")
    if not 0 < dictionary_weight <= 1000:
        raise TrainingError(f"dictionary_weight must be above 0 and at most 1000, got {dictionary_weight}")
    if output.is_dir():
        raise TrainingError(f"{output}: is a folder, a file name is needed")
    if not output.parent.is_dir():
        raise TrainingError(f"{output.parent}: no such folder to write {output.name} into")


def _check_orders(files: Sequence[tuple[Sequence[FileReport], Columns]], languages: tuple[str, str]) -> None:
    """
    Raises:
        TrainingError: the columns of a file are evidently the other way round.
    """
    for reports, columns in files:
        for report in reports:
            if report.partner is None and not report.path.name.endswith(TMX_SUFFIXES):  # these name their languages
                check_order(report.path, columns, languages)


def _left_out(counts: CorpusCounts) -> str:
    return (
        f"of {counts.read} sentence pairs {counts.empty} have an empty side, {counts.too_long} are too long, "
        f"{counts.length_ratio} differ too much in length, {counts.kept} were aligned"
    )


def _analysis(language: str, plain: bool) -> Analysis:
    if plain:
        return PlainAnalysis(language)
    from dragoman.indexes.analysis.pipeline import analysis

    return analysis(language)


def write_table(table: TrainedTable, output: Path) -> None:
    """Write a table to `output` in one step: no reader ever sees half of it.

    Probabilities are rounded down to multiples of 1e-9, so that those of a term never sum to more than 1.

    Raises:
        TrainingError: the file cannot be written, and is as it was before.
    """
    try:
        with atomic_file(output) as unfinished, unfinished.open("wb") as file:
            if output.name.endswith(".gz"):
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    _write_entries(table, cast(BinaryIO, packed))
            else:
                _write_entries(table, file)
    except OSError as error:
        raise TrainingError(f"{output}: cannot be written: {error}") from error


def _write_entries(table: TrainedTable, file: BinaryIO) -> None:
    for source, target, p_ts, p_st in table.entries():
        file.write(f"{source}\t{target}\t{_decimal(p_ts)}\t{_decimal(p_st)}\n".encode())


def _decimal(probability: float) -> str:
    steps = max(1, math.floor(probability / GRID * (1 + 1e-12)))
    return f"{min(steps * GRID, 1.0):.9f}".rstrip("0").rstrip(".")


def progress_bars(console: Console | None = None) -> Bars:
    """Bars with counts and times, for `train_table`; on standard error unless a console is given."""
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console or Console(stderr=True),
    )


class _Phases:
    """Shows each phase of a training as a bar of its own; called from several threads."""

    def __init__(self, bars: Bars | None, source: str, target: str) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._lock = Lock()
        self._names = {
            "read": "reading sentence pairs",
            "index": "numbering word pairs",
            "align": f"aligning {source} ⇄ {target}",
            "count": "counting translations",
        }

    def __call__(self, phase: str, completed: int, total: int) -> None:
        if self._bars is None:
            return
        with self._lock:
            if phase not in self._tasks:
                self._tasks[phase] = self._bars.add_task(self._names[phase], total=total or None)
            self._bars.update(self._tasks[phase], completed=completed, total=total or None)
