"""The weight of dense search in hybrid: MAP@100 on XQuAD-R's tuning questions for a range of weights and rules.

    python -m dragoman_lab.benchmarks.search.quality --data DATA --work runs/search --output runs/search/tune \
        --systems psq
    python -m dragoman_lab.benchmarks.search.fusion --data DATA --runs runs/search/tune

Takes the TREC runs of `psq` from the first command, whose scores are shares of the attainable score, encodes questions
and sentences itself, and prints the mean over the runs' directions for

- convex combinations as the service has them, by weight;
- the same with both scores scaled to their own range in each query;
- reciprocal ranks.

Below it, each language left out in turn: the weight that the directions without it choose, and what it gives in those
with it, beside their own best. Test questions are never read.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.indexes.fusion import RRF_K
from dragoman_lab.evaluation.benchmark import Benchmark, load_benchmark

WEIGHTS = (0.5, 0.55, 0.6, 0.64, 0.68, 0.71, 0.75, 0.8)
DEPTH = 100

Floats = NDArray[np.float64]
Direction = tuple[str, str]
Fuse = Callable[[Floats, Floats, float], Floats]


class Scores:
    """Of each question of a direction, the cosines, the shares and the relevance of all sentences."""

    def __init__(self, task: Benchmark, run: Path, encode: Callable[[Sequence[str], str], Floats]) -> None:
        places = {document: place for place, document in enumerate(task.documents)}
        cosines = encode(list(task.queries.values()), "query") @ encode(list(task.documents.values()), "passage").T
        shares = {query: np.zeros(len(places)) for query in task.queries}
        for line in run.read_text(encoding="utf-8").splitlines():
            query, _, document, _, score, _ = line.split()
            shares[query][places[document]] = float(score)
        self.rows = []
        for query, near in zip(task.queries, cosines, strict=True):
            relevant = np.zeros(len(places), bool)
            relevant[[places[document] for document in task.qrels[query]]] = True
            self.rows.append((near, shares[query], relevant))

    def mean(self, fuse: Fuse, weight: float) -> float:
        """MAP@100 of a fusion; ties in the order of the documents."""
        return float(
            np.mean([_average_precision(fuse(near, share, weight), relevant) for near, share, relevant in self.rows])
        )


def convex(floor: float) -> Fuse:
    """The service's rule, with the cosine of unrelated texts."""
    return lambda near, share, weight: weight * np.maximum(0, (near - floor) / (1 - floor)) + (1 - weight) * share


def by_range(near: Floats, share: Floats, weight: float) -> Floats:
    """Both scaled to their own range in the query; cosines to that of the first 100."""
    low = np.sort(near)[-min(DEPTH, len(near))]
    return weight * (near - low) / max(near.max() - low, 1e-9) + (1 - weight) * share / max(share.max(), 1e-9)


def reciprocal(near: Floats, share: Floats, weight: float) -> Floats:
    """Weighted reciprocal ranks; a sentence without a share has none."""

    def ranks(scores: Floats) -> Floats:
        return np.argsort(np.argsort(-scores, kind="stable"), kind="stable") + 1.0

    words = np.where(share > 0, 1 / (RRF_K + ranks(share)), 0)
    fused: Floats = weight / (RRF_K + ranks(near)) + (1 - weight) * words
    return fused


def _average_precision(scores: Floats, relevant: NDArray[np.bool_]) -> float:
    hits = relevant[np.argsort(-scores, kind="stable")[:DEPTH]]
    places = np.nonzero(hits)[0] + 1
    return float((np.arange(1, len(places) + 1) / places).sum() / relevant.sum())


def leave_one_language_out(table: dict[Direction, dict[float, float]]) -> list[str]:
    """For each language beside English, the weight chosen without its directions."""
    lines = []
    for language in sorted({language for direction in table for language in direction} - {"en"}):
        with_language = [values for direction, values in table.items() if language in direction]
        others = [values for direction, values in table.items() if language not in direction]
        if not others:
            continue
        chosen = max(WEIGHTS, key=lambda weight: _mean(others, weight))
        best = max(WEIGHTS, key=lambda weight: _mean(with_language, weight))
        lines.append(
            f"without {language}: {chosen}, MAP {_mean(with_language, chosen):.4f};"
            f" own best {best}, {_mean(with_language, best):.4f}"
        )
    return lines


def _mean(tables: Sequence[dict[float, float]], weight: float) -> float:
    return float(np.mean([values[weight] for values in tables]))


def main() -> None:
    """Print a line for each rule and weight, and the weights with a language left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True, help="output folder of benchmarks.search.quality")
    parser.add_argument("--encoder", default="e5-small")
    arguments = parser.parse_args()
    encoder = load_encoder(arguments.encoder)
    sentences = SentenceEncoder(encoder)

    @cache
    def encode(texts: tuple[str, ...], kind: str) -> Floats:
        return sentences.encode(texts, kind).astype(np.float64)

    scores: dict[Direction, Scores] = {}
    for folder in sorted(arguments.runs.glob("xquad_r-sentence-*-*")):
        source, target = folder.name.split("-")[2:]
        task = load_benchmark(arguments.data / "xquad_r", source, target, "sentence", split="tune")
        scores[source, target] = Scores(task, folder / "psq.trec", lambda texts, kind: encode(tuple(texts), kind))
    print("rule weight", *("-".join(direction) for direction in scores), "mean")  # noqa: T201
    for name, fuse in (("convex", convex(sentences.unrelated_cosine)), ("range", by_range), ("rrf", reciprocal)):
        table = {
            direction: {weight: direction_scores.mean(fuse, weight) for weight in (0.0, *WEIGHTS, 1.0)}
            for direction, direction_scores in scores.items()
        }
        for weight in (0.0, *WEIGHTS, 1.0):
            values = [by_weight[weight] for by_weight in table.values()]
            print(name, weight, *(f"{score:.4f}" for score in values), f"{np.mean(values):.4f}")  # noqa: T201
        print(*leave_one_language_out(table), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
