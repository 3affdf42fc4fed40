"""Gain of reranking over the first stage.

    python -m dragoman_lab.benchmarks.reranking.quality --data DATA --tables runs/first_stage/tables \
        --output runs/reranking
    python -m dragoman_lab.benchmarks.reranking.quality --output runs/reranking --kept

Tasks are XQuAD-R sentences and paragraphs in both directions of each language, AfriQA's Swahili questions over English
passages, and Swahili and Somali FLORES sentences. XQuAD-R's questions are those for tuning, or with `--split test` the
others, whose lists need another output folder. Measures MAP of psq's best hits in three orders: unchanged; by
standalone scores, as in the rerank endpoints; and by model and first stage together, as in searches, with the weights
fitted on the tuning questions. `--without-table` adds the combination with a model that does not use the table.
Existing lists and scores in the output folder are kept, so an interrupted run can be resumed, and other weights need no
new run. The summary covers all tasks with scores in the folder; `--kept` computes no new ones.
For XQuAD-R it has means over both directions of each language, over all directions from English, into English, and over
all. p-values are of paired two-tailed t-tests against psq; a question's mean over the directions is
one observation. The tables are the output of `dragoman_lab/benchmarks/retrieval/first_stage.py`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from dragoman.engine.search.request import Method
from dragoman.ranking.about import LATE, RerankerAbout
from dragoman.ranking.scoring import AnyScorer, load_scorer
from dragoman_lab.evaluation.candidate_sources import JudgedSource, MartSources, prepare
from dragoman_lab.evaluation.evaluation import paired_p
from dragoman_lab.ranking.lists import read_lists
from dragoman_lab.ranking.measuring import ScoredList, score_lists

ONLY = {"tune": r"para=^.*-a(0(0\d|1[01])-)", "test": r"para=^.*-a(?!0(0\d|1[01])-)", "all": None}
"""XQuAD-R questions of articles a000 to a011 are for tuning, the others for testing."""
UNITS = ("sentence", "paragraph")
LANGUAGES = ("de", "es", "ru", "zh", "ar", "sw", "so")
ORDERS = ("psq", "standalone", "together", "without_table")
WITHOUT_TABLE = "-without-table"


def main() -> None:
    """Run missing tasks and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--kept", action="store_true", help="summarise saved scores without new measurements")
    parser.add_argument("--lists-alone", action="store_true", help="make the lists, and measure nothing")
    parser.add_argument("--method", choices=get_args(Method), default="psq", help="first stage of --lists-alone")
    parser.add_argument("--model", default=LATE)
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--units", default=",".join(UNITS))
    parser.add_argument("--no-flores", action="store_true", help="of Swahili, AfriQA alone")
    parser.add_argument("--split", choices=ONLY, default="tune", help="of XQuAD-R's questions")
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--questions", type=int, help="evenly spaced; default: all")
    parser.add_argument("--without-table", action="store_true")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if not arguments.kept and not (arguments.data and arguments.tables):
        parser.error("--data and --tables are required")
    if arguments.method != "psq" and not arguments.lists_alone:
        parser.error("--method is of lists that are made for another measurement: it needs --lists-alone")
    scorer, about = load_scorer(arguments.model)
    rows = {name: measure_task(scorer, name, arguments, about) for name in saved_tasks(arguments.output)}
    for language in () if arguments.kept else arguments.languages.split(","):
        for task in tasks(arguments, language):
            sources = MartSources(tables=str(arguments.tables), languages=[language], tuning=[task])
            lists = arguments.output / "lists"
            prepare(sources, scorer.encoder, lists, lists, lambda: None)
            if arguments.lists_alone:
                continue
            pairs = [f"en-{language}", f"{language}-en"] if task.languages else [f"{task.source}-{task.target}"]
            for pair in pairs:
                name = f"{Path(task.data).name}-{task.unit}-{pair}"
                rows[name] = measure_task(scorer, name, arguments, about)
                (arguments.output / "summary.md").write_text(summary(rows), encoding="utf-8")
    if arguments.lists_alone:
        return
    if not rows:
        parser.error(f"--kept: no scores in {arguments.output}")
    (arguments.output / "summary.md").write_text(summary(rows), encoding="utf-8")
    print(summary(rows))  # noqa: T201


def saved_tasks(output: Path) -> list[str]:
    """The tasks with scores in the output folder."""
    names = (path.stem for path in output.glob("*-*-*-*.json"))
    return sorted(name for name in names if not name.endswith(WITHOUT_TABLE))


def tasks(arguments: argparse.Namespace, language: str) -> Iterator[JudgedSource]:
    """The tasks of a language: XQuAD-R; for Swahili and Somali, AfriQA and FLORES unless they are left out."""
    use = {"depth": arguments.depth, "method": arguments.method}
    if language in ("sw", "so"):
        if language == "sw":
            yield JudgedSource(
                data=str(arguments.data / "afriqa"), unit="passage", source="sw", queries="sw.open", **use
            )
        if not arguments.no_flores:
            yield JudgedSource(data=str(arguments.data / "flores200"), unit="sentence", languages=[language], **use)
        return
    for unit in arguments.units.split(","):
        yield JudgedSource(
            data=str(arguments.data / "xquad_r"),
            unit=unit,
            languages=[language],
            only=ONLY[arguments.split],
            **use,
        )


