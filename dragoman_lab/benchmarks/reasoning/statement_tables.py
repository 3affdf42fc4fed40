"""Statements in two languages: the comparisons of "Breaking the Language Barrier" (Foroutan et al. 2023) at our size.

    python -m dragoman_lab.benchmarks.reasoning.statement_tables --data DATA --tables TABLES \
        --output runs/statements --threads 1

One command trains and measures all that its Tables 2, 3, 5, 11 and 12 compare, on theories like RuleTaker's by depth,
and on LeapOfThought. Methods: the original encoder; the CS-baseline, whose own queries learned from code-switched text;
structured dropout; and Q_cross, one of all pairs of languages (Shared) or one of each (Pair), with interference and
without. All are trained on mix(en, en-X) with the first of `--languages` as X. Settings: `en`, both in English; `X`,
both in another language; `en-X`, context in English and statement in another language; `X-en`, the reverse.

Trainings are much shorter than the paper's. A reader first learns to judge from theories in English (the warm-up).
There Q_cross takes no part, so it is the same for all methods but the CS-baseline, which has its own. Then each method
goes on from there with its own attention, once for each seed. LeapOfThought is learned from the same warm-up. No
training has seen the theories of the tests; each is the same in all languages. LeapOfThought is put into other
languages word by word by the tables of `--tables`, `en-<language>.tsv`; its test is that of rules to be known, and
those given in the context are beside it. Q_cross of Shared and those of Pair go on from a common start for the same
steps. With Pair the weights of Q_cross are changed to those of the pair that is tested; a pair without parallel text
has the shared ones.

Prints means and standard deviations over the seeds, and whether Pair is better than Shared, and that than the original.
Writes `report.json`. What is complete in the output is kept, so an interrupted command goes on when it is given again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from dragoman.files.atomic import atomic_file
from dragoman_lab.benchmarks.reasoning.statement_cells import TESTS, measure_cells, tests_of
from dragoman_lab.benchmarks.reasoning.statement_runs import METHODS, Plan, methods_of, run, settings
from dragoman_lab.benchmarks.reasoning.statement_summary import Runs, direction, show, summary


def main() -> None:
    """Train and measure what is missing, and print the tables."""
    arguments = parse_arguments()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    console = Console()
    plan = plan_of(arguments)
    options = {"theories": arguments.test_theories, "leaps": arguments.test_leaps, "languages": plan.languages}
    runs: Runs = {}
    for seed in map(int, arguments.seeds.split(",")):
        for kind in arguments.sets.split(","):
            tests = tests_of(plan, kind, arguments.test_theories, arguments.test_leaps)
            for method in methods_of(kind, arguments.methods.split(",")):
                folder = run(plan, kind, method, seed, say)
                for test, cells in measure_cells(plan, method, folder, tests, options, say).items():
                    runs.setdefault(test, {}).setdefault(method, {})[str(seed)] = cells
                write(arguments.output, plan, options, runs)
    show(runs, plan.languages, console)


def parse_arguments() -> argparse.Namespace:
    """The command line; each number of `Plan` is an option."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with parallel and leapofthought")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--tables", type=Path, default=Path("tables"), help="folder of en-<language>.tsv")
    parser.add_argument("--languages", default="fr,de,zh,ar", help="those of the tests; the first is also trained on")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--sets", default=",".join(TESTS))
    parser.add_argument("--test-theories", type=int, default=40)
    parser.add_argument("--test-leaps", type=int, default=200, help="statements of each kind")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--encoder", default="e5-small", help="a name, or a folder")
    parser.add_argument("--no-follow", action="store_true", help="Q_cross does not get what the warm-up added to Q")
    for field in numbers():
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    arguments = parser.parse_args()
    for name, choices in (("methods", METHODS), ("sets", TESTS)):
        if unknown := set(getattr(arguments, name).split(",")) - set(choices):
            parser.error(f"--{name}: {', '.join(sorted(unknown))} is not one of {', '.join(choices)}")
    return arguments


def numbers() -> list[Any]:
    """The fields of `Plan` that are numbers with a default."""
    return [field for field in fields(Plan) if field.default is not MISSING and type(field.default) in (int, float)]


def plan_of(arguments: argparse.Namespace) -> Plan:
    settings = {field.name: getattr(arguments, field.name) for field in numbers()}
    paths = {"data_folder": arguments.data, "output": arguments.output, "tables": arguments.tables}
    languages = arguments.languages.split(",")
    return Plan(**paths, languages=languages, encoder=arguments.encoder, follow=not arguments.no_follow, **settings)


def say(line: str) -> None:
    Console(stderr=True).print(line, markup=False, highlight=False)


def write(output: Path, plan: Plan, options: dict[str, Any], runs: Runs) -> None:
    """Write `report.json`, whole or not at all."""
    report = {
        "settings": settings(plan) | {"test": options},
        "runs": runs,
        "summary": {test: summary(methods, plan.languages) for test, methods in runs.items()},
        "direction": {test: direction(methods, plan.languages) for test, methods in runs.items()},
    }
    with atomic_file(output / "report.json") as unfinished:
        unfinished.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
