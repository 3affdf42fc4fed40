"""Fit how hybrid search's score joins a reranker's, and write it to the reranker's configuration (of the package too).

    python -m dragoman_lab.benchmarks.reranking.quality --lists-alone --method hybrid --depth 20 --data DATA \\
        --tables runs/permissive/tables --split tune --units sentence --languages ar,de,hi,zh \\
        --output runs/mart/hybrid-tune
    python -m dragoman_lab.benchmarks.reranking.hybrid_fit --model late --lists runs/mart/hybrid-tune/lists \
        --questions 120
    python -m dragoman_lab.benchmarks.reranking.hybrid_fit --model late --lists runs/mart/hybrid-test/lists \
        --questions 868 \\
        --languages de,es,ru,zh,ar --fitted

Prints mean MAP over the lists, which are of hybrid search on tuning questions. It is that of hybrid alone, of the
reranker alone (its standalone score), and of both together (`dragoman.ranking.about.interpolate`) by weight. With it
stands p of a two-tailed paired t-test against hybrid alone. A question's mean over the lists is one observation, so all
lists have the same questions. Scale and offset then calibrate both together
(`dragoman_lab.ranking.fitting.calibration`). `--fitted` measures the weight that the configuration has, on each list,
and writes nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.backbone.checkpoints import CONFIG
from dragoman.ranking.about import HybridAbout, RerankerAbout, folder_of, interpolate, standalone
from dragoman.ranking.scoring import load_scorer
from dragoman_lab.benchmarks.reranking.mart_fit import write
from dragoman_lab.evaluation.evaluation import paired_p
from dragoman_lab.ranking.fitting import calibration
from dragoman_lab.ranking.lists import lists_in, read_lists
from dragoman_lab.ranking.measuring import WEIGHTS, ScoredList, evenly_spaced_indices, score_lists

Values = NDArray[np.float64]


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a shipped reranker, or its folder")
    parser.add_argument("--lists", type=Path, required=True, help="of tuning questions, unless --fitted")
    parser.add_argument("--fitted", action="store_true", help="measure the weight that was fitted")
    parser.add_argument("--languages", help="to and from English; default: all lists")
    parser.add_argument("--questions", type=int, default=60, help="of each list, evenly spaced")
    parser.add_argument("--depth", type=int, default=20)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    scorer, about = load_scorer(arguments.model)
    if arguments.fitted and about.hybrid is None:
        parser.error(f"--fitted: nothing was fitted for {arguments.model} after hybrid")
    languages = {"en", *arguments.languages.split(",")} if arguments.languages else None
    read = {folder.name: read_lists(folder) for folder in lists_in(arguments.lists)}
    read = {
        name: lists for name, lists in read.items() if languages is None or {lists.source, lists.target} <= languages
    }
    if not read:
        parser.error(f"--lists: no lists of these languages under {arguments.lists}")
    if other := [name for name, lists in read.items() if lists.tokenizer != scorer.encoder.tokenizer_checksum]:
        parser.error(f"--lists: {other[0]}: these lists were tokenized for an encoder with another vocabulary")
    counts = {len(evenly_spaced_indices(len(lists), arguments.questions)) for lists in read.values()}
    if len(counts) > 1:
        parser.error(f"--lists: they have {' and '.join(map(str, sorted(counts)))} questions: choose by --languages")
    use = {"depth": arguments.depth, "queries": arguments.questions}
    scored = {
        name: score_lists(scorer, lists, direction=about.direction, placebo=about.placebo, **use)
        for name, lists in read.items()
    }
    if arguments.fitted:
        print(tabulate(scored, about))  # noqa: T201
        return
    hybrid, text = fit_weight(scored, about)
    print(text)  # noqa: T201
    record = {"lists": list(read), "questions": arguments.questions, "depth": arguments.depth}
    about = replace(about, hybrid=hybrid, training=about.training | {"hybrid": record})
    write(folder_of(arguments.model) / CONFIG, about)


def fit_weight(scored: Mapping[str, Sequence[ScoredList]], about: RerankerAbout) -> tuple[HybridAbout, str]:
    """What was fitted, and a Markdown table of MAP by weight."""
    hybrid = np.mean([precisions(questions, None, about) for questions in scored.values()], 0)
    by_weight = {
        weight: np.mean([precisions(questions, weight, about) for questions in scored.values()], 0)
        for weight in WEIGHTS
    }
    best = max(by_weight, key=lambda weight: by_weight[weight].mean())
    lines = ["| weight | MAP | p |", "|---|---|---|", f"| hybrid alone | {hybrid.mean():.4f} | |"]
    for weight, averages in by_weight.items():
        lines.append(f"| {weight or 'reranker alone'} | {averages.mean():.4f} | {p_value(averages, hybrid)} |")
    chosen = HybridAbout(best, *calibrate(scored, best, about))
    return chosen, "\n".join([*lines, f"\nchosen: {chosen}"])


def calibrate(scored: Mapping[str, Sequence[ScoredList]], weight: float, about: RerankerAbout) -> tuple[float, float]:
    """Scale and offset of the sums of both scores, see `HybridAbout`."""
    questions = [question for list_questions in scored.values() for question in list_questions]
    sums = [
        interpolate(
            standalone(np.asarray(question.model), np.asarray(question.shares), about.standalone),
            np.asarray(question.first_stage),
            weight,
        )
        for question in questions
    ]
    scale, offset = calibration(
        np.concatenate(sums), [relevant for question in questions for relevant in question.relevant]
    )
    return float(f"{scale:.4g}"), round(offset, 4)


def tabulate(scored: Mapping[str, Sequence[ScoredList]], about: RerankerAbout) -> str:
    """A Markdown table of MAP by list: of hybrid, of the reranker alone, and of both by the fitted weight."""
    assert about.hybrid is not None
    lines = ["| | questions | hybrid | reranker alone | p | together | p |", "|---" * 7 + "|"]
    orders = {
        name: [precisions(questions, weight, about) for weight in (None, 0.0, about.hybrid.weight)]
        for name, questions in scored.items()
    }
    for name, (hybrid, alone, together) in [*orders.items(), ("mean", np.mean(list(orders.values()), 0))]:
        cells = [f"{alone.mean():.4f}", p_value(alone, hybrid), f"{together.mean():.4f}", p_value(together, hybrid)]
        lines.append(f"| {name} | {len(hybrid)} | {hybrid.mean():.4f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def precisions(scored: Sequence[ScoredList], weight: float | None, about: RerankerAbout) -> Values:
    """Average precision of each question: of hybrid's order, or of both by `weight`."""
    return np.array([question.average_precision(weight, about.standalone) for question in scored])


def p_value(reranked: Values, hybrid: Values) -> str:
    """`paired_p`; empty where nothing differs."""
    return "" if (reranked == hybrid).all() else f"{paired_p(reranked, hybrid):.2g}"


if __name__ == "__main__":
    main()
