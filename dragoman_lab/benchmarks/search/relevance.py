"""How far the relevance of hits holds, and what is said of answers as a whole.

    python -m dragoman_lab.benchmarks.search.relevance --data DATA --work runs/relevance --split tune

XQuAD-R's questions of a part over sentences and paragraphs, in the pairs that relevance was fitted to; with
``--others`` also sets that nothing was fitted to. Searches run in this process, with tables that are trained on
parallel text with permissive licences and kept in the work folder, as the signals of hits are.

- ECE: the expected calibration error in ten bins of equal mass, of first hits and of those of ranks 2 to 10; beside it
  that of outcomes drawn by the probabilities themselves, which is what so few questions show of a perfect one.
- Brier: the mean squared error, beside that of the base rate said of every hit.
- weak: how many of the relevant hits, and of the others, are called so;
- found: of questions, half of which are asked of a collection without their relevant documents, their paragraphs or
  their articles, how many of these are not called good, and how many of the others; and how many of queries of random
  letters are called none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from dragoman.engine.search.relevance.judging import load_fitted
from dragoman.engine.search.request import Method
from dragoman_lab.benchmarks.search.relevance_fit import UNITS, read_pairs, tables_of_pairs
from dragoman_lab.benchmarks.search.relevance_judged import (
    REMOVALS,
    RERANKED,
    Asked,
    Floats,
    Hits,
    Searcher,
    is_removed,
    open_searcher,
    ways_of,
    with_english,
)
from dragoman_lab.benchmarks.search.relevance_measures import (
    brier,
    brier_of_base_rate,
    calibration_error,
    chance_error,
    share,
)
from dragoman_lab.benchmarks.search.relevance_tasks import (
    Pair,
    Task,
    all_pairs,
    nonsense_task,
    other_tasks,
    xquad_tasks,
)
from dragoman_lab.evaluation.benchmark import Split

BY_PAIR = ("psq", "dense", "hybrid")
"""The methods whose pairs are listed."""
DOCUMENTS = 240
"""Of a set that nothing was fitted to, as XQuAD-R has paragraphs in a language."""


class Row(NamedTuple):
    """A line of the table."""

    name: str
    asked: list[Asked]


def relevances(hits: Hits) -> Floats:
    """The probabilities of hits, as a search gives them."""
    if not hits.kinds:
        return np.zeros(0)
    return load_fitted().judge(hits.kinds, hits.signals).factor * load_fitted().relevances(hits.kinds, hits.signals)


def label(hits: Hits) -> str:
    """What is said of an answer."""
    return load_fitted().judge(hits.kinds, hits.signals).label if hits.kinds else "none"


def calibration(asked: Iterable[Asked]) -> str:
    """ECE and Brier score of first hits, and of the others."""
    parts = []
    pairs = [(relevances(question.hits), question.hits.relevant) for question in asked]
    for some in (slice(0, 1), slice(1, 10)):
        predicted = np.concatenate([np.zeros(0), *(each[some] for each, _ in pairs)])
        outcomes = np.concatenate([np.zeros(0), *(each[some] for _, each in pairs)])
        if not len(predicted):
            parts.append("- | - | - | -")
            continue
        error, by_chance = calibration_error(predicted, outcomes), chance_error(predicted)
        scores = f"{brier(predicted, outcomes):.3f} | {brier_of_base_rate(outcomes):.3f}"
        parts.append(f"{error:.3f} | {by_chance:.3f} | {scores}")
    return " | ".join(parts)


def weakness(asked: Iterable[Asked]) -> str:
    """The share of relevant hits that are weak, and of the others."""
    pairs = [(relevances(question.hits), question.hits.relevant) for question in asked]
    weak = np.concatenate([np.zeros(0), *(predicted < load_fitted().weak for predicted, _ in pairs)])
    relevant = np.concatenate([np.zeros(0), *(outcomes for _, outcomes in pairs)]) > 0
    shares = (weak[chosen].mean() if chosen.any() else np.nan for chosen in (relevant, ~relevant))
    return " | ".join(f"{each:.0%}" for each in shares)


def answers(asked: Sequence[Asked]) -> str:
    """What is said of questions without what is relevant, by what was taken out, and of those with it."""
    parts = []
    for removal in REMOVALS:
        without = [label(question.removed[removal]) for question in asked if is_removed(question.question)]
        parts.append(f"{1 - share(without, 'good'):.0%}")
    others = [question.hits for question in asked if not is_removed(question.question)]
    first = [hits for hits in others if hits.relevant[:1].any()]
    parts += [f"{1 - share([label(hits) for hits in some], 'good'):.0%}" for some in (others, first)]
    return " | ".join(parts)


def table(title: str, rows: Iterable[Row]) -> list[str]:
    """The measures of some rows."""
    lines = [
        f"### {title}",
        "",
        "| | questions | ECE, rank 1 | by chance | Brier | base rate | ECE, ranks 2 to 10 | by chance | Brier"
        " | base rate | weak, relevant | weak, others | not good, document removed | paragraph | article"
        " | not good, others | others whose first hit is relevant |",
        "|" + "---|" * 17,
    ]
    lines += [
        f"| {row.name} | {len(row.asked)} | {calibration(row.asked)} | {weakness(row.asked)} | {answers(row.asked)} |"
        for row in rows
    ]
    return [*lines, ""]


def group_by(asked: Iterable[Asked], name: Callable[[Asked], str]) -> list[Row]:
    """The questions by what ``name`` calls them, in the order of the first of each."""
    groups: dict[str, list[Asked]] = {}
    for question in asked:
        groups.setdefault(name(question), []).append(question)
    return [Row(group, questions) for group, questions in groups.items()]


def pair_of(question: Asked) -> str:
    """The languages of a task, by its name: test-sentence-en-de."""
    return "-".join(question.task.split("-")[2:4])


def kind_of_pair(question: Asked) -> str:
    """The way of searching, and whether question and documents are in one language."""
    source, target = pair_of(question).split("-")
    return f"{question.way}, {'within' if source == target else 'between'}"


def ask_tasks(
    searcher: Searcher, tasks: Iterable[Task], methods: Sequence[str], questions: int, reranked: int, skip: int = 0
) -> list[Asked]:
    """The questions of tasks after the first ``skip``, in all ways of searching by some methods."""
    asked: list[Asked] = []
    for task in tasks:
        for way in ways_of(task, methods):
            asked += searcher.ask(task, way, questions, skip)
        if task.is_reranked and reranked:
            for way in RERANKED:
                asked += searcher.ask(task, way, reranked, skip)
    return asked


def report(
    searcher: Searcher,
    data: Path,
    split: Split,
    pairs: Sequence[Pair],
    units: Sequence[str],
    methods: Sequence[str],
    questions: int,
    reranked: int,
    skip: int,
) -> str:
    """All tables as Markdown."""
    lines: list[str] = []
    for unit in units:
        asked = ask_tasks(searcher, xquad_tasks(data, split, unit, pairs), methods, questions, reranked, skip)
        lines += table(f"XQuAD-R, {unit}s, {split}, by method", group_by(asked, lambda question: question.way))
        lines += table(f"XQuAD-R, {unit}s, {split}, between languages and within", group_by(asked, kind_of_pair))
        for method in BY_PAIR:
            of_method = [question for question in asked if question.way == method]
            lines += table(f"XQuAD-R, {unit}s, {split}, {method}, by pair", group_by(of_method, pair_of))
    said: dict[str, list[str]] = {}
    for unit in units:
        for task in filter(with_english, xquad_tasks(data, split, unit, pairs)):
            for way in ways_of(task, methods):
                labels = [label(question.hits) for question in searcher.ask(nonsense_task(task), way, questions // 4)]
                said.setdefault(way.name, []).extend(labels)
    lines += ["### Random letters", "", "| | queries | none | good |", "|---|---|---|---|"]
    lines += [f"| {way} | {len(of)} | {share(of, 'none'):.0%} | {share(of, 'good'):.0%} |" for way, of in said.items()]
    return "\n".join(lines) + "\n"


def report_others(searcher: Searcher, data: Path, methods: Sequence[str], questions: int) -> str:
    """The table of the sets that nothing was fitted to."""
    asked = ask_tasks(searcher, other_tasks(data, DOCUMENTS), methods, questions, 0)
    rows = group_by(asked, lambda question: f"{question.task}, {question.way}")
    return "\n".join(table("Sets that nothing was fitted to", rows))


def main() -> None:
    """Ask what was not asked yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps tables, collections and signals")
    parser.add_argument("--split", choices=("tune", "test"), default="tune")
    parser.add_argument("--pairs", type=read_pairs, default=all_pairs(), help="such as en-de,de-en; default: all")
    parser.add_argument("--units", default=",".join(UNITS))
    parser.add_argument("--methods", default=",".join(get_args(Method)))
    parser.add_argument("--others", action="store_true", help="also sets that nothing was fitted to")
    parser.add_argument("--questions", type=int, default=60, help="of each pair and unit")
    parser.add_argument("--reranked", type=int, default=30, help="of each pair and unit, with reranking; 0: none")
    parser.add_argument("--skip", type=int, default=0, help="questions of each pair that were looked at before")
    arguments = parser.parse_args()
    further = ("sw", "de", "zh") if arguments.others else ()
    tables = tables_of_pairs(arguments.data, arguments.work, arguments.pairs, *further)
    methods = arguments.methods.split(",")
    asked = (
        arguments.split,
        arguments.pairs,
        arguments.units.split(","),
        methods,
        arguments.questions,
        arguments.reranked,
        arguments.skip,
    )
    with open_searcher(arguments.work, tables) as searcher:
        text = report(searcher, arguments.data, *asked)
        if arguments.others:
            text += report_others(searcher, arguments.data, methods, arguments.questions)
    (arguments.work / f"{arguments.split}.md").write_text(text, encoding="utf-8")
    print(text)  # noqa: T201


if __name__ == "__main__":
    main()
