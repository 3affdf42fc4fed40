"""What reranking adds to the first stage, on questions that nothing was trained or tuned on.

    python -m benchmarks.reranking --data DATA --tables runs/first_stage/tables --output runs/reranking

For each language, both directions, XQuAD-R sentences and paragraphs, for Swahili AfriQA's questions over English
passages, for Swahili and Somali FLORES sentences: MAP of psq's best hits as they are, in the order
of the model alone, and of model and first stage together with the weight that was fitted on the tuning questions; and
the same model with the table taken away. Lists that are in the output folder already are kept, and so are results, so
that an interrupted run goes on. The tables are those that `benchmarks/first_stage.py` makes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import torch
from scipy.stats import ttest_rel

from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.lists import read_lists
from dragoman.ranking.measuring import Scored, mean_average_precision, score_lists
from dragoman.ranking.scoring import Scorer
from dragoman.service.mart_sources import Judged, MartSources, prepare

TEST = r"para=^.*-a(?!0(0\d|1[01])-)"
"""XQuAD-R questions of all articles but a000 to a011, which are for tuning."""
UNITS = ("sentence", "paragraph")


def main() -> None:
    """Run what is missing and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", default="mart")
    parser.add_argument("--languages", default="de,es,ru,zh,ar,sw,so")
    parser.add_argument("--units", default=",".join(UNITS))
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--questions", type=int, help="at even distances; default: all")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model, about = load_mart(arguments.model)
    scorer = Scorer(model)
    rows = []
    for language in arguments.languages.split(","):
        for task in tasks(arguments, language):
            sources = MartSources(str(arguments.tables), languages=[language], tuning=[task])
            lists = arguments.output / "lists"
            prepare(sources, model.encoder, lists, lists, lambda: None)
            pairs = [f"en-{language}", f"{language}-en"] if task.languages else [f"{task.source}-{task.target}"]
            for pair in pairs:
                name = f"{Path(task.data).name}-{task.unit}-{pair}"
                result = arguments.output / f"{name}.json"
                if not result.exists():
                    found = measured(scorer, lists / name, arguments, about.first_stage_weight)
                    result.write_text(json.dumps({"unit": task.unit, "pair": pair} | found, indent=1) + "\n")
                rows.append(json.loads(result.read_text()))
                (arguments.output / "summary.md").write_text(summary(rows), encoding="utf-8")
    print(summary(rows))  # noqa: T201


def tasks(arguments: argparse.Namespace, language: str) -> Iterator[Judged]:
    """What a language is measured on: XQuAD-R, and Swahili and Somali on AfriQA and FLORES."""
    if language in ("sw", "so"):
        if language == "sw":
            yield Judged(str(arguments.data / "afriqa"), "passage", "sw", queries="sw.open", depth=arguments.depth)
        yield Judged(str(arguments.data / "flores200"), "sentence", languages=[language], depth=arguments.depth)
        return
    for unit in arguments.units.split(","):
        yield Judged(str(arguments.data / "xquad_r"), unit, languages=[language], only=TEST, depth=arguments.depth)


def measured(scorer: Scorer, folder: Path, arguments: argparse.Namespace, weight: float) -> dict[str, float]:
    """MAP of one task's orders, and p of a paired two-tailed t-test against the first stage."""
    lists = read_lists(folder)
    options = {"depth": arguments.depth, "queries": arguments.questions}
    scored = score_lists(scorer, lists, **options)
    placebo = score_lists(scorer, lists, placebo=True, **options)
    return {
        "questions": len(scored),
        "psq": mean_average_precision(scored, None),
        "alone": mean_average_precision(scored, 0.0),
        "mart": mean_average_precision(scored, weight),
        "without_table": mean_average_precision(placebo, weight),
        "p": p_value(scored, weight),
    }


def p_value(scored: list[Scored], weight: float) -> float:
    """Of the difference between the interpolated order and the first stage's."""
    pair = [[one.average_precision(by) for one in scored] for by in (weight, None)]
    return 1.0 if pair[0] == pair[1] else float(ttest_rel(*pair).pvalue)


def summary(rows: list[dict[str, float]]) -> str:
    """A Markdown table."""
    lines = [
        "| unit | direction | questions | psq | model alone | without table | **MART** | gain | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        values = " | ".join(f"{row[name]:.3f}" for name in ("psq", "alone", "without_table", "mart"))
        gain = row["mart"] / row["psq"] - 1
        lines.append(
            f"| {row['unit']} | {row['pair']} | {row['questions']} | {values} | {gain:+.1%} | {row['p']:.2g} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
