"""Weights of the first stage and of late interaction beside a trained MART, fitted on tuning lists and written to it.

    python -m benchmarks.mart_fit --model runs/mart/small/model --tuning runs/mart/tuning

Prints MAP on every tuning list of psq, psq with late interaction, psq with MART and all three, each at its best
weights, and writes into the model's config.json the weights of the three; an offset by which scores are
probabilities (least binary cross-entropy, relevant and other candidates weighing the same); and, as `not_for`, the
language pairs in which the three together have not more than psq.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from dragoman.backbone.checkpoints import CONFIG
from dragoman.backbone.weights import shipped_names
from dragoman.ranking.about import LateInteractionAbout, MartAbout, interpolated
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.lists import Lists, lists_in, read_lists
from dragoman.ranking.matching import LateInteraction, load_late_interaction
from dragoman.ranking.measuring import WEIGHTS, average_precision, rows_of_lists
from dragoman.ranking.scoring import Scorer

MATCH_WEIGHTS = (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0)
Values = NDArray[np.float64]
Weights = tuple[float, float, float]
"""Of MART, late interaction and the log of psq's share."""
PSQ = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Question:
    """What each part says of the candidates of one question, and which are relevant."""

    first_stage: Values
    model: Values
    match: Values
    relevant: list[bool]
    count: int

    def average_precision(self, mart: float, match: float, first_stage: float) -> float:
        scores = interpolated(mart * self.model + match * self.match, self.first_stage, first_stage)
        return average_precision(scores, self.relevant, self.count)


Sets = dict[str, list[Question]]


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tuning", type=Path, required=True)
    parser.add_argument("--encoder", default="small")
    parser.add_argument("--layer", type=int, default=2)
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--questions", type=int, default=60, help="of each list, at even distances")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    path = arguments.model / CONFIG
    if not path.is_file():
        parser.error(f"--model: {path} is not there")
    if not (folders := lists_in(arguments.tuning)):
        parser.error(f"--tuning: no lists under {arguments.tuning}")
    place = arguments.encoder if arguments.encoder in shipped_names() else str(Path(arguments.encoder).resolve())
    model, about = load_mart(str(arguments.model))
    about = replace(about, late_interaction=LateInteractionAbout(place, arguments.layer, 1.0, 0.0))
    match = load_late_interaction(about, model.encoder)
    assert match is not None
    scorer, sets = Scorer(model), {}
    for folder in folders:
        lists = read_lists(folder)
        if lists.tokenizer != model.encoder.tokenizer_checksum:
            parser.error(f"--tuning: {folder}: these lists were read for an encoder with another vocabulary")
        sets[str(folder.relative_to(arguments.tuning))] = list(questions(scorer, match, lists, about, arguments))
    chosen = {
        "psq": PSQ,
        "with late interaction": best(sets, [(0.0, a, b) for a, b in product(MATCH_WEIGHTS, WEIGHTS)]),
        "with MART": best(sets, [(1.0, 0.0, b) for b in WEIGHTS]),
        "all": best(sets, [(1.0, a, b) for a, b in product(MATCH_WEIGHTS, WEIGHTS)]),
    }
    print(summary(sets, chosen))  # noqa: T201
    config = json.loads(path.read_text(encoding="utf-8")) | fitted(sets, chosen["all"], match.about)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def fitted(sets: Sets, weights: Weights, match: LateInteractionAbout) -> dict[str, Any]:
    """What a model's config.json says of its use, by the weights that were found."""
    _, weight, first_stage_weight = weights
    pairs = {"-".join(name.split("-")[-2:]) for name in sets}
    gains = {name: mean(found, weights) - mean(found, PSQ) for name, found in sets.items()}
    return {
        "first_stage_weight": first_stage_weight,
        "late_interaction": asdict(replace(match, weight=weight, offset=offset(sets, weight))) if weight else None,
        "not_for": sorted(
            pair for pair in pairs if sum(gain for name, gain in gains.items() if name.endswith(pair)) <= 0
        ),
    }


def questions(
    scorer: Scorer, match: LateInteraction, lists: Lists, about: MartAbout, arguments: argparse.Namespace
) -> Iterator[Question]:
    """The questions of a tuning list with what each part says of their best candidates."""
    options: dict[str, Any] = {"direction": about.direction, "placebo": about.placebo}
    rows = rows_of_lists(scorer, lists, depth=arguments.depth, queries=arguments.questions, **options)
    for one, documents in rows:
        with torch.inference_mode():
            met = match.matches(documents, 1024)
        yield Question(
            np.asarray([candidate.score for candidate in one.candidates]),
            np.asarray(scorer.values(documents)),
            met,
            [candidate.relevant for candidate in one.candidates],
            one.relevant,
        )


def mean(found: list[Question], weights: Weights) -> float:
    """MAP by such weights."""
    return float(np.mean([one.average_precision(*weights) for one in found]))


def best(sets: Sets, weights: list[Weights]) -> Weights:
    """The weights with the best mean of the sets' MAP."""
    return max(weights, key=lambda given: np.mean([mean(found, given) for found in sets.values()]))


def offset(sets: Sets, weight: float) -> float:
    """The match at which late interaction adds nothing, so that scores' sigmoids are nearest to what is relevant."""
    found = [one for questions in sets.values() for one in questions]
    scores = np.concatenate([one.model + weight * one.match for one in found])
    relevant = np.concatenate([one.relevant for one in found]).astype(bool)

    def loss(at: float) -> float:
        shifted = scores - weight * at
        return float(np.logaddexp(0, -shifted[relevant]).mean() + np.logaddexp(0, shifted[~relevant]).mean())

    return round(float(minimize_scalar(loss, bounds=(-1, 1), method="bounded").x), 4) if weight else 0.0


def summary(sets: Sets, chosen: dict[str, Weights]) -> str:
    """A Markdown table of MAP."""
    lines = [f"| | {' | '.join(chosen)} |", "|---" * (len(chosen) + 1) + "|"]
    table = {name: [mean(found, weights) for weights in chosen.values()] for name, found in sets.items()}
    table["mean"] = np.mean(list(table.values()), axis=0).tolist()
    lines += [f"| {name} | {' | '.join(f'{value:.3f}' for value in row)} |" for name, row in table.items()]
    return "\n".join([*lines, f"\nweights of MART, late interaction, psq: {chosen}"])


if __name__ == "__main__":
    main()
