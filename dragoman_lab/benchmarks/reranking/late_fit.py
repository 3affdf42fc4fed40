"""Fit the weights of the reranker `late` on XQuAD-R's tuning questions, and write them to its configuration.

    python -m dragoman_lab.benchmarks.reranking.late_fit --data DATA --work WORK
    python -m dragoman_lab.benchmarks.reranking.late_fit --data DATA --work WORK --compare mart

Makes the lists of candidates that WORK has not, the best 50 sentences of `psq` for each question, in both directions
between English and each language; `WORK/tables` has the tables of `benchmarks/retrieval/first_stage.py`. Prints MAP on
every list: of `psq`, of its combination with each part (match and cosine, structured queries), of all, as in searches,
of each part alone, and of all parts without `psq` (standalone), as in the rerank endpoints. `--compare` adds the
standalone and the combined order of another reranker, on the same questions; nothing is written then.

The weight of the cosine is the one whose fit, as in `dragoman_lab.ranking.fitting`, has the best mean of both
orders; the match has weight 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from dragoman.backbone.checkpoints import CONFIG
from dragoman.ranking.about import LATE, Floats, RerankerAbout, folder_of
from dragoman.ranking.late import LateScorer
from dragoman.ranking.scoring import AnyScorer, load_scorer
from dragoman_lab.benchmarks.reranking.mart_fit import summary, write
from dragoman_lab.benchmarks.reranking.quality import ONLY
from dragoman_lab.evaluation.candidate_sources import JudgedSource, MartSources, prepare
from dragoman_lab.ranking.fitting import Fit, Question, Weights, fit_questions
from dragoman_lab.ranking.lists import read_lists
from dragoman_lab.ranking.measuring import rows_of_lists, score_lists

DEPTH = 50
COSINE_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
SHARE_WEIGHTS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
FIRST_STAGE_WEIGHTS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2)
"""Of a match, which is at most 1 and differs by some hundredths."""


def main() -> None:
    """Make lists, fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", default=LATE, help="a shipped reranker of this kind, or its folder")
    parser.add_argument("--languages", default="de,es,ru,zh,ar")
    parser.add_argument("--questions", type=int, default=60, help="of each direction, evenly spaced")
    parser.add_argument("--compare", help="another reranker, shipped or a folder")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    scorer, about = load_scorer(arguments.model)
    if not isinstance(scorer, LateScorer) or about.late is None:
        parser.error(f"--model: {arguments.model} is of another kind")
    languages = arguments.languages.split(",")
    lists = lists_of(scorer, arguments.data, arguments.work, languages)
    if arguments.compare:
        print(compare(arguments, lists, languages))  # noqa: T201
        return
    sets = {name: parts_of(scorer, path, arguments.questions, about) for name, path in lists.items()}
    print(alone(sets))  # noqa: T201
    about, best_fit = best(about, sets)
    print(summary(best_fit))  # noqa: T201
    print(f"match with {about.late.cosine} of the cosine; {about.standalone}; first stage {about.first_stage_weight}")  # noqa: T201
    measures = {name: round(maps["mean"], 4) for name, maps in best_fit.maps().items()}
    fit = {"lists": [path.name for path in lists.values()], "questions": arguments.questions, "measures": measures}
    about = replace(about, training=fit, hybrid=None)  # it belongs to the former scores
    write(folder_of(arguments.model) / CONFIG, about)


def lists_of(scorer: AnyScorer, data_folder: Path, work: Path, languages: Sequence[str]) -> dict[str, Path]:
    """The folders of the lists, by direction; missing ones are made."""
    folder = work / "lists" / scorer.encoder.tokenizer_checksum[:12]
    folders = {}
    for language in languages:
        path = str(data_folder / "xquad_r")
        task = JudgedSource(data=path, unit="sentence", languages=[language], only=ONLY["tune"], depth=DEPTH)
        sources = MartSources(tables=str(work / "tables"), languages=[language], tuning=[task])
        prepare(sources, scorer.encoder, folder, folder, lambda: None)
        for pair in (f"en-{language}", f"{language}-en"):
            folders[pair] = folder / f"xquad_r-sentence-{pair}"
    return folders


