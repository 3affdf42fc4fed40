"""Ablations of MART: the paper's comparisons at our size, with the same recipe, lists and seeds for each variant.

    python -m dragoman_lab.benchmarks.reranking.mart_tables --config dragoman_lab/configs/mart-e5-tables.toml \\
        --test runs/mart/hybrid-test/lists --tuning runs/mart/hybrid-tune/lists --output runs/mart/tables

The variants are `mart`, `bert`, the encoder without MAT layers, and `placebo`, with MAT layers but without a table. T
is from one direction in `forward`, as in the paper, and `backward`. Others are `one layer`, `one lower layer` and
`three layers`. `dictionary` is trained and tested on the same lists with links only from dictionaries, and `learned`
from tables of parallel text. (`mart_relinked.py` writes them to folders with the suffixes `-dictionary` and
`-learned`.) `dictionary at search` and `learned at search` are the model of `mart`, reranking with those links.
`without XX` is trained without lists in the language XX. Each is trained on the configuration's lists with every seed,
and reranks the lists under `--test`. Reports MAP of the model's score alone, and interpolated with the lists' first
stage by the weight fitted on the tuning lists; other parts of a shipped model's score are not included. Lists of
another first stage than that of the training need `--tuning`, lists of the same. With `--first-stage`, the folder of
runs of `benchmarks/retrieval/first_stage.py` on DATA, MAP of smt and of BM25 on human translations of the queries is
added.

p-values are two-tailed, on the average precision of queries as means over the seeds. For one task they are from paired
t-tests (* marks differences from `mart`, p < .05). For means over tasks they are from the t-test for unequal variances
in `p_of_mean`: every task has the same weight, and the same query in several languages is one observation. The last
table of each order has the gains of `mart` over the others by data set. Existing results are kept, so an interrupted
run can be resumed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import torch
from ir_measures import AP
from numpy.typing import NDArray
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.scoring import Scorer
from dragoman_lab.backbone.config import read_config
from dragoman_lab.backbone.pretraining import claim
from dragoman_lab.benchmarks.retrieval.first_stage import XQUAD, tasks
from dragoman_lab.evaluation.benchmark import load_benchmark
from dragoman_lab.ranking.lists import lists_in, read_lists
from dragoman_lab.ranking.loop import MartTraining, train_mart
from dragoman_lab.ranking.measuring import ScoredList, best_weight, evenly_spaced_indices, score_lists

VARIANTS: dict[str, dict[str, Any]] = {
    "bert": {"model": {"mat_layers": []}},
    "placebo": {"placebo": True},
    "mart": {},
    "forward": {"direction": "forward"},
    "backward": {"direction": "backward"},
    "one layer": {"model": {"mat_layers": [-2]}},
    "one lower layer": {"model": {"mat_layers": [-3]}},
    "three layers": {"model": {"mat_layers": [-4, -3, -2]}},
}
TRAINED = {"dictionary at search": "mart", "learned at search": "mart"}
"""Variants that use the model of another one."""
SUFFIXES = {variant: f"-{links}" for links in ("dictionary", "learned") for variant in (links, f"{links} at search")}
"""Of the folders of lists of the variants that have other links."""
ORDERS = {"alone": "alone", "interpolated": "together with the first stage"}
"""Orders of candidates, with their titles."""
FIRST = "first stage"
RUNS = {"smt": "smt", "bm25": "human translation"}
"""Runs of `dragoman_lab/benchmarks/retrieval/first_stage.py` to compare with, with their titles."""
SIGNIFICANT = 0.05
TUNING_QUERIES = 24
"""Of each list of `--tuning`."""
Values = NDArray[np.float64]


def main() -> None:
    """Train and measure what is missing, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument(
        "--tuning", type=Path, help="lists of the test's first stage, to fit its weight; default: as trained"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--queries", type=int, help="of each test list, evenly spaced; default: all")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--first-stage", type=Path, help="runs of smt and BM25; requires --data")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    check_lists(parser, arguments)
    if arguments.first_stage and not arguments.data:
        parser.error("--first-stage requires --data, which has the relevance judgements")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    table = read_config(arguments.config)
    others = measure_runs(arguments) if arguments.first_stage else {}
    done: dict[str, list[dict[str, Any]]] = {}
    for seed in range(1, arguments.seeds + 1):
        for variant in arguments.variants.split(","):
            trained = TRAINED.get(variant, variant)
            folder = arguments.output / f"{trained.replace(' ', '-')}-{seed}"
            train_variant(MartTraining.parse(apply_changes(table, changes(trained, table)) | {"seed": seed}), folder)
            done.setdefault(variant, []).append(measure_precisions(folder, SUFFIXES.get(variant, ""), arguments))
            (arguments.output / "summary.md").write_text(summary(done, others), encoding="utf-8")
    print(summary(done, others))  # noqa: T201


