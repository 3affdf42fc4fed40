"""What reranking adds to the first stage, on questions that nothing was trained or tuned on.

    python -m benchmarks.reranking.quality --data DATA --tables runs/first_stage/tables --output runs/reranking
    python -m benchmarks.reranking.quality --output runs/reranking --kept

For each language, both directions, XQuAD-R sentences and paragraphs, for Swahili AfriQA's questions over English
passages, for Swahili and Somali FLORES sentences: MAP of psq's best hits as they are, in the order
of standalone scores, as the rerank endpoints answer, and of model and first stage together, as searches do, with the
weights that were fitted on the tuning questions; with `--without-table` also together with the table taken away from
the model. Lists that are in the output folder already are kept, and so are scores, so that an interrupted run goes on
and another weight of the first stage or of standalone scores needs no new run. The summary is of all tasks that the
folder has scores of, of this run or earlier ones; with `--kept` of these alone. Of XQuAD-R there are also means of each
language's two directions, of all from and all into English, and of all. p-values are of paired two-tailed t-tests
against psq, a question's mean over the directions being one observation. The tables are those that
`benchmarks/retrieval/first_stage.py` makes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import ttest_rel

from dragoman.ranking.about import MartAbout
from dragoman.ranking.scoring import Scorer, load_scorer
from dragoman.ranking.training.lists import read_lists
from dragoman.ranking.training.measuring import Scored, score_lists
from dragoman.service.evaluation.candidate_sources import Judged, MartSources, prepare

TEST = r"para=^.*-a(?!0(0\d|1[01])-)"
"""XQuAD-R questions of all articles but a000 to a011, which are for tuning."""
UNITS = ("sentence", "paragraph")
LANGUAGES = ("de", "es", "ru", "zh", "ar", "sw", "so")
ORDERS = ("psq", "standalone", "together", "without_table")
WITHOUT_TABLE = "-without-table"


def main() -> None:
    """Run what is missing and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--kept", action="store_true", help="measure nothing that is not kept")
    parser.add_argument("--model", default="mart")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--units", default=",".join(UNITS))
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--questions", type=int, help="at even distances; default: all")
    parser.add_argument("--without-table", action="store_true")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if not arguments.kept and not (arguments.data and arguments.tables):
        parser.error("--data and --tables: are missing")
    scorer, about = load_scorer(arguments.model)
    rows = {name: measured(scorer, name, arguments, about) for name in kept(arguments.output)}
    for language in () if arguments.kept else arguments.languages.split(","):
        for task in tasks(arguments, language):
            sources = MartSources(str(arguments.tables), languages=[language], tuning=[task])
            lists = arguments.output / "lists"
            prepare(sources, scorer.encoder, lists, lists, lambda: None)
            pairs = [f"en-{language}", f"{language}-en"] if task.languages else [f"{task.source}-{task.target}"]
            for pair in pairs:
                name = f"{Path(task.data).name}-{task.unit}-{pair}"
                rows[name] = measured(scorer, name, arguments, about)
                (arguments.output / "summary.md").write_text(summary(rows), encoding="utf-8")
    if not rows:
        parser.error(f"--kept: there are no scores in {arguments.output}")
    (arguments.output / "summary.md").write_text(summary(rows), encoding="utf-8")
    print(summary(rows))  # noqa: T201


def kept(output: Path) -> list[str]:
    """The tasks that the output folder has scores of."""
    names = (path.stem for path in output.glob("*-*-*-*.json"))
    return sorted(name for name in names if not name.endswith(WITHOUT_TABLE))


def tasks(arguments: argparse.Namespace, language: str) -> Iterator[Judged]:
    """What a language is measured on: XQuAD-R, and Swahili and Somali on AfriQA and FLORES."""
    if language in ("sw", "so"):
        if language == "sw":
            yield Judged(str(arguments.data / "afriqa"), "passage", "sw", queries="sw.open", depth=arguments.depth)
        yield Judged(str(arguments.data / "flores200"), "sentence", languages=[language], depth=arguments.depth)
        return
    for unit in arguments.units.split(","):
        yield Judged(str(arguments.data / "xquad_r"), unit, languages=[language], only=TEST, depth=arguments.depth)