@dataclass(frozen=True)
class Parts:
    """One question, but for the weight of the cosine in `question.model`, which has the match alone."""

    question: Question
    cosines: Floats

    def with_cosine(self, cosine: float) -> Question:
        return replace(self.question, model=self.question.model + cosine * self.cosines)


def parts_of(scorer: LateScorer, path: Path, questions: int, about: RerankerAbout) -> list[Parts]:
    """The parts of a direction's questions, whose documents are encoded together, as many are equal."""
    use = {"direction": about.direction, "placebo": about.placebo}
    rows = list(rows_of_lists(scorer, read_lists(path), depth=DEPTH, queries=questions, **use))  # type: ignore[arg-type]
    documents = [document for _, list_documents in rows for document in list_documents]
    cosines, matched = map(iter, scorer.parts(documents))
    shares = iter(scorer.shares(documents))
    parts = []
    for candidate_list, list_documents in rows:
        first, relevant = (
            [getattr(candidate, name) for candidate in candidate_list.candidates] for name in ("score", "relevant")
        )
        model, share, cosine = (
            np.array(list(islice(values, len(list_documents)))) for values in (matched, shares, cosines)
        )
        parts.append(Parts(Question(np.asarray(first), model, share, relevant, candidate_list.relevant), cosine))
    return parts


def alone(sets: Mapping[str, Sequence[Parts]]) -> str:
    """Mean MAP of the match and of the cosine, each alone."""
    matches = {name: [part.question for part in parts] for name, parts in sets.items()}
    cosines = {name: [replace(part.question, model=part.cosines) for part in parts] for name, parts in sets.items()}
    means = [Fit(questions, {"": Weights(1.0)}).maps()[""]["mean"] for questions in (matches, cosines)]
    return "match alone {:.4f}, cosine alone {:.4f}".format(*means)


def best(about: RerankerAbout, sets: Mapping[str, Sequence[Parts]]) -> tuple[RerankerAbout, Fit]:
    """The fit of the best weight of the cosine."""
    assert about.late is not None
    fits = []
    for cosine in COSINE_WEIGHTS:
        weighted = {name: [part.with_cosine(cosine) for part in parts] for name, parts in sets.items()}
        weighted_about = replace(about, late=replace(about.late, cosine=cosine))
        fits.append(
            fit_questions(weighted_about, weighted, {name: name for name in sets}, FIRST_STAGE_WEIGHTS, SHARE_WEIGHTS)
        )
        maps = fits[-1][1].maps()
        means = ", ".join(f"{name} {list_maps['mean']:.4f}" for name, list_maps in maps.items())
        print(f"cosine {cosine}: {means}")  # noqa: T201
    return max(fits, key=lambda fit: sum(fit[1].maps()[name]["mean"] for name in ("all", "standalone")))


def compare(arguments: argparse.Namespace, lists: Mapping[str, Path], languages: Sequence[str]) -> str:
    """A Markdown table of MAP of another reranker, whose tokenizer may need lists of its own."""
    scorer, about = load_scorer(arguments.compare)
    lists = lists_of(scorer, arguments.data, arguments.work, languages)
    use = {"direction": about.direction, "placebo": about.placebo}
    rows = []
    for name, path in lists.items():
        scored = score_lists(scorer, read_lists(path), depth=DEPTH, queries=arguments.questions, **use)  # type: ignore[arg-type]
        orders = [
            [question.average_precision(weight, about.standalone) for question in scored]
            for weight in (None, 0.0, about.first_stage_weight)
        ]
        rows.append((name, [float(np.mean(order)) for order in orders]))
    rows.append(("mean", np.mean([means for _, means in rows], 0).tolist()))
    lines = ["| | psq | standalone | together |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} |" for name, means in rows)])


if __name__ == "__main__":
    main()
