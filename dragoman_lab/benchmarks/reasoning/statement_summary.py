"""Means over seeds and languages of what `statement_tables` measured, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dragoman_lab.benchmarks.reasoning.statement_runs import METHODS

SETTINGS = ("en", "X", "en-X", "X-en")
APART = ("shared", "shared-apart", "pair", "pair-apart")
STEPS = (("shared", "original"), ("pair", "shared"))
"""The paper's direction: the first is better than the second."""
Cells = Mapping[str, Mapping[str, float]]
Methods = dict[str, dict[str, Cells]]
"""Cells by method and seed."""
Runs = dict[str, Methods]
"""The same by test."""


def mean_in_setting(cells: Cells, setting: str, languages: Sequence[str], measure: str = "accuracy") -> float:
    """A measure in a setting: of one cell, or the mean over the languages X."""
    names = [setting.replace("X", language) for language in languages] if "X" in setting else [setting]
    return float(np.mean([cells[name][measure] for name in names]))


def measures_of(methods: Methods) -> list[str]:
    """The accuracy of all statements, and that of each depth where there are some."""
    cells = next(iter(next(iter(methods.values())).values()))
    return ["accuracy", *sorted(name for name in cells["en"] if name.startswith("accuracy_depth_"))]


def over_seeds(seeds: Mapping[str, Cells], setting: str, languages: Sequence[str], measure: str) -> dict[str, float]:
    """Mean and standard deviation over the seeds; that of one seed is 0."""
    values = [mean_in_setting(cells, setting, languages, measure) for cells in seeds.values()]
    return {"mean": float(np.mean(values)), "deviation": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0}


def summary(methods: Methods, languages: Sequence[str]) -> dict[str, Any]:
    """Means and deviations by method, setting and measure; settings are also those of each language."""
    named = [*SETTINGS, *(setting.replace("X", language) for setting in SETTINGS[1:] for language in languages)]
    return {
        method: {
            setting: {measure: over_seeds(seeds, setting, languages, measure) for measure in measures_of(methods)}
            for setting in named
        }
        for method, seeds in methods.items()
    }


def direction(methods: Methods, languages: Sequence[str]) -> dict[str, Any]:
    """By how much Shared is better than the original and Pair than Shared, by setting, measure and seed.

    Where statements are guessed, as those that need many rules are, a difference says nothing: each depth is apart.
    """
    differences: dict[str, Any] = {}
    for setting in ("en-X", "X-en"):
        for measure in measures_of(methods):
            steps: dict[str, Any] = {}
            for better, worse in STEPS:
                gains = {
                    seed: mean_in_setting(cells, setting, languages, measure)
                    - mean_in_setting(methods[worse][seed], setting, languages, measure)
                    for seed, cells in methods.get(better, {}).items()
                    if seed in methods.get(worse, {})
                }
                if gains:
                    steps[f"{better} over {worse}"] = {"mean": float(np.mean(list(gains.values()))), "seeds": gains}
            if len(steps) == len(STEPS):
                holds = all(step["mean"] > 0 for step in steps.values())
                differences.setdefault(setting, {})[measure] = {"holds": holds, **steps}
    return differences


def show(runs: Runs, languages: Sequence[str], console: Console) -> None:
    """Print all tables."""
    for test, methods in runs.items():
        main = {name: seeds for name, seeds in methods.items() if not name.endswith("-apart")}
        measures = measures_of(methods)
        for setting in SETTINGS if len(measures) > 1 else ():
            columns = [(_head(measure), setting, measure) for measure in measures]
            console.print(_table(f"{test}: {setting}, by depth", main, columns, languages))
        columns = [(setting, setting, "accuracy") for setting in SETTINGS]
        console.print(_table(f"{test}: by setting", main, columns, languages))
        for setting in SETTINGS[1:]:
            columns = [(name, name, "accuracy") for name in (setting.replace("X", language) for language in languages)]
            console.print(_table(f"{test}: {setting}, by language", main, columns, languages))
        if any(name.endswith("-apart") for name in methods):
            apart = {name: methods[name] for name in APART if name in methods}
            columns = [(setting, setting, "accuracy") for setting in SETTINGS]
            console.print(_table(f"{test}: interfering and not", apart, columns, languages))
        _say_direction(test, direction(methods, languages), console)


def _table(title: str, methods: Methods, columns: Sequence[tuple[str, str, str]], languages: Sequence[str]) -> Table:
    """A row for each method; a column has a head, a setting and a measure."""
    table = Table("method", *(head for head, _, _ in columns), title=title)
    for name, seeds in methods.items():
        cells = [over_seeds(seeds, setting, languages, measure) for _, setting, measure in columns]
        table.add_row(METHODS[name].title, *(f"{cell['mean']:.1f} ± {cell['deviation']:.1f}" for cell in cells))
    return table


def _say_direction(test: str, differences: Mapping[str, Any], console: Console) -> None:
    for setting, measures in differences.items():
        for measure, steps in measures.items():
            holds = "holds" if steps["holds"] else "does not hold"
            parts = [
                f"{name} {step['mean']:+.1f} ({', '.join(f'{gain:+.1f}' for gain in step['seeds'].values())})"
                for name, step in steps.items()
                if name != "holds"
            ]
            line = f"{test}, {setting}, {_head(measure)}: Pair over Shared over original {holds}: {'; '.join(parts)}"
            console.print(line, markup=False, highlight=False)


def _head(measure: str) -> str:
    return measure.removeprefix("accuracy_").replace("_", " ").replace("accuracy", "all")
