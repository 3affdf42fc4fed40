"""Tables 2/4, 6, 8 and 11 of LayAlign (Ruan et al. 2025) with the pair of models that is shipped.

    python -m dragoman_lab.benchmarks.layalign.tables --data DATA --output runs/layalign/tables --split test

Accuracy on word problems: of held-out templates in nine languages, of the held-out fifth of MAWPS, and on what of
MGSM the LLM alone solves in English. Beside the methods stand the LLM alone and translation into English by LayAlign's
first stage before it. All methods are trained on the same examples for the same steps. The output is resumable;
`--bridge` measures bridges that were trained elsewhere, `--systems` only some systems.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dragoman.backbone.pretrained.llm import load_llm
from dragoman.reasoning.layalign.reasoner import Reasoner
from dragoman_lab.benchmarks.layalign import measuring
from dragoman_lab.benchmarks.layalign.measuring import LOW, Questions, Sets, System
from dragoman_lab.benchmarks.layalign.runs import METHODS, Plan, first_stage, train_method
from dragoman_lab.reasoning.problems import held_out_templates

BASE, TRANSLATE = "base", "translate"
TITLES = {BASE: "the LLM alone", TRANSLATE: "translation, then the LLM"} | {
    name: method.title for name, method in METHODS.items()
}
UNLIKE = "mawps, unlike all to learn from"
_console = Console(soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--split", choices=["tune", "test"], required=True)
    parser.add_argument("--systems", default=",".join(TITLES), help="separated by commas")
    parser.add_argument("--bridge", action="append", default=[], metavar="NAME=FOLDER", help="another bridge")
    parser.add_argument("--seeds", default="1", help="of the trainings, separated by commas")
    parser.add_argument("--count", type=int, default=100, help="of a set in a language")
    parser.add_argument("--english", action="store_true", help="measure problems in English alone")
    parser.add_argument("--limit", type=int, default=120, help="tokens of an answer")
    parser.add_argument("--languages", default=",".join(Plan.languages), help="of the first stage")
    parser.add_argument("--threads", type=int, default=2)
    _add_plan(parser)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    names = [name for name in options.systems.split(",") if name]
    if unknown := sorted(set(names) - set(TITLES)):
        parser.error(f"--systems: {', '.join(unknown)}; known are {', '.join(TITLES)}")
    chosen = {name[5:]: setting for name, setting in vars(options).items() if name.startswith("plan_")}
    languages = tuple(options.languages.split(","))
    Benchmark(options, Plan(options.data, options.output, languages=languages, **chosen)).run(
        names, dict(argument.split("=", 1) for argument in options.bridge)
    )


def _add_plan(parser: argparse.ArgumentParser) -> None:
    """The options of `Plan`."""
    parser.add_argument("--encoder", dest="plan_encoder", type=str, default=Plan.encoder)
    parser.add_argument("--llm", dest="plan_llm", type=str, default=Plan.llm)
    parser.add_argument("--pairs", dest="plan_pairs", type=int, default=Plan.pairs)
    parser.add_argument("--problems", dest="plan_problems", type=int, default=Plan.problems)
    parser.add_argument("--word-steps", dest="plan_word_steps", type=int, default=Plan.word_steps)
    parser.add_argument("--steps", dest="plan_steps", type=int, default=Plan.steps)
    parser.add_argument("--task-steps", dest="plan_task_steps", type=int, default=Plan.task_steps)
    parser.add_argument("--rate", dest="plan_rate", type=float, default=Plan.rate)
    parser.add_argument("--task-rate", dest="plan_task_rate", type=float, default=Plan.task_rate)
    parser.add_argument("--tokens", dest="plan_tokens", type=int, default=Plan.tokens)
    parser.add_argument("--length", dest="plan_length", type=int, default=Plan.length)
    parser.add_argument("--tuning-examples", dest="plan_tuning_examples", type=int, default=Plan.tuning_examples)
    parser.add_argument("--start", dest="plan_start", type=str, default=Plan.start)


class Benchmark:
    """Trains, measures and prints; what was measured is kept in `measured/SPLIT` of the output."""

    def __init__(self, options: argparse.Namespace, plan: Plan) -> None:
        self._options, self._plan = options, plan
        self._folder = options.output / "measured" / options.split
        self._folder.mkdir(parents=True, exist_ok=True)
        self._seeds = [int(seed) for seed in options.seeds.split(",")]

    def run(self, names: Sequence[str], bridges: Mapping[str, str]) -> None:
        """Measure systems, the LLM alone first: it says which problems of MGSM there are."""
        sets = measuring.sets_of(self._plan.data_folder, self._options.split, self._options.count)
        if self._options.english:
            sets = {kind: {"en": languages["en"]} for kind, languages in sets.items()}
        alone = self._measure(BASE, sets, lambda: measuring.base(self._llm(), self._options.limit))
        if "mgsm" in sets:
            sets = measuring.restrict_to_solved(sets, alone["solved"]["mgsm"]["en"])
        results = {BASE: [alone]}
        for name in names:
            if name != BASE:
                results[name] = [self._method(name, seed, sets) for seed in self._seeds]
        for name, place in bridges.items():
            results[name] = [self._measure(name, sets, lambda place=place: self._bridge(Path(place)))]
        mawps_texts = sets["mawps"]["en"].texts if "mawps" in sets else []
        unlike = measuring.unlike_learned(self._plan.data_folder, mawps_texts)
        report = {name: _summary(runs, self._options.count, unlike) for name, runs in results.items()}
        (self._folder / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        show(report)

    def _method(self, name: str, seed: int, sets: Sets) -> dict[str, Any]:
        def build() -> System:
            if name == TRANSLATE:
                folder = first_stage(self._plan, METHODS["layalign"], seed, _console.print) / "model"
                return measuring.translating(self._reasoner(folder), self._options.limit)
            folder = train_method(self._plan, name, seed, _console.print)
            if METHODS[name].stages == ("translation",):
                folder = measuring.without_prompt(folder, self._plan.output / "unprompted")
            return self._bridge(folder)

        return self._measure(f"{name}-{seed}", sets, build)

    def _measure(self, name: str, sets: Sets, build: Any) -> dict[str, Any]:
        """What a system solves, which is measured once; `build` gives the system."""
        path = self._folder / f"{name}.json"
        if path.exists():
            saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return saved
        system: System = build()
        measures: dict[str, Any] = {"accuracy": {}, "solved": {}, "answers": {}}
        for kind, languages in sets.items():
            for language, questions in languages.items():
                if name == BASE and kind == "mgsm" and language != "en":
                    continue  # those that it does not solve in English are left out
                good, said = measuring.solve(system, questions)
                self._note(measures, kind, language, questions, good, said)
                _console.print(f"{name}: {kind} {language} {sum(good)} of {len(good)}")
        path.write_text(json.dumps(measures, ensure_ascii=False) + "\n", encoding="utf-8")
        return measures

    def _note(
        self,
        measures: dict[str, Any],
        kind: str,
        language: str,
        questions: Questions,
        good: list[bool],
        said: list[str],
    ) -> None:
        for name, figure in (("accuracy", float(np.mean(good)) if good else None), ("solved", good), ("answers", said)):
            measures[name].setdefault(kind, {})[language] = figure

    def _llm(self) -> Any:
        return load_llm(self._plan.llm, self._plan.output / "states", dtype=torch.float32)

    def _reasoner(self, folder: Path) -> Reasoner:
        return Reasoner(folder, self._plan.output / "states")

    def _bridge(self, folder: Path) -> System:
        return measuring.bridge_system(self._reasoner(folder), self._options.limit)


def _summary(runs: Sequence[Mapping[str, Any]], count: int, unlike: Sequence[bool]) -> dict[str, Any]:
    """Accuracy in percent by set and language, means of seeds, of the first `count` problems but of all of MGSM.

    Of the templates also the averages; of MAWPS also the problems that are `unlike` all to learn from.
    """
    kinds: dict[str, dict[str, float]] = {}
    for kind, languages in runs[0]["solved"].items():
        most = None if kind == "mgsm" else count
        kinds[kind] = {
            language: 100 * float(np.mean([run["solved"][kind][language][:most] for run in runs]))
            for language, values in languages.items()
            if values
        }
    if any(unlike):
        solved = [np.array(run["solved"]["mawps"]["en"][:count])[np.array(unlike)] for run in runs]
        kinds[UNLIKE] = {"en": 100 * float(np.mean(solved))}
    foreign = {language: accuracy for language, accuracy in kinds["templates"].items() if language != "en"}
    low = [accuracy for language, accuracy in foreign.items() if language in LOW]
    high = [accuracy for language, accuracy in foreign.items() if language not in LOW]
    parts = {"average": [*low, *high], "low": low, "high": high}
    averages = {name: float(np.mean(values)) for name, values in parts.items() if values}
    return {
        "seeds": len(runs),
        "averages": averages,
        "by_template": _by_template(runs, count),
        "accuracy": kinds,
    }


def _by_template(runs: Sequence[Mapping[str, Any]], count: int) -> list[float]:
    """Accuracy in percent by template, which take turns, in the mean of languages but English, or of English alone."""
    rows = [
        [values[:count] for language, values in run["solved"]["templates"].items() if language != "en"]
        or [run["solved"]["templates"]["en"][:count]]
        for run in runs
    ]
    templates = len(held_out_templates())
    return [
        100 * float(np.mean([row[template::templates] for run_rows in rows for row in run_rows]))
        for template in range(min(templates, count))
    ]


def show(report: Mapping[str, Any]) -> None:
    """Print a table for each set."""
    for kind in report[BASE]["accuracy"]:
        languages = list(next(iter(report.values()))["accuracy"][kind])
        for summary in report.values():
            languages += [language for language in summary["accuracy"][kind] if language not in languages]
        more = list(report[BASE]["averages"]) if kind == "templates" else []
        table = Table("system", "seeds", *more, *languages, title=f"{kind}, accuracy in percent")
        for name, summary in report.items():
            cells = [f"{summary['averages'][part]:.1f}" for part in more]
            values = summary["accuracy"].get(kind, {})
            cells += [f"{values[language]:.1f}" if language in values else "" for language in languages]
            table.add_row(TITLES.get(name, name), str(summary["seeds"]), *cells)
        _console.print(table)
    table = Table("system", *map(str, range(1, len(report[BASE]["by_template"]) + 1)), title="templates, one by one")
    for name, summary in report.items():
        table.add_row(TITLES.get(name, name), *(f"{accuracy:.0f}" for accuracy in summary["by_template"]))
    _console.print(table)


if __name__ == "__main__":
    main()