def measured(scorer: Scorer, name: str, arguments: argparse.Namespace, about: MartAbout) -> dict[str, list[float]]:
    """Average precision of each question of one task, in each order."""
    found = scored(scorer, name, arguments, about, about.placebo)
    orders = {
        "psq": [one.average_precision(None) for one in found],
        "standalone": [one.average_precision(0.0, about.standalone) for one in found],
        "together": [one.average_precision(about.first_stage_weight, about.standalone) for one in found],
    }
    if arguments.without_table or (arguments.output / f"{name}{WITHOUT_TABLE}.json").exists():
        without = scored(scorer, name, arguments, about, True)
        orders["without_table"] = [one.average_precision(about.first_stage_weight, about.standalone) for one in without]
    return orders


def scored(scorer: Scorer, name: str, arguments: argparse.Namespace, about: MartAbout, placebo: bool) -> list[Scored]:
    """The candidates of each question of one task with their scores, made or as they were kept."""
    path = arguments.output / f"{name}{WITHOUT_TABLE if placebo else ''}.json"
    lists = read_lists(arguments.output / "lists" / name)
    options = {"depth": arguments.depth, "queries": arguments.questions}
    known = asdict(about)
    made_by = (
        options
        | {"lists": lists.checksum}
        | {one: known[one] for one in ("name", "direction", "placebo", "late_interaction", "training")}
    )
    if not path.exists():
        found = score_lists(scorer, lists, direction=about.direction, placebo=placebo, **options)
        path.write_text(json.dumps({"made_by": made_by, "scored": [asdict(one) for one in found]}) + "\n")
    kept = json.loads(path.read_text())
    if kept.get("made_by") != made_by:
        raise SystemExit(
            f"{path}: is of another model, other questions or other lists: remove it, or choose another folder"
        )
    return [Scored(**one) for one in kept["scored"]]


def p_value(row: dict[str, list[float]], order: str) -> float:
    """Of a paired two-tailed t-test of an order against the first stage's."""
    return 1.0 if row[order] == row["psq"] else float(ttest_rel(row[order], row["psq"]).pvalue)


def summary(found: Mapping[str, Mapping[str, list[float]]]) -> str:
    """A Markdown table of the measures by task; of XQuAD-R's sentences and paragraphs also means over directions."""
    rows = sorted((_row(name, measures) for name, measures in found.items()), key=_place)
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
    data, unit, source, target = name.rsplit("-", 3)
    language = target if source == "en" else source
    return {"data": data, "unit": unit, "pair": f"{source}-{target}", "language": language, **measures}


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    """Where a row comes: XQuAD-R first, languages as they are given by default, from English first."""
    known = LANGUAGES.index(row["language"]) if row["language"] in LANGUAGES else len(LANGUAGES)
    return row["data"] != "xquad_r", row["unit"] == UNITS[1], known, not row["pair"].startswith("en-")


def _means(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Means over the directions, the same questions in each: of a language, from and into English, and of all."""
    groups = {f"{one}, both": [row for row in rows if row["language"] == one] for one in LANGUAGES}
    groups["from English"] = [row for row in rows if row["pair"].startswith("en-")]
    groups["into English"] = [row for row in rows if row["pair"].endswith("-en")]
    groups[f"all {len(rows)}"] = rows if len(rows) != 2 else []
    for title, alike in groups.items():
        if len(alike) > 1:
            # The same questions in every direction, so that a question's mean over them is one observation.
            shared = [one for one in ORDERS if all(one in row for row in alike)]
            means = {one: np.mean([row[one] for row in alike], 0).tolist() for one in shared}
            yield {"unit": rows[0]["unit"], "pair": title, **means}


def _every_question(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The questions of all data sets together, each one's mean over its directions; None of one data set."""
    sets = [[row for row in rows if row["data"] == data] for data in sorted({row["data"] for row in rows})]
    if len(sets) < 2:
        return None
    shared = [one for one in ORDERS if all(one in row for row in rows)]
    whole = {
        one: np.concatenate([np.mean([row[one] for row in alike], 0) for alike in sets]).tolist() for one in shared
    }
    return {"unit": "sentence, passage", "pair": f"all {len(rows)}", **whole}


def _line(row: dict[str, Any]) -> str:
    means = {one: float(np.mean(row[one])) for one in ORDERS if one in row}
    cells = [row["unit"], row["pair"], len(row["psq"]), f"{means['psq']:.3f}"]
    cells += [f"{means['standalone']:.3f}", f"{p_value(row, 'standalone'):.2g}", f"**{means['together']:.3f}**"]
    cells += [f"{means['together'] / means['psq'] - 1:+.1%}", f"{p_value(row, 'together'):.2g}"]
    cells += [f"{means['without_table']:.3f}" if "without_table" in means else ""]
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
