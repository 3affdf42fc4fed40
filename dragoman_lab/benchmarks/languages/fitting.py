"""Fit the weights by which `dragoman.engine.query.language` adds up what speaks for a language.

    python -m dragoman_lab.benchmarks.languages.fitting --data DATA

A conditional logit over the candidates of queries for tuning (`short_queries`), once where the model of words knows all
languages, and once with some that it does not. Prints the weights of each, and how many of the queries are right by
them; half of the queries are held out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dragoman.engine.query.language import Evidence, evidence
from dragoman_lab.benchmarks.languages.short_queries import LANGUAGES, Query, draw_queries

MIXED = ("cs", "da", "de", "en", "es", "fi", "fr", "id", "it", "kk", "nl", "pt", "ru", "sr", "sw", "tr", "vi")
COLUMNS = ("letters", "words", "common", "letters alone", "unseen")
_PENALTY = 1e-3
_IMPOSSIBLE = -60.0


def row(clues: Evidence | None) -> list[float]:
    """The features of a candidate, and whether it is possible at all."""
    if clues is None:
        return [0.0] * len(COLUMNS) + [_IMPOSSIBLE]
    if clues.words is None:
        return [0.0, 0.0, clues.common, clues.letters, 1.0, 0.0]
    return [clues.letters, clues.words, clues.common, 0.0, 0.0, 0.0]


def fit(queries: Sequence[Query], languages: Sequence[str]) -> tuple[NDArray[np.float64], float, float]:
    """The weights, and the shares of the queries that are right by them: of those fitted, and of those held out."""
    candidates = sorted({"en", *languages})
    clues_by_query = [evidence(query.text, candidates, lambda language, word: False) for query in queries]
    features = np.array([[row(clues.get(language)) for language in candidates] for clues in clues_by_query])
    right = np.array([candidates.index(query.language) for query in queries])
    fitted = np.arange(len(queries)) % 2 == 0

    def scores(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        summed: NDArray[np.float64] = features[:, :, :-1] @ weights + features[:, :, -1]
        return summed

    def loss(weights: NDArray[np.float64]) -> float:
        odds = scores(weights)[fitted]
        likely = odds - np.logaddexp.reduce(odds, axis=1, keepdims=True)
        chosen = likely[np.arange(len(likely)), right[fitted]]
        return float(-chosen.mean() + _PENALTY * (weights**2).sum())

    weights: NDArray[np.float64] = minimize(loss, np.ones(len(COLUMNS))).x
    correct = scores(weights).argmax(axis=1) == right
    return weights, float(correct[fitted].mean()), float(correct[~fitted].mean())


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=3_000, help="how many queries of each set; default: 3,000")
    arguments = parser.parse_args()
    for languages in (LANGUAGES, MIXED):
        queries = draw_queries(arguments.data, "tune", arguments.size, languages)
        weights, fitted, held_out = fit(queries, languages)
        shown = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(COLUMNS, weights, strict=True))
        print(f"{len(languages)} languages: {shown}; right {fitted:.3f}, held out {held_out:.3f}")  # noqa: T201


if __name__ == "__main__":
    main()