def check_lists(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Every variant needs the test lists, and those to fit the first stage's weight, before hours of training."""
    suffixes = {SUFFIXES.get(variant, "") for variant in arguments.variants.split(",")}
    for option in ("test", "tuning"):
        folder = getattr(arguments, option)
        names = {path.relative_to(folder) for path in lists_in(folder)} if folder else set()
        if folder and not names:
            parser.error(f"--{option}: no lists under {folder}")
        for suffix in suffixes if folder else ():
            variant_folder = Path(f"{folder}{suffix}")
            if missing := sorted(names - {path.relative_to(variant_folder) for path in lists_in(variant_folder)}):
                parser.error(f"--{option}: {variant_folder} lacks the lists {missing[0]}")


def train_variant(settings: MartTraining, folder: Path) -> None:
    """Train, unless the folder has a model; one of another configuration is refused."""
    if (folder / "report.json").exists():
        claim(settings, folder, resume=True)
    else:
        train_mart(settings, folder, resume=folder.exists())


def apply_changes(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with changes; of `model`, fields that they do not name stay."""
    model = {**table.get("model", {}), **changes.get("model", {})}
    return {**table, **changes, **({"model": model} if model else {})}


def changes(variant: str, table: dict[str, Any]) -> dict[str, Any]:
    """The configuration changes of a variant."""
    if variant in SUFFIXES:
        return {name: f"{table[name]}{SUFFIXES[variant]}" for name in ("lists", "tuning")}
    if variant.startswith("without "):
        held_out = variant.removeprefix("without ")
        sets = (read_lists(path) for name in ("lists", "tuning") for path in lists_in(Path(table[name])))
        languages = {language for lists in sets for language in (lists.source, lists.target)}
        return {"languages": sorted(languages - {held_out})}
    return VARIANTS[variant]


def measure_precisions(folder: Path, suffix: str, arguments: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """Average precision of every query of every test list, in each order; scores are saved in `folder`.

    `suffix` is that of the folders of lists.
    """
    path, test = folder / f"tested{suffix}.json", Path(f"{arguments.test}{suffix}")
    saved: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    model, about = load_mart(str(folder / "model"))
    scorer = Scorer(model)  # in float32: variants are compared, which other processes score

    def score(lists: Path, queries: int | None) -> list[ScoredList]:
        read, name = read_lists(lists), lists.as_posix()
        options = {"depth": arguments.depth, "queries": queries}
        made_with = options | {"lists": read.checksum}
        if name not in saved:
            scored = score_lists(scorer, read, direction=about.direction, placebo=about.placebo, **options)
            saved[name] = {"options": made_with, "scored": [asdict(entry) for entry in scored]}
            path.write_text(json.dumps(saved))
        if (before := saved[name]["options"]) != made_with:
            raise SystemExit(f"{path}: {name} was scored with {before}, not {made_with}: remove the file")
        return [ScoredList(**record) for record in saved[name]["scored"]]

    if arguments.tuning:
        tuning = Path(f"{arguments.tuning}{suffix}")
        weight = best_weight(
            {lists_folder.name: score(lists_folder, TUNING_QUERIES) for lists_folder in lists_in(tuning)}
        )
    else:
        weight = json.loads((folder / "report.json").read_text())["weights"]["with the model"]["first_stage"]
    orders = {FIRST: None, "alone": 0.0, "interpolated": weight}
    precisions = {}
    for lists in lists_in(test):
        again = score(lists, arguments.queries)
        precisions[lists.name] = {
            order: [question.average_precision(weight) for question in again] for order, weight in orders.items()
        }
    return precisions


def measure_runs(arguments: argparse.Namespace) -> dict[str, dict[str, Values]]:
    """Average precision by system and test list of runs of `retrieval/first_stage.py`, for the same queries and depth.

    Lists of other tasks have none. FLORES has no human translation, because its queries are the translations of its
    documents.
    """
    precisions: dict[str, dict[str, Values]] = {title: {} for title in RUNS.values()}
    kinds = {
        f"{data_set}-{unit}-{source}-{target}": (arguments.data / data_set, source, target, unit, queries)
        for language in (*XQUAD, "sw", "so")
        for data_set, (source, target, unit), queries in tasks(arguments.data, language)
    }
    for path in lists_in(arguments.test):
        if path.name not in kinds:
            continue
        lists = read_lists(path)
        names = [lists[index].name for index in evenly_spaced_indices(len(lists), arguments.queries)]
        qrels = load_benchmark(*kinds[path.name]).qrels
        for system, title in RUNS.items():
            run = arguments.first_stage / path.name / f"{system}.trec"
            if run.exists():
                answers = ir_measures.read_trec_run(str(run))
                values = {
                    metric.query_id: metric.value
                    for metric in ir_measures.iter_calc([AP @ arguments.depth], qrels, answers)
                }
                precisions[title][path.name] = np.array([values.get(name, 0.0) for name in names])
    return precisions


def summary(done: Mapping[str, list[dict[str, Any]]], others: Mapping[str, Mapping[str, Values]]) -> str:
    """Markdown tables of MAP by task and variant, alone and interpolated, with separate tables for paragraphs."""
    tested_on = list(next(iter(done.values()))[0])
    paragraphs = [name for name in tested_on if "-paragraph-" in name]
    lines: list[str] = []
    for names in ([name for name in tested_on if name not in paragraphs], paragraphs):
        for order, title in ORDERS.items() if names else ():
            columns = {
                other: {name: precisions[name] for name in names if name in precisions}
                for other, precisions in others.items()
            }
            columns[FIRST] = _values(next(iter(done.values())), FIRST, names)
            columns |= {f"{variant} ({len(runs)})": _values(runs, order, names) for variant, runs in done.items()}
            lines += [f"\n**{title}**\n", *_table(names, columns), "", *_by_data_set(names, columns)]
    return "\n".join(lines) + "\n"


def _table(names: list[str], columns: Mapping[str, Mapping[str, Values]]) -> Iterator[str]:
    """A line for each task, with * for significant differences from MART; means; p-values over all tasks."""
    yield "| | queries | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 2) + "|"
    mart = _mart(columns)
    for name in names:
        cells = [_cell(precisions.get(name), mart.get(name)) for precisions in columns.values()]
        yield f"| {name} | {len(columns[FIRST][name])} | {' | '.join(cells)} |"
    everywhere = [name for name in names if all(name in precisions for precisions in columns.values())]
    for label, some in (("mean", names), ("mean of tasks that have all", everywhere)):
        if some and (label == "mean" or len(some) < len(names)):
            means = (
                np.mean([precisions[name].mean() for name in some]) if precisions.keys() >= {*some} else None
                for precisions in columns.values()
            )
            yield f"| {label} | | {' | '.join('' if mean is None else f'{mean:.3f}' for mean in means)} |"
    for label, other in (("p against mart", mart), (f"p against {FIRST}", columns[FIRST])):
        yield f"| {label} | | {' | '.join(_p(precisions, other) for precisions in columns.values())} |"


def _by_data_set(names: list[str], columns: Mapping[str, Mapping[str, Values]]) -> Iterator[str]:
    """The gains of MART over each other column, with p, on the common tasks of each data set."""
    if not (mart := _mart(columns)):
        return
    others = {title: precisions for title, precisions in columns.items() if precisions is not mart}
    yield f"| mart, more than | tasks | {' | '.join(others)} |"
    yield "|---" * (len(others) + 2) + "|"
    for data_set in dict.fromkeys(map(_data_set, names)):
        ours = {name: values for name, values in mart.items() if _data_set(name) == data_set}
        yield f"| {data_set} | {len(ours)} | {' | '.join(_more(ours, other) for other in others.values())} |"


def _more(ours: Mapping[str, Values], other: Mapping[str, Values]) -> str:
    differences = [(ours[name] - other[name]).mean() for name in ours.keys() & other.keys()]
    return f"{np.mean(differences):+.3f} (p = {_p(ours, other) or '1'})" if differences else ""


def _mart(columns: Mapping[str, Mapping[str, Values]]) -> Mapping[str, Values]:
    return next((precisions for title, precisions in columns.items() if title.startswith("mart (")), {})


def _data_set(name: str) -> str:
    """The data set and unit of a task `data-unit-source-target`."""
    return name.rsplit("-", 2)[0]


def _cell(precisions: Values | None, mart: Values | None) -> str:
    if precisions is None:
        return ""
    differs = mart is not None and (precisions != mart).any() and ttest_1samp(precisions - mart, 0).pvalue < SIGNIFICANT
    return f"{precisions.mean():.3f}{'*' if differs else ''}"


def _values(runs: list[dict[str, Any]], order: str, names: list[str]) -> dict[str, Values]:
    """Average precision by list and query, as the mean over the seeds."""
    return {name: np.mean([run[name][order] for run in runs], 0) for name in names}


def _p(ours: Mapping[str, Values], other: Mapping[str, Values]) -> str:
    """`p_of_mean` of the differences on common tasks; empty without differences."""
    differences = {name: ours[name] - other[name] for name in ours.keys() & other.keys()}
    return f"{p_of_mean(differences):.2g}" if any(difference.any() for difference in differences.values()) else ""


def p_of_mean(differences: Mapping[str, Values]) -> float:
    """Two-tailed p for a mean difference of 0, where the mean is over tasks with equal weights.

    Tasks of one data set and unit have the same questions in the same order, in different languages, so the sum of a
    question's differences over these tasks is one observation. Each data set has n questions, and mean m and variance v
    of these sums. With T tasks in total and independent data sets, the mean over tasks is sum(m) / T, with variance
    sum(v / n) / T^2. The statistic has a Student's t distribution with Welch-Satterthwaite degrees of freedom:
    sum(v / n)^2 / sum((v / n)^2 / (n - 1)). For one data set this is the paired t-test of the questions' means over the
    tasks; for two data sets with one task each it is, except for signs, Welch's test.
    """
    groups: dict[tuple[str, int], list[Values]] = {}
    for name, values in differences.items():
        groups.setdefault((_data_set(name), len(values)), []).append(values)
    sums = [np.sum(group, 0) for group in groups.values()]
    variances = np.array([observations.var(ddof=1) / len(observations) for observations in sums])
    variance, mean = variances.sum(), sum(observations.mean() for observations in sums)
    if not variance:
        return 0.0 if mean else 1.0
    freedom = variance**2 / sum(
        set_variance**2 / (len(observations) - 1) for set_variance, observations in zip(variances, sums, strict=True)
    )
    return float(2 * student.sf(abs(mean) / np.sqrt(variance), freedom))


if __name__ == "__main__":
    main()
