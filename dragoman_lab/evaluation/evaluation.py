"""``dragoman evaluate``: runs a benchmark through the HTTP API and measures it with ir-measures.

It starts a separate server on a new data directory, uploads the documents and tables, and sends every query to
``POST /v1/search`` like any client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import ir_measures
import numpy as np
from ir_measures import AP, R, nDCG
from rich.console import Console
from rich.table import Table as ScreenTable
from scipy.stats import ttest_rel

from dragoman.engine.core.trec import RunLine, trec_run
from dragoman.engine.search.request import BY_MEANING
from dragoman.store.tables.service import Tables
from dragoman_lab.evaluation.benchmark import Benchmark, BenchmarkError, Keep, Split, load_benchmark
from dragoman_lab.evaluation.search_client import SearchClient, wait_for_embeddings
from dragoman_lab.evaluation.serving import TableFile, serve_temporarily

SYSTEMS = {
    "bm25": "BM25 with the human-translated query: the upper bound of query translation",
    "none": "BM25 with the untranslated query",
    "smt": "weighted translation into the ten best terms",
    "psq": "probabilistic structured queries",
    "dense": "inner product of the query's sentence embedding and the best passage's",
    "hybrid": "psq and dense, fused, the first ones by late interaction as well",
    "reranked": "psq's hits by reranker and first stage combined; also `reranked-alone`, by the reranker's score only",
    "mart": "as `reranked`, by the reranker `mart`",
}
RERANKED, MART = ("reranked", "mart"), "mart"
MEASURES = {"MAP@100": AP @ 100, "nDCG@20": nDCG @ 20, "R@100": R @ 100}
DEPTH = 100

Run = dict[str, dict[str, float]]


def active_tables(tables: Tables, source: str, target: str, folder: Path) -> list[TableFile]:
    """Write the active tables between two languages to ``folder``."""
    files = []
    for version, rows in tables.active_for(source, target):
        path = folder / f"{version.name}.{version.version}.tsv"
        with path.open("w", encoding="utf-8") as stream:
            for source_term, target_term, p_ts, p_st, *written in rows:
                stream.write(f"{written[0] or source_term}\t{written[1] or target_term}\t{p_ts}\t{p_st}\n")
        files.append(TableFile(path, version.source, version.target, version.kind, version.weight))
    return files


@dataclass(slots=True)
class Evaluation:
    """The result of one system on one task: its run, its time, and the measures per query."""

    system: str
    run: Run
    seconds: float
    per_query: dict[str, dict[str, float]] = field(default_factory=dict)

    def mean(self, measure: str, queries: Sequence[str]) -> float:
        """The measure's mean over ``queries``; a query that retrieved nothing counts 0."""
        return sum(self.per_query[measure].get(query, 0.0) for query in queries) / len(queries)


def run(
    folder: Path,
    source: str,
    target: str,
    unit: str,
    systems: Sequence[str],
    output: Path,
    tables: Sequence[TableFile] = (),
    queries: str | None = None,
    only: str | None = None,
    without: str | None = None,
    split: Split = "tune",
) -> dict[str, Any]:
    """Evaluate ``systems`` on one task; write ``report.json`` and a TREC run per system to ``output``.

    ``only`` and ``without`` choose queries, each ``FIELD=REGEX`` on a field of the query file; ``split`` chooses a
    part of queries that have parts.

    Raises:
        BenchmarkError: the folder, a system's name, or a query filter is not valid.
    """
    task = load_benchmark(folder, source, target, unit, queries, choice(only, without), split)
    check_systems(systems, task)
    with serve_temporarily(tables, settings={"DRAGOMAN_RERANKER": MART} if MART in systems else None) as client:
        report = run_task(client, task, systems, output)
    Console().print(_screen_table(report))
    return report


def check_systems(systems: Sequence[str], task: Benchmark) -> None:
    """Raise :class:`BenchmarkError` for a system that is unknown, or that the task lacks data for."""
    unknown = [system for system in systems if system not in SYSTEMS]
    if unknown:
        raise BenchmarkError(f"unknown system {unknown[0]!r}; there are {', '.join(SYSTEMS)}")
    if {*RERANKED} <= {*systems}:
        raise BenchmarkError(f"a server has one reranker: {' and '.join(RERANKED)} need a run each")
    if "bm25" in systems and not task.translated_queries:
        raise BenchmarkError(f"the benchmark has no human translation of its queries into {task.target}: bm25 needs it")


def run_task(client: httpx.Client, task: Benchmark, systems: Sequence[str], output: Path) -> dict[str, Any]:
    """Evaluate ``systems`` on one task with a running server; write the report and the runs to ``output``."""
    check_systems(systems, task)
    asking = SearchClient(client, embeddings=False)
    name = asking.collection(f"{task.source}-{task.target}-{task.unit}", task.target, task.documents)
    results = [result for system in systems for result in evaluate(asking, name, task, system)]
    asking.close()
    report = _report(task, results)
    output.mkdir(parents=True, exist_ok=True)
    for result in results:
        write_run(output / f"{result.system}.trec", result)
    (output / "report.json").write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return report


