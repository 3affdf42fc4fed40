"""Search with the names of a query kept whole, beside search that translates them as other words.

    python -m dragoman_lab.benchmarks.search.names --data DATA --work runs/search --output runs/names --split tune

As `benchmarks/search/quality.py`, with its tables and collections. The questions are divided into those in which the
service finds names that it keeps, and the others. Each part has its MAP@100 with `"names": true` and false, and the
p-value of the difference over all directions (paired t-test over questions, each the mean over its directions).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.files.atomic import atomic_file
from dragoman_lab.benchmarks.search.measuring import MEASURE, System, measure
from dragoman_lab.benchmarks.search.quality import choose_languages, tables_of, tasks
from dragoman_lab.evaluation.benchmark import SPLITS, Benchmark
from dragoman_lab.evaluation.evaluation import paired_p
from dragoman_lab.evaluation.search_client import SearchClient, open_search_client
from dragoman_lab.evaluation.serving import post

METHODS = ("hybrid", "psq")


def main() -> None:
    """Measure all directions, and print means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps trained tables")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--languages", help="comma-separated, or all; default: de, es, ru, zh, ar")
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    languages = choose_languages(arguments.languages, "xquad_r")
    methods = arguments.methods.split(",")
    tables = tables_of(arguments.data, languages, arguments.work, permissive=False)
    arguments.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with open_search_client(None, tables, embeddings="hybrid" in methods) as client:
        for task in tasks(arguments.data, "xquad_r", languages, "sentence", arguments.split):
            collection = client.collection(f"xquad_r-sentence-{task.target}", task.target, task.documents)
            rows += measure_questions(client, collection, task, methods)
            with atomic_file(arguments.output / "names.json") as unfinished:
                unfinished.write_text(json.dumps({"split": arguments.split, "rows": rows}) + "\n", encoding="utf-8")
    print(report(rows, methods))  # noqa: T201


def measure_questions(
    client: SearchClient, collection: str, task: Benchmark, methods: Sequence[str]
) -> list[dict[str, Any]]:
    """A row for each question: whether it holds a name that is kept, and its MAP@100 by system."""
    fields = {method: {"method": method, "rerank": False} for method in methods}
    chosen = [
        System(f"{method} {names}", fields[method] | {"names": names == "kept"}, "given")
        for method in methods
        for names in ("translated", "kept")
    ]
    outcomes = measure(client, collection, task, chosen)
    rows = []
    for query, text in task.queries.items():
        body = {"query": text, "query_language": task.source, "collections": [collection], "top_k": 1}
        answer = post(client.client, "/v1/search", json=body | {"method": "psq", "rerank": False, "names": True}).json()
        values = {name: outcome.evaluation.per_query[MEASURE].get(query, 0.0) for name, outcome in outcomes.items()}
        row = {"source": task.source, "target": task.target, "query": query, "names": answer["translation"]["names"]}
        rows.append(row | {"values": values})
    return rows


def report(rows: Sequence[dict[str, Any]], methods: Sequence[str]) -> str:
    """The means and p-values as a table of Markdown."""
    lines = [
        "| method | direction | questions | names | translated | kept | p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    directions = ["all", *dict.fromkeys(f"{row['source']}-{row['target']}" for row in rows)]
    for method in methods:
        for direction in directions:
            for held in (True, False):
                some = [
                    row
                    for row in rows
                    if bool(row["names"]) == held and direction in ("all", f"{row['source']}-{row['target']}")
                ]
                before, after = (by_question(some, f"{method} {treatment}") for treatment in ("translated", "kept"))
                if len(before) < 2:
                    continue
                p = paired_p(after, before)
                kind = "with" if held else "without"
                means = f"{np.mean(before):.4f} | {np.mean(after):.4f} | {p:.2g}"
                lines.append(f"| {method} | {direction} | {len(before)} | {kind} | {means} |")
    return "\n".join(lines)


def by_question(rows: Sequence[dict[str, Any]], system: str) -> list[float]:
    """The value of a system for each question: the mean over directions, which are not independent of each other."""
    by_query: dict[str, list[float]] = {}
    for row in rows:
        by_query.setdefault(row["query"], []).append(row["values"][system])
    return [float(np.mean(values)) for values in by_query.values()]


if __name__ == "__main__":
    main()