def measure_task(
    scorer: AnyScorer, name: str, arguments: argparse.Namespace, about: RerankerAbout
) -> dict[str, list[float]]:
    """Average precision of each question of one task, in each order."""
    questions = score_task(scorer, name, arguments, about, about.placebo)
    orders = {
        "psq": [question.average_precision(None) for question in questions],
        "standalone": [question.average_precision(0.0, about.standalone) for question in questions],
        "together": [question.average_precision(about.first_stage_weight, about.standalone) for question in questions],
    }
    if arguments.without_table or (arguments.output / f"{name}{WITHOUT_TABLE}.json").exists():
        without = score_task(scorer, name, arguments, about, True)
        orders["without_table"] = [
            question.average_precision(about.first_stage_weight, about.standalone) for question in without
        ]
    return orders


def score_task(
    scorer: AnyScorer, name: str, arguments: argparse.Namespace, about: RerankerAbout, placebo: bool
) -> list[ScoredList]:
    """The scored candidates of each question of one task, computed or saved."""
    path = arguments.output / f"{name}{WITHOUT_TABLE if placebo else ''}.json"
    lists = read_lists(arguments.output / "lists" / name)
    options = {"depth": arguments.depth, "queries": arguments.questions}
    settings = asdict(about)
    made_by = (
        options
        | {"lists": lists.checksum}
        | {field: settings[field] for field in ("name", "direction", "placebo", "late", "training")}
    )
    if not path.exists():
        questions = score_lists(scorer, lists, direction=about.direction, placebo=placebo, **options)
        path.write_text(json.dumps({"made_by": made_by, "scored": [asdict(question) for question in questions]}) + "\n")
    saved = json.loads(path.read_text())
    if saved.get("made_by") != made_by:
        raise SystemExit(
            f"{path}: was computed with another model, questions or lists: remove it, or choose another folder"
        )
    return [ScoredList(**record) for record in saved["scored"]]


def summary(measures_by_task: Mapping[str, Mapping[str, list[float]]]) -> str:
    """A Markdown table of the measures by task, with means over directions for XQuAD-R sentences and paragraphs."""
    rows = sorted((_row(name, measures) for name, measures in measures_by_task.items()), key=_sort_key)
    lines = [
        "| unit | direction | questions | psq | standalone | p | **together** | gain | p | without the table |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *map(_line, rows),
    ]
    for unit in UNITS:
        lines += map(_line, _means([row for row in rows if row["unit"] == unit and row["data"] == "xquad_r"]))
    if joined := _every_question([row for row in rows if row["unit"] != "paragraph"]):
        lines.append(_line(joined))
    return "\n".join(lines) + "\n"


def _row(name: str, measures: Mapping[str, list[float]]) -> dict[str, Any]:
    data_set, unit, source, target = name.rsplit("-", 3)
    language = target if source == "en" else source
    return {"data": data_set, "unit": unit, "pair": f"{source}-{target}", "language": language, **measures}


def _sort_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Sort key of a row: XQuAD-R first, languages in default order, from English first."""
    place = LANGUAGES.index(row["language"]) if row["language"] in LANGUAGES else len(LANGUAGES)
    return row["data"] != "xquad_r", row["unit"] == UNITS[1], place, not row["pair"].startswith("en-")


def _means(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Means over directions with the same questions: of each language, from and into English, and of all."""
    groups = {f"{language}, both": [row for row in rows if row["language"] == language] for language in LANGUAGES}
    groups["from English"] = [row for row in rows if row["pair"].startswith("en-")]
    groups["into English"] = [row for row in rows if row["pair"].endswith("-en")]
    groups[f"all {len(rows)}"] = rows if len(rows) != 2 else []
    for title, group in groups.items():
        if len(group) > 1:
            # All directions have the same questions: a question's mean over them is one observation.
            shared = [order for order in ORDERS if all(order in row for row in group)]
            means = {order: np.mean([row[order] for row in group], 0).tolist() for order in shared}
            yield {"unit": rows[0]["unit"], "pair": title, **means}


def _every_question(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """All questions of all data sets, each as its mean over directions; None for a single data set."""
    sets = [[row for row in rows if row["data"] == data_set] for data_set in sorted({row["data"] for row in rows})]
    if len(sets) < 2:
        return None
    shared = [order for order in ORDERS if all(order in row for row in rows)]
    whole = {
        order: np.concatenate([np.mean([row[order] for row in group], 0) for group in sets]).tolist()
        for order in shared
    }
    return {"unit": "sentence, passage", "pair": f"all {len(rows)}", **whole}


def _line(row: dict[str, Any]) -> str:
    means = {order: float(np.mean(row[order])) for order in ORDERS if order in row}
    cells = [row["unit"], row["pair"], len(row["psq"]), f"{means['psq']:.3f}"]
    cells += [
        f"{means['standalone']:.3f}",
        f"{paired_p(row['standalone'], row['psq']):.2g}",
        f"**{means['together']:.3f}**",
    ]
    cells += [f"{means['together'] / means['psq'] - 1:+.1%}", f"{paired_p(row['together'], row['psq']):.2g}"]
    cells += [f"{means['without_table']:.3f}" if "without_table" in means else ""]
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
