"""Fits the relevance of hits to XQuAD-R's tuning questions.

    python -m dragoman_lab.benchmarks.search.relevance_fit --data DATA --work runs/relevance

Asks tuning questions over sentences and paragraphs in eleven languages: within each, and from and to English of five.
Each pair of languages is asked other questions. Also asked are the answers of the
questions, as queries of few words, and random letters. For each set of signals that a hit may have logistic regressions
are fitted: that the hit is relevant; that anything is, of the best hits with the relevant paragraphs and without them;
and that a query is none of random letters. They are written to ``dragoman/engine/search/relevance/fitted.json`` with
the thresholds; sets of signals that few hits have keep what was fitted before. Test questions are not read. Signals of
hits that were asked for earlier are read from the work folder.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.search.relevance.judging import FITTED, Fitted, probabilities
from dragoman.engine.search.relevance.signals import SIGNALS
from dragoman.engine.search.request import Method
from dragoman_lab.benchmarks.retrieval.first_stage import make_tables
from dragoman_lab.benchmarks.search.relevance_judged import (
    RERANKED,
    Asked,
    Removal,
    Searcher,
    open_searcher,
    ways_of,
    with_english,
)
from dragoman_lab.benchmarks.search.relevance_tasks import Pair, all_pairs, nonsense_task, short_task, xquad_tasks
from dragoman_lab.evaluation.serving import TableFile

Floats = NDArray[np.float64]
UNITS = ("sentence", "paragraph")
WORDS = ("clear", "share", "words", "long")
VECTORS = ("clear", "near", "long")
BOTH = ("lead", "root", *WORDS, "near")
RERANKED_WORDS = ("lead", *WORDS, "score")
KINDS = {
    "psq": ("root", *WORDS, "unmatched"),
    "smt": ("root", *WORDS, "unmatched"),
    "none": ("lead", "root", *WORDS, "unmatched"),
    "dense": ("root", *VECTORS),
    "hybrid": BOTH,
    "hybrid late": (*BOTH, "late", "rare"),
    "psq rerank": RERANKED_WORDS,
    "smt rerank": RERANKED_WORDS,
    "none rerank": RERANKED_WORDS,
    "dense rerank": ("lead", *VECTORS, "score"),
    "hybrid rerank": (*RERANKED_WORDS, "near"),
    "hybrid late rerank": (*RERANKED_WORDS, "near", "late"),
}
"""The signals of each kind of hit: the lead, its root or both, as held best on articles that were left out."""
LIKE = {
    "smt rerank": "psq rerank",
    "none rerank": "psq rerank",
    "dense rerank": "hybrid late rerank",
    "hybrid rerank": "hybrid late rerank",
}
"""Kinds that are fitted to the hits of others, of which they have the signals."""
GOOD_OF_REMOVED = 0.09
"""The share of questions without relevant documents that may be called good, of each kind: a tenth, and a little less,
as test questions are others."""
REMOVED: Removal = "paragraph"
"""What questions without relevant documents lack."""
LEAST_ANSWERS = 100
"""A kind with fewer answers keeps what was fitted before."""
NONE_OF_ANSWERED = 0.05
"""The share of questions and of short queries with relevant documents that may be called none, of each kind."""
LEAST_NONSENSE = 15
"""Fewer answers to random letters tell nothing of a kind by words; it is like psq then."""
MOST_NONSENSE = 0.99
"""The share of answers to random letters that shall be none."""
LEAST = 1e-4
WEAK = 0.2
_RIDGE = 1e-3
_STEPS = 100


class Examples(NamedTuple):
    """Hits of one kind, with what they count."""

    signals: Floats
    outcomes: Floats
    weights: Floats


def fit_logistic(examples: Examples, names: Sequence[str]) -> dict[str, float]:
    """The coefficients of a logistic regression on some signals by their names, by Newton's method.

    Signals are standardised for a slight ridge, which keeps the coefficients of those that say the same small.
    """
    columns = examples.signals[:, [SIGNALS.index(name) for name in names]]
    mean, scale = columns.mean(0), columns.std(0) + 1e-9
    design = np.column_stack([np.ones(len(columns)), (columns - mean) / scale])
    ridge = _RIDGE * np.append(0.0, np.ones(len(names)))
    weights = examples.weights / examples.weights.sum()
    coefficients = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-design @ coefficients))
        gradient = design.T @ (weights * (predicted - examples.outcomes)) + ridge * coefficients
        curvature = (design * (weights * predicted * (1 - predicted))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(curvature)), gradient)
        coefficients -= step
        if np.abs(step).max() < 1e-9:
            break
    of_columns = coefficients[1:] / scale
    rounded = [float(f"{coefficient:.6g}") for coefficient in (coefficients[0] - of_columns @ mean, *of_columns)]
    return dict(zip(("intercept", *names), rounded, strict=True))


def hits_of(kind: str, asked: Iterable[Asked], *, first: bool) -> Examples:
    """The hits of a kind: those that are the first of their collection and language, or the others."""
    signals, outcomes = [], []
    for question in asked:
        for place, of_hit in enumerate(question.hits.kinds):
            if of_hit == kind and (question.hits.signals[place, 0] > 0) == first and "nonsense" not in question.task:
                signals.append(question.hits.signals[place])
                outcomes.append(question.hits.relevant[place])
    return Examples(np.array(signals), np.array(outcomes), np.ones(len(outcomes)))


def level_of(kind: str, asked: Sequence[Asked]) -> float:
    """What the ten best others score on average, beside the best hits of a kind."""
    firsts = [question.hits.signals[0] for question in asked if question.hits.kinds[:1] == [kind]]
    score, clear = SIGNALS.index("score"), SIGNALS.index("clear")
    return round(float(np.mean([signals[score] - signals[clear] for signals in firsts])), 4)


class Best(NamedTuple):
    """The best hit of an answer."""

    kind: str
    signals: Floats
    answered: float
    """1 where a relevant document is among the hits."""
    present: bool
    """Whether the collection has one."""
    about: float
    """0 for random letters."""
    is_short: bool
    """Whether the query has few words."""


def best_hits(asked: Iterable[Asked], relevance: Mapping[str, Mapping[str, dict[str, float]]]) -> list[Best]:
    """The best hits of all questions, with and without their relevant documents; those of random letters once."""
    model = Fitted(relevance, {}, {}, {}, 0.0, {}, {})
    best_of_all = []
    for question in asked:
        about = float("nonsense" not in question.task)
        for hits in (question.hits, question.removed[REMOVED])[: 2 if about else 1]:
            if hits.kinds:
                best = int(np.argmax(model.relevances(hits.kinds, hits.signals)))
                answered, present = float(hits.relevant.max()), hits is question.hits
                best_of_all.append(
                    Best(hits.kinds[best], hits.signals[best], answered, present, about, "short" in question.task)
                )
    return best_of_all


def fit_answers(answers: Sequence[Best], names: Sequence[str], *, about: bool) -> dict[str, float]:
    """That something is relevant; or, with ``about``, that a query is none of random letters.

    Then random letters count as much as all others, and of these queries of few words as much as questions: by meaning
    a single name is almost as far from everything as random letters.
    """
    outcomes = np.array([answer.about if about else answer.answered for answer in answers])
    weights = np.ones(len(answers))
    if about:
        groups = [(answer.about, answer.is_short) for answer in answers]
        sizes = Counter(groups)
        weights = np.array([(1 if about_it else 2) / sizes[about_it, short] for about_it, short in groups])
    return fit_logistic(Examples(np.array([answer.signals for answer in answers]), outcomes, weights), names)


def probability(coefficients: Mapping[str, float], answer: Best) -> float:
    """What a regression makes of the best hit of an answer."""
    return probabilities(coefficients, answer.signals[None]).item()


def fit(asked: Sequence[Asked], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """The coefficients of all kinds, and the thresholds; the ``earlier`` ones of kinds that few answers are of."""
    names = ("relevance", "answered", "about", "good", "none", "levels")
    fitted: dict[str, dict[str, Any]] = {name: dict(earlier[name]) for name in names}
    counts = Counter(question.hits.kinds[0] for question in asked if question.hits.kinds)
    kinds = [kind for kind in KINDS if counts[LIKE.get(kind, kind)] >= LEAST_ANSWERS]
    for kind in kinds:
        fitted["levels"][kind] = level_of(LIKE.get(kind, kind), asked)
        fitted["relevance"][kind] = {
            place: fit_logistic(hits_of(LIKE.get(kind, kind), asked, first=place == "first"), KINDS[kind])
            for place in ("first", "others")
        }
    answers = best_hits(asked, fitted["relevance"])
    for kind in kinds:
        of_kind = [answer for answer in answers if answer.kind == LIKE.get(kind, kind)]
        answered = fit_answers([answer for answer in of_kind if answer.about], KINDS[kind], about=False)
        about = fit_answers(of_kind, about_names(kind), about=True)
        if kind in ("smt", "none") and sum(not answer.about for answer in of_kind) < LEAST_NONSENSE:
            about = fitted["about"]["psq"]
        removed = [probability(answered, answer) for answer in of_kind if answer.about and not answer.present]
        fitted["answered"][kind], fitted["about"][kind] = answered, about
        fitted["good"][kind] = round(float(np.quantile(removed, 1 - GOOD_OF_REMOVED)), 4)
        fitted["none"][kind] = threshold_of_none(about, of_kind)
    return {**fitted, "weak": WEAK}


def threshold_of_none(about: Mapping[str, float], answers: Sequence[Best]) -> float:
    """Below which probability nothing was found: half-way, in log odds, from random letters to queries with an answer.

    Where these overlap it is what leaves all but few of the latter, of questions and of short queries alike.
    """
    of_answered: dict[bool, list[float]] = {}
    for answer in answers:
        if answer.answered:
            of_answered.setdefault(answer.is_short, []).append(probability(about, answer))
    least = min(float(np.quantile(some, NONE_OF_ANSWERED)) for some in of_answered.values())
    random = [probability(about, answer) for answer in answers if not answer.about]
    if random and (most := float(np.quantile(random, MOST_NONSENSE))) < least:
        odds = math.sqrt(least / (1 - least) * most / (1 - most))
        least = odds / (1 + odds)
    return max(LEAST, round(least, 4))


def about_names(kind: str) -> tuple[str, ...]:
    """The signals by which random letters are told."""
    names = KINDS[kind]
    further = (*(["unmatched"] if "share" in names else []), *(["odd"] if "near" in names else []))
    return tuple(dict.fromkeys((*names, *further)))


def ask_all(
    searcher: Searcher,
    data: Path,
    pairs: Sequence[Pair],
    units: Sequence[str],
    methods: Sequence[str],
    questions: int,
    reranked: int,
) -> list[Asked]:
    """All examples: questions, answers as queries, and random letters; the latter only of pairs with English."""
    asked: list[Asked] = []
    for unit in units:
        for task in xquad_tasks(data, "tune", unit, pairs):
            for way in ways_of(task, methods):
                asked += searcher.ask(task, way, questions)
                if way.method != "none":
                    asked += searcher.ask(short_task(data, task), way, questions // 4)
                if with_english(task):
                    asked += searcher.ask(nonsense_task(task), way, questions // 4)
            if task.is_reranked and reranked:
                for way in RERANKED:
                    asked += searcher.ask(task, way, reranked)
                    asked += searcher.ask(nonsense_task(task), way, reranked // 3)
    return asked


def read_pairs(text: str) -> list[Pair]:
    """Pairs of languages as they are given: en-de,de-en."""
    return [(source, target) for source, _, target in (pair.partition("-") for pair in text.split(","))]


def tables_of_pairs(data: Path, work: Path, pairs: Sequence[Pair], *further: str) -> list[TableFile]:
    """Tables of English and each language that is translated, trained on parallel text with permissive licences."""
    translated = {language for source, target in pairs if source != target for language in (source, target)}
    languages = sorted({*translated, *further} - {"en"})
    return [make_tables(data, language, work / "tables", permissive=True)[0] for language in languages]


def main() -> None:
    """Ask, fit and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps tables, collections and signals")
    parser.add_argument("--pairs", type=read_pairs, default=all_pairs(), help="such as en-de,de-en; default: all")
    parser.add_argument("--units", default=",".join(UNITS))
    parser.add_argument("--methods", default=",".join(get_args(Method)), help="others keep what was fitted")
    parser.add_argument("--questions", type=int, default=60, help="of each pair and unit")
    parser.add_argument("--reranked", type=int, default=20, help="of a few pairs, with reranking; 0: none")
    arguments = parser.parse_args()
    chosen = arguments.units.split(","), arguments.methods.split(",")
    tables = tables_of_pairs(arguments.data, arguments.work, arguments.pairs)
    with open_searcher(arguments.work, tables) as searcher:
        counts = arguments.questions, arguments.reranked
        asked = ask_all(searcher, arguments.data, arguments.pairs, *chosen, *counts)
    earlier = json.loads(FITTED.read_text(encoding="utf-8"))
    content = {"command": "python -m dragoman_lab.benchmarks.search.relevance_fit", **fit(asked, earlier)}
    FITTED.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
