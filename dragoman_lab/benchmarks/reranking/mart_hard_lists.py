"""Copies of lists with the scores of `late` in place of the first stage's, and its best candidates alone.

    python -m dragoman_lab.benchmarks.reranking.mart_hard_lists --lists runs/mart/e5-lists --output runs/mart/hard-lists
    python -m dragoman_lab.benchmarks.reranking.mart_hard_lists --lists runs/mart/e5-tuning \
        --output runs/mart/hard-tuning \\
        --queries 24 --candidates 20

A MART trained on them with `first_stage` learns what late interaction and sentence vectors lack. A score is
exp(20 x (late's score - the best score of the list)), without late's structured queries, so its logarithm, which
training and searches add to MART's score, differs by late's differences. Relevant candidates stay, whatever late says
of them. `--queries` lists of each set, at even distances, are taken; existing copies are kept.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from dragoman.ranking.about import LATE
from dragoman.ranking.scoring import AnyScorer, load_scorer
from dragoman_lab.ranking.lists import CandidateList, Lists, lists_in, read_lists, rescore
from dragoman_lab.ranking.measuring import rows_of_lists, score_lists

SHARPNESS = 20.0
"""Late's scores differ by some hundredths; MART's weight of a first stage is some units of its logarithm."""


def main() -> None:
    """Write the missing copies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--candidates", type=int, default=9)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    scorer, _ = load_scorer(LATE)
    for folder in lists_in(arguments.lists):
        output = arguments.output / folder.relative_to(arguments.lists)
        if not output.exists():
            rescore(folder, hardest(scorer, read_lists(folder), arguments.queries, arguments.candidates), output)


def hardest(scorer: AnyScorer, lists: Lists, queries: int, candidates: int) -> list[CandidateList]:
    """`queries` lists, with late's scores of the relevant candidates and of its best others, best first."""
    use = {"depth": 1000, "queries": queries}
    whole = [candidate_list for candidate_list, _ in rows_of_lists(scorer, lists, **use)]
    scored = [np.array(scored_list.model) for scored_list in score_lists(scorer, lists, **use)]
    selected = []
    for candidate_list, values in zip(whole, scored, strict=True):
        shares = np.exp(SHARPNESS * (values - values.max()))
        best = sorted(
            (
                replace(candidate, score=float(share))
                for candidate, share in zip(candidate_list.candidates, shares, strict=True)
            ),
            key=lambda candidate: (candidate.relevant, candidate.score),
            reverse=True,
        )[: max(candidates, candidate_list.relevant)]
        selected.append(replace(candidate_list, candidates=sorted(best, key=lambda candidate: -candidate.score)))
    return selected


if __name__ == "__main__":
    main()
