"""What MART's parts are worth: the paper's comparisons at our size, the same recipe, lists and seeds for each variant.

    python -m benchmarks.mart_tables --config configs/mart-tables.toml --test runs/reranking/lists --output runs/tables

Variants: `bert`, the encoder without MAT layers; `placebo`, with MAT layers and without a table; `mart`; T from one
direction (`forward`, the paper's, and `backward`); `one layer` and `three layers`; `dictionary`, the same lists with
links out of dictionaries alone (`benchmarks/mart_dictionaries.py` makes them, in folders beside, with `-dictionary`
behind their names); `dictionary at search`, what `mart` learned, reranking by dictionaries; `without XX`, learned
without any list in the language XX. Each is trained from the configuration's lists with every seed, and reranks the
lists under `--test`; MAP of the model's score alone and interpolated with the weight that the tuning lists gave.
p-values are of paired two-tailed t-tests of the queries' average precision, meaned over the seeds and over the
directions that ask the same queries. What is there already is kept, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from dragoman.backbone.training_config import read_config
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.lists import lists_in, read_lists
from dragoman.ranking.measuring import score_lists
from dragoman.ranking.scoring import Scorer
from dragoman.ranking.training import MartTraining, train_mart

VARIANTS: dict[str, dict[str, Any]] = {
    "bert": {"model": {"mat_layers": []}},
    "placebo": {"placebo": True},
    "mart": {},
    "forward": {"direction": "forward"},
    "backward": {"direction": "backward"},
    "one layer": {"model": {"mat_layers": [-2]}},
    "three layers": {"model": {"mat_layers": [-4, -3, -2]}},
}
TRAINED = {"dictionary at search": "mart"}
"""Variants that are another's model."""
BY_DICTIONARY = ("dictionary", "dictionary at search")
ORDERS = ("alone", "interpolated")
Values = NDArray[np.float64]


def main() -> None:
    """Train, measure and print what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--queries", type=int, help="of each test list, at even distances; default: all")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if not lists_in(arguments.test):
        parser.error(f"--test: no lists under {arguments.test}")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    table = read_config(arguments.config)
    done: dict[str, list[dict[str, Any]]] = {}
    for seed in range(1, arguments.seeds + 1):
        for variant in arguments.variants.split(","):
            trained = TRAINED.get(variant, variant)
            folder = arguments.output / f"{trained.replace(' ', '-')}-{seed}"
            if not (folder / "report.json").exists():
                settings = MartTraining.parse(table | changes(trained, table) | {"seed": seed})
                train_mart(settings, folder, resume=folder.exists())
            done.setdefault(variant, []).append(tested(folder, variant in BY_DICTIONARY, arguments))
            (arguments.output / "summary.md").write_text(summary(done), encoding="utf-8")
    print(summary(done))  # noqa: T201


def changes(variant: str, table: dict[str, Any]) -> dict[str, Any]:
    """What of the configuration is otherwise in a variant."""
    if variant == "dictionary":
        return {name: f"{table[name]}-dictionary" for name in ("lists", "tuning")}
    if variant.startswith("without "):
        held_out = variant.removeprefix("without ")
        sets = (read_lists(path) for name in ("lists", "tuning") for path in lists_in(Path(table[name])))
        spoken = {language for lists in sets for language in (lists.source, lists.target)}
        return {"languages": sorted(spoken - {held_out})}
    return VARIANTS[variant]


def tested(folder: Path, by_dictionary: bool, arguments: argparse.Namespace) -> dict[str, Any]:
    """Average precision of every query of every test list, in each order; kept in the training's folder."""
    suffix = "-dictionary" if by_dictionary else ""
    path, test = folder / f"tested{suffix}.json", Path(f"{arguments.test}{suffix}")
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    model, about = load_mart(str(folder / "model"))
    for lists in lists_in(test):
        if lists.name in found:
            continue
        scored = score_lists(
            Scorer(model),
            read_lists(lists),
            depth=arguments.depth,
            queries=arguments.queries,
            direction=about.direction,
            placebo=about.placebo,
        )
        weights = {"psq": None, "alone": 0.0, "interpolated": about.first_stage_weight}
        found[lists.name] = {
            order: [one.average_precision(weight) for one in scored] for order, weight in weights.items()
        }
        path.write_text(json.dumps(found))
    return found


def summary(done: dict[str, list[dict[str, Any]]]) -> str:
    """A Markdown table for each order: MAP by variant and test list, and how the variants differ from MART."""
    return "\n".join(line for order in ORDERS for line in _table(done, order)) + "\n"


def _table(done: dict[str, list[dict[str, Any]]], order: str) -> Iterator[str]:
    names = list(done["mart"][0]) if "mart" in done else list(next(iter(done.values()))[0])
    yield f"\n**{order}**\n"
    yield "| | " + " | ".join(names) + " | mean | p against mart | p against psq |"
    yield "|---" * (len(names) + 4) + "|"
    mart = _values(done["mart"], order, names) if "mart" in done else None
    psq = _values(next(iter(done.values())), "psq", names)
    yield _row("psq", names, psq, None, None)
    for variant, runs in done.items():
        yield _row(f"{variant} ({len(runs)})", names, _values(runs, order, names), mart, psq)


def _values(runs: list[dict[str, Any]], order: str, names: list[str]) -> list[Values]:
    """Average precision by list and query, meaned over the seeds."""
    return [np.mean([run[name][order] for run in runs], 0) for name in names]


def _row(name: str, names: list[str], own: list[Values], mart: list[Values] | None, psq: list[Values] | None) -> str:
    means = [float(values.mean()) for values in own]
    cells = [f"{value:.3f}" for value in [*means, float(np.mean(means))]]
    cells += ["" if other is None else _p(names, own, other) for other in (mart, psq)]
    return f"| {name} | {' | '.join(cells)} |"


def _p(names: list[str], own: list[Values], other: list[Values]) -> str:
    """Of a paired two-tailed t-test of queries' means over the lists that ask them, in whatever languages.

    Lists of one data set and unit hold the same queries in the same order: `name-source-target`.
    """
    asked: dict[tuple[str, int], list[Values]] = {}
    for name, first, second in zip(names, own, other, strict=True):
        asked.setdefault((name.rsplit("-", 2)[0], len(first)), []).append(first - second)
    differences = np.concatenate([np.mean(alike, 0) for alike in asked.values()])
    return f"{float(ttest_1samp(differences, 0).pvalue):.2g}" if differences.any() else ""


if __name__ == "__main__":
    main()
