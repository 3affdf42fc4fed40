"""Tagging in languages that no example was in: the comparisons of Liu et al. 2020 at our size.

    python -m dragoman_lab.benchmarks.tagging.tables --data DATA --output runs/tagging --threads 2

One command trains and measures what the paper compares, on frozen states of the encoder: parts of speech, names and
slots, learned in English and tested in other languages. Its tables 1 to 3 are a task each, by encoder of words. Table 6
takes parts of OIT away (slots, as is fine-tuning). Table 7 has English sentences that nothing was tuned on, with words
in another order, none farther than k from its place. Figure 1 goes on from the English taggers with a share of the
target language's training sentences (slots). Words are normed and positions scaled for all encoders alike. A gazetteer
of the names learned stands beside the names. In French, Portuguese, Russian and Greek no names are labelled: there the
spans alone are compared with runs of proper nouns, and are not in the mean. In the languages of xSID, places and
artists are the names, and what is found in slots that may hold others does not count. The mean is over languages, each
the mean of its tests.

Prints means over the seeds, and of each seed by how much OIT is above TrsEnc (`transformer`); writes `report.json` and
`few-shot.png`. What is complete in the output is kept, so an interrupted command goes on when it is given again.
Commands with other `--tasks` may run side by side on one output; the whole command then prints all that they made.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.files.atomic import atomic_file
from dragoman_lab.benchmarks.tagging.runs import Runs
from dragoman_lab.benchmarks.tagging.scoring import PROPER, gazetteer, score_test
from dragoman_lab.benchmarks.tagging.tasks import METHODS, NOISE, SHARES, SLOTS_METHODS, TASKS, Plan, methods_of
from dragoman_lab.tagging.sentences import read_sentences

FEW, GAZETTEER = "slots", "ner"
FEW_METHODS = ("lstm", "transformer", "oit")
MEAN = "mean of targets"
Cells = dict[str, dict[str, dict[str, list[float]]]]
"""Scores of the seeds by task, method and test."""


def main() -> None:
    """Train and measure what is missing, and print the tables."""
    arguments = parse_arguments()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    console = Console()
    plan = Plan(
        arguments.data, arguments.output, arguments.encoder, arguments.layer, arguments.steps, arguments.sentences
    )
    encoder = SentenceEncoder(load_encoder(plan.encoder), plan.layer)
    runs = Runs(plan, encoder, lambda line: Console(stderr=True).print(line, markup=False, highlight=False))
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    tasks, methods = arguments.tasks.split(","), arguments.methods.split(",")
    cells: Cells = {task: {} for task in tasks}
    few: dict[str, dict[str, dict[str, list[float]]]] = {}
    for task in tasks:
        for method in [name for name in methods if name in methods_of(task)]:
            seed_scores = [runs.cells(task, method, seed) for seed in seeds]
            cells[task][method] = {test: [scores[test] for scores in seed_scores] for test in seed_scores[0]}
            write(arguments.output, cells, few)
        if task == GAZETTEER:
            cells[task]["gazetteer"] = by_gazetteer(plan)
    if FEW in tasks and not arguments.no_few:
        for language in TASKS[FEW].tests:
            for method in [name for name in FEW_METHODS if name in methods]:
                few.setdefault(language, {})[method] = {
                    str(share): [runs.few(FEW, method, seed, language, share) for seed in seeds] for share in SHARES
                }
                few[language][method]["0"] = cells[FEW][method][language]
                write(arguments.output, cells, few)
        draw(few, arguments.output / "few-shot.png")
    write(arguments.output, cells, few)
    show(cells, console)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with tagging and research_only/tagging")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--methods", default=",".join(METHODS | SLOTS_METHODS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--encoder", default="e5-small", help="a name, or a folder")
    parser.add_argument("--layer", type=int, default=8)
    parser.add_argument("--steps", type=float, default=1.0, help="factor of the steps of each training")
    parser.add_argument("--sentences", type=int, default=1_000, help="the first ones of each test; 0: all")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--no-few", action="store_true", help="leave the few-shot curve out")
    arguments = parser.parse_args()
    for name, choices in (("tasks", TASKS), ("methods", METHODS | SLOTS_METHODS)):
        if unknown := set(getattr(arguments, name).split(",")) - set(choices):
            parser.error(f"--{name}: {', '.join(sorted(unknown))} is not one of {', '.join(choices)}")
    return arguments


def by_gazetteer(plan: Plan) -> dict[str, list[float]]:
    """The score of names that are looked up among those of the training sentences."""
    task = TASKS["ner"]
    learned = read_sentences(plan.file(task.labelled), task.names)
    tests = {name: plan.test("ner", name) for name in task.tests}
    return {
        name: [score_test(name, sentences, gazetteer(learned, sentences), True)] for name, sentences in tests.items()
    }


def write(output: Path, cells: Cells, few: dict[str, Any]) -> None:
    """Write `report.json`, whole or not at all."""
    above = {task: {test: differences(methods, test) for test in tests_of(task)} for task, methods in cells.items()}
    report = {"cells": cells, "oit_above_transformer": above, "few": few}
    with atomic_file(output / "report.json") as unfinished:
        unfinished.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def show(cells: Cells, console: Console) -> None:
    """Print a table for each task: the mean and deviation over the seeds, in percent."""
    for task, methods in cells.items():
        tests = tests_of(task)
        table = Table("method", *tests, title=task)
        for method, scores in methods.items():
            table.add_row(
                method, *(format_scores(values) if (values := of_test(scores, test)) else "" for test in tests)
            )
        above = [differences(methods, test) for test in tests]
        if any(above):
            table.add_row(
                "oit - transformer",
                *(" ".join(f"{100 * difference:+.1f}" for difference in by_seed) for by_seed in above),
            )
        console.print(table)


def tests_of(task: str) -> list[str]:
    """The columns of a task's table."""
    english = ["en"] if TASKS[task].own_english else []
    return [*english, *TASKS[task].tests, *(f"en k={k}" for k in NOISE), MEAN]