def choice(only: str | None, without: str | None) -> Keep:
    """A filter for queries whose field matches ``only`` and not ``without``, each ``FIELD=REGEX``."""

    def matches(choice: str, row: dict[str, Any]) -> bool:
        name, _, pattern = choice.partition("=")
        if not pattern:
            raise BenchmarkError(f"{choice!r}: needs FIELD=REGEX")
        return re.search(pattern, str(row.get(name, ""))) is not None

    return lambda row: (not only or matches(only, row)) and not (without and matches(without, row))


def evaluate(client: SearchClient, collection: str, task: Benchmark, system: str) -> list[Evaluation]:
    """Run every query of the task through ``/v1/search`` and measure; a reranked system gives two results.

    Raises:
        BenchmarkError: hits of a reranked system were not reranked.
    """
    reranked = system in RERANKED
    fields = {
        "query_language": task.target if system == "bm25" else task.source,
        "method": {"bm25": "none", **dict.fromkeys(RERANKED, "psq")}.get(system, system),
        "rerank": {"depth": DEPTH} | ({"model": MART} if system == MART else {}) if reranked else False,
    }
    if system in BY_MEANING:
        wait_for_embeddings(client.client, collection)
    texts = task.translated_queries if system == "bm25" else task.queries
    title = f"{task.source}-{task.target} {system}"
    answers = client.ask(texts, [collection], DEPTH, fields, title, trec=not reranked)
    if missing := [reason for reason in answers.degraded if reason.startswith("rerank: ")]:
        raise BenchmarkError("; ".join(missing))
    runs = {system: answers.run}
    if reranked:
        runs[f"{system}-alone"] = {
            query: dict(sorted(scores.items(), key=lambda scored: -scored[1]))
            for query, scores in answers.reranked.items()
        }
    return [measure_run(task.qrels, Evaluation(name, run, answers.seconds)) for name, run in runs.items()]


def measure_run(qrels: Mapping[str, Mapping[str, int]], result: Evaluation) -> Evaluation:
    """``result`` with its measures per query."""
    result.per_query = {name: {} for name in MEASURES}
    names = {measure: name for name, measure in MEASURES.items()}
    for metric in ir_measures.iter_calc(list(MEASURES.values()), qrels, result.run):
        result.per_query[names[metric.measure]][metric.query_id] = metric.value
    return result


def _report(task: Benchmark, results: Sequence[Evaluation]) -> dict[str, Any]:
    queries = list(task.queries)
    best = max(results, key=lambda result: result.mean("MAP@100", queries))
    return {
        "source": task.source,
        "target": task.target,
        "unit": task.unit,
        "split": task.split,
        "queries": len(queries),
        "documents": len(task.documents),
        "systems": {
            result.system: {
                **{name: round(result.mean(name, queries), 4) for name in MEASURES},
                "queries_per_second": round(len(result.run) / result.seconds, 1),
                "p_against_best": None if result is best else p_value(result, best, queries),
            }
            for result in results
        },
        "p_values": {
            f"{first.system} against {second.system}": p_value(first, second, queries)
            for place, first in enumerate(results)
            for second in results[place + 1 :]
        },
    }


def p_value(first: Evaluation, second: Evaluation, queries: Sequence[str]) -> float:
    """`paired_p` of average precision per query."""
    return paired_p(*([result.per_query["MAP@100"].get(query, 0.0) for query in queries] for result in (first, second)))


def paired_p(first: Sequence[float], second: Sequence[float]) -> float:
    """p of a two-tailed paired t-test; 1 if nothing differs, not a number for a single pair."""
    return 1.0 if np.array_equal(first, second) else float(ttest_rel(first, second).pvalue)


def write_run(path: Path, result: Evaluation) -> None:
    """Write the TREC run of one system."""
    with path.open("w", encoding="utf-8") as stream:
        for query, hits in result.run.items():
            lines = [RunLine("", document, score) for document, score in hits.items()]
            stream.write(trec_run(query, lines, result.system, alone=True))


def _screen_table(report: dict[str, Any]) -> ScreenTable:
    title = "{source} to {target}, {queries} queries, {documents} documents ({unit})".format(**report)
    table = ScreenTable("system", *MEASURES, "queries/s", "p (MAP, against best)", title=title)
    for system, values in report["systems"].items():
        p_value = values["p_against_best"]
        table.add_row(
            system,
            *(f"{values[name]:.4f}" for name in MEASURES),
            f"{values['queries_per_second']:.1f}",
            "best" if p_value is None else f"{p_value:.2g}",
        )
    return table
