"""Contribution of each part of the reranker, on the questions and saved scores of `benchmarks/reranking/quality.py`.

    python -m benchmarks.reranking.parts --kept runs/reranking --tuning runs/mart/tuning --output runs/parts

MAP of psq, MART, late interaction and standalone structured queries, combined and alone, over the directions of XQuAD-R
sentences with scores in `--kept`. p-values are of paired two-tailed t-tests; a question's mean over the directions is
one observation. The shipped weights are those of the model's configuration. For other combinations, the weights from
the grids of `dragoman.ranking.training.fitting` with the best mean MAP over the tuning lists are used: on `--questions`
of each list, or on `--mart-questions` for combinations with MART, whose scores are computed. For the test questions,
MART's scores are the saved scores without late interaction. Parts are saved in the output folder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import ttest_rel

from benchmarks.reranking.quality import scored
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.late_interaction import load_late_interaction
from dragoman.ranking.scoring import TOKENS_AT_ONCE, Scorer
from dragoman.ranking.training.fitting import (
    DEPTH,
    FIRST_STAGE,
    MATCH_WEIGHTS,
    SHARE_WEIGHTS,
    Question,
    Weights,
    best_weights,
)
from dragoman.ranking.training.lists import lists_in, read_lists
from dragoman.ranking.training.measuring import WEIGHTS, rows_of_lists

TASKS = "xquad_r-sentence-"
SHIPPED = {"with psq": "psq + all (shipped)", "alone": "all (shipped)"}
Sets = Mapping[str, list[Question]]


def main() -> None:
    """Compute missing parts, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", type=Path, required=True, help="the output of benchmarks/reranking/quality.py")
    parser.add_argument("--tuning", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", default="mart")
    parser.add_argument("--questions", type=int, default=180)
    parser.add_argument("--mart-questions", type=int, default=60)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    arguments.output.mkdir(parents=True, exist_ok=True)
    parts = Parts(arguments.model, arguments.output)
    names = [path.stem for path in sorted(arguments.kept.glob(f"{TASKS}*.json")) if "without" not in path.stem]
    tuning = lists_in(arguments.tuning)
    if not names or not tuning:
        parser.error(f"no tuning lists, or no saved scores {TASKS}*.json")
    test = {name: parts.tested(arguments.kept, name) for name in names}
    cheap, expensive = (
        {one.name: parts.tuned(one, many, by_mart) for one in tuning}
        for many, by_mart in ((arguments.questions, False), (arguments.mart_questions, True))
    )
    printed = summary(test, combinations(parts.shipped, cheap, expensive))
    (arguments.output / "summary.md").write_text(printed, encoding="utf-8")
    print(printed)  # noqa: T201


class Parts:
    """The scores of candidates by each part of a model, computed or saved."""

    def __init__(self, model: str, output: Path) -> None:
        """
        Raises:
            SystemExit: if the model does not have all parts.
        """
        mart, about = load_mart(model)
        if about.late_interaction is None or about.standalone is None:
            raise SystemExit(f"{model}: has no late interaction or no structured queries")
        unweighted = replace(about, late_interaction=replace(about.late_interaction, weight=1.0))
        self._match, self._scorer = load_late_interaction(unweighted, mart.encoder), Scorer(mart)
        self._whole = Scorer(mart, match=load_late_interaction(about, mart.encoder))
        self._about, self._output, self._added = about, output, about.late_interaction.weight
        first_stage = about.first_stage_weight / about.standalone.scale
        self.shipped = Weights(1.0, self._added, first_stage, about.standalone.weight)

    def tuned(self, path: Path, queries: int, by_mart: bool) -> list[Question]:
        """Parts of tuning questions; without `by_mart`, MART's scores are 0."""
        return self._kept(f"tuning-{path.name}{'-mart' if by_mart else ''}", path, DEPTH, queries, by_mart)

    def tested(self, folder: Path, name: str) -> list[Question]:
        """Parts of the questions with saved scores in `folder`."""
        made_by = json.loads((folder / f"{name}.json").read_text())["made_by"]
        depth, queries = made_by["depth"], made_by["queries"]
        again = argparse.Namespace(output=folder, depth=depth, questions=queries)
        whole = scored(self._whole, name, again, self._about, self._about.placebo)
        questions = self._kept(f"test-{name}", folder / "lists" / name, depth, queries, False)
        for one, question in zip(whole, questions, strict=True):
            if one.relevant != question.relevant or not np.allclose(one.shares, question.shares, atol=1e-4):
                raise SystemExit(f"{name}: {one.name}: the saved scores are of other candidates or other links")
        return [
            replace(question, model=np.asarray(one.model) - self._added * question.match)
            for one, question in zip(whole, questions, strict=True)
        ]

    def _kept(self, name: str, path: Path, depth: int, queries: int | None, by_mart: bool) -> list[Question]:
        lists, kept = read_lists(path), self._output / f"{name}.json"
        known = asdict(self._about)
        made_by = {one: known[one] for one in ("name", "direction", "placebo", "late_interaction", "training")}
        made_by |= {"lists": lists.checksum, "depth": depth, "queries": queries}
        if not kept.exists():
            use = {"direction": self._about.direction, "placebo": self._about.placebo}
            rows = list(rows_of_lists(self._scorer, lists, depth=depth, queries=queries, **use))
            made = [asdict(one) for one in self._made(rows, by_mart)]
            kept.write_text(json.dumps({"made_by": made_by, "questions": made}, default=np.ndarray.tolist))
        found = json.loads(kept.read_text())
        if found["made_by"] != made_by:
            raise SystemExit(f"{kept}: was computed with another model, questions or lists: remove it")
        numbers = [one.name for one in fields(Question) if one.name not in ("relevant", "count")]
        return [Question(**one | {part: np.asarray(one[part]) for part in numbers}) for one in found["questions"]]

    def _made(self, rows: list[Any], by_mart: bool) -> list[Question]:
        """Compute parts; late interaction encodes candidates of all questions together, as many are equal."""
        documents = [document for _, own in rows for document in own]
        with torch.inference_mode():
            matches = self._match.matches(documents, TOKENS_AT_ONCE) if self._match else np.zeros(len(documents))
        model = self._scorer.values(documents) if by_mart else np.zeros(len(documents))
        parts = zip(model, matches, self._scorer.shares(documents), strict=True)
        found = []
        for one, own in rows:
            values = np.asarray(list(islice(parts, len(own)))).reshape(-1, 3).T
            first, relevant = ([getattr(two, name) for two in one.candidates] for name in ("score", "relevant"))
            found.append(Question(np.asarray(first), *values, relevant, one.relevant))
        return found


def combinations(shipped: Weights, cheap: Sets, expensive: Sets) -> dict[str, dict[str, Weights]]:
    """Weights by combination, with psq and alone; `expensive` are tuning questions scored by MART."""

    def best(sets: Sets, mart: float, *grids: tuple[float, ...]) -> Weights:
        return best_weights(sets, [Weights(mart, *weights) for weights in product(*grids)])

    none = (0.0,)
    return {
        "with psq": {
            "psq": FIRST_STAGE,
            "psq + MART": best(expensive, 1.0, none, WEIGHTS, none),
            "psq + late interaction": best(cheap, 0.0, MATCH_WEIGHTS, WEIGHTS, none),
            "psq + structured query": best(cheap, 0.0, none, WEIGHTS, SHARE_WEIGHTS),
            "psq + late interaction + structured query": best(cheap, 0.0, MATCH_WEIGHTS, WEIGHTS, SHARE_WEIGHTS),
            "psq + MART + late interaction": best(expensive, 1.0, MATCH_WEIGHTS, WEIGHTS, none),
            "psq + MART + structured query": best(expensive, 1.0, none, WEIGHTS, SHARE_WEIGHTS),
            "psq + all, weights as of the others": best(expensive, 1.0, MATCH_WEIGHTS, WEIGHTS, SHARE_WEIGHTS),
            SHIPPED["with psq"]: shipped,
        },
        "alone": {
            "MART": Weights(mart=1.0),
            "late interaction": Weights(match=1.0),
            "structured query": Weights(share=1.0),
            "late interaction + structured query": best(cheap, 0.0, MATCH_WEIGHTS, none, SHARE_WEIGHTS),
            "all, weights as of the others": best(expensive, 1.0, MATCH_WEIGHTS, none, SHARE_WEIGHTS),
            SHIPPED["alone"]: shipped._replace(first_stage=0.0),
        },
    }


def summary(test: Sets, chosen: Mapping[str, Mapping[str, Weights]]) -> str:
    """Markdown tables of MAP over all directions, from and into English, and p-values."""
    lines = []
    ways = {"all": list(test), "from English": [name for name in test if name.startswith(f"{TASKS}en-")]}
    ways["into English"] = [name for name in test if name not in ways["from English"]]
    psq = _precision(test, FIRST_STAGE)
    for title, combined in chosen.items():
        whole = _precision(test, combined[SHIPPED[title]])
        lines += [f"\n**{title}** ({len(test)} directions, {len(psq)} questions)\n"]
        lines += [f"| | {' | '.join(ways)} | gain | p against psq | p against all | weights |", "|---" * 8 + "|"]
        for name, weights in combined.items():
            own = _precision(test, weights)
            means = [_precision({one: test[one] for one in some}, weights) for some in ways.values() if some]
            cells = [name, *(f"{one.mean():.4f}" for one in means), f"{own.mean() / psq.mean() - 1:+.1%}"]
            cells += [_p(own, psq), _p(own, whole), ", ".join(f"{one:g}" for one in weights)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "\nweights of MART, late interaction, the log of psq's share, structured queries\n"])


def _precision(test: Sets, weights: Weights) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Average precision of each question, as the mean over the directions."""
    return np.mean([[one.average_precision(weights) for one in questions] for questions in test.values()], 0)


def _p(own: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> str:
    return f"{ttest_rel(own, other).pvalue:.2g}" if (own != other).any() else ""


if __name__ == "__main__":
    main()