def of_test(scores: dict[str, list[float]], test: str) -> list[float]:
    """The scores of a test by seed, or the mean over target languages; empty if there are none."""
    if test != MEAN:
        return scores.get(test, [])
    languages: dict[str, list[list[float]]] = {}
    for name, values in scores.items():
        if not name.startswith("en") and not name.endswith(PROPER):
            languages.setdefault(name.split(" ")[0], []).append(values)
    return list(np.mean([np.mean(language_scores, axis=0) for language_scores in languages.values()], axis=0))


def differences(methods: dict[str, dict[str, list[float]]], test: str) -> list[float]:
    """By how much OIT is above TrsEnc, by seed; empty if one of them is not there."""
    pair = [of_test(methods[name], test) for name in ("oit", "transformer") if name in methods]
    return [oit - transformer for oit, transformer in zip(*pair, strict=True)] if len(pair) == 2 else []


def format_scores(values: list[float]) -> str:
    """Mean and deviation in percent."""
    deviation = f" ±{100 * float(np.std(values, ddof=1)):.1f}" if len(values) > 1 else ""
    return f"{100 * float(np.mean(values)):.1f}{deviation}"


def draw(few: dict[str, dict[str, dict[str, list[float]]]], path: Path) -> None:
    """The few-shot curves, one plot a language."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * len(few), 3.6), layout="constrained")
    for place, (language, methods) in enumerate(few.items(), start=1):
        axes = figure.add_subplot(1, len(few), place)
        for method, shares in methods.items():
            points = sorted((float(share), 100 * float(np.mean(values))) for share, values in shares.items())
            axes.plot([100 * share for share, _ in points], [score for _, score in points], marker="o", label=method)
        axes.set(title=language, xlabel="target sentences, %", ylabel="F1")
        axes.legend()
    with atomic_file(path) as unfinished:
        figure.savefig(unfinished, format="png", dpi=120)


if __name__ == "__main__":
    main()
