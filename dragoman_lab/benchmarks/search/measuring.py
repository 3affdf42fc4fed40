"""Systems to compare, their measures on a task, and the report: MAP@100 by ir_measures, TREC runs, p-values."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman_lab.evaluation.benchmark import Benchmark, BenchmarkError
from dragoman_lab.evaluation.evaluation import DEPTH, MEASURES, Evaluation, measure_run, p_value, paired_p, write_run
from dragoman_lab.evaluation.search_client import Answers, QueryRecord, SearchClient

MEASURE = "MAP@100"
MODELS = frozenset({"dense", "hybrid"})
"""Methods that need embeddings whatever the service does by default."""


@dataclass(frozen=True)
class System:
    """What is sent with a query beside the collections and ``top_k``."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    language: Literal["detected", "given"] = "detected"
    """Whether the request says the query's language."""
    human: bool = False
    """Whether the query is its human translation into the documents' language."""


DEFAULT = System("default")
"""Nothing but the query and the collections."""
PSQ = System("psq", {"method": "psq", "rerank": False}, "given")
HUMAN = System("human", {"method": "none", "rerank": False}, "given", human=True)
"""BM25 with the query as a human put it into the documents' language."""
BM25 = System("bm25", {"method": "none", "rerank": False}, "given")
"""BM25 with the query as it is: for documents in its language."""
SYSTEMS_BY_NAME = {system.name: system for system in (DEFAULT, PSQ, HUMAN, BM25)}


def systems(names: str, methods: str | None, rerank: str | None) -> list[System]:
    """The systems of the command line: known names, and one more for each method of an ablation.

    ``rerank`` is ``off`` or a depth; it goes to the default and to the ablations, and into their names.

    Raises:
        BenchmarkError: an unknown name, or a depth that is no number.
    """
    if unknown := [name for name in names.split(",") if name not in SYSTEMS_BY_NAME]:
        raise BenchmarkError(f"unknown system {unknown[0]!r}; there are {', '.join(SYSTEMS_BY_NAME)}")
    if rerank is not None and rerank != "off" and not rerank.isdigit():
        raise BenchmarkError(f"rerank is off or a depth, not {rerank!r}")
    how: dict[str, Any] = {} if rerank is None else {"rerank": False if rerank == "off" else {"depth": int(rerank)}}
    suffix = "" if rerank is None else f"-rerank-{rerank}"
    chosen = [SYSTEMS_BY_NAME[name] for name in names.split(",")]
    chosen = [System(f"default{suffix}", how) if system is DEFAULT else system for system in chosen]
    ablations = methods.split(",") if methods else []
    return chosen + [System(f"{method}{suffix}", {"method": method, **how}) for method in ablations]


def needs_embeddings(chosen: Sequence[System]) -> bool:
    """Whether a system asks for a method that searches embeddings."""
    return any(system.fields.get("method") in MODELS for system in chosen)


@dataclass(slots=True)
class Measured:
    """One system on one task."""

    evaluation: Evaluation
    answers: Answers
    source: str

    @property
    def diagnosis(self) -> dict[str, Any]:
        """What the service said of its answers, and how long they took."""
        answers = self.answers
        wrong = sum(count for language, count in answers.languages.items() if language != self.source)
        return {
            "milliseconds_median": round(statistics.median(answers.milliseconds), 1),
            "queries_per_second": round(len(answers.milliseconds) / answers.seconds, 1),
            "methods": dict(answers.methods),
            "query_language_wrong": round(wrong / answers.languages.total(), 4),
            "degraded": dict(answers.degraded),
        }


def measure(client: SearchClient, collection: str, task: Benchmark, chosen: Sequence[System]) -> dict[str, Measured]:
    """Ask every query of a task with each system; systems that the task lacks human translations for are left out.

    Raises:
        BenchmarkError: an answer was not reranked or embedded as it should have been.
    """
    outcomes = {}
    for system in chosen:
        if system.human and not task.translated_queries:
            continue
        texts = task.translated_queries if system.human else task.queries
        source = task.target if system.human else task.source
        language = {"query_language": source} if system.language == "given" else {}
        title = f"{task.source}-{task.target} {system.name}"
        answers = client.ask(texts, [collection], DEPTH, {**language, **system.fields}, title)
        check_complete(answers, title)
        evaluation = measure_run(task.qrels, Evaluation(system.name, answers.run, answers.seconds))
        outcomes[system.name] = Measured(evaluation, answers, source)
    return outcomes


def check_complete(answers: QueryRecord, title: str) -> None:
    """
    Raises:
        BenchmarkError: a stage other than detection and translation did less than asked: its figures would be others.
    """
    for what in answers.degraded:
        if not what.startswith(("detect:", "translate:")):
            raise BenchmarkError(f"{title}: {answers.degraded[what]} answers were degraded: {what}")


def measure_task(
    folder: Path, client: SearchClient, collection: str, task: Benchmark, chosen: Sequence[System]
) -> dict[str, Any]:
    """A task's part of the report; measured, unless ``folder`` has it of an earlier run with the same systems."""
    path, asked = folder / "task.json", [system.name for system in chosen]
    if path.exists() and (saved := json.loads(path.read_text(encoding="utf-8")))["asked"] == asked:
        return dict(saved)
    row = write_task(folder, task, measure(client, collection, task, chosen)) | {"asked": asked}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return row


def write_task(folder: Path, task: Benchmark, outcomes: Mapping[str, Measured]) -> dict[str, Any]:
    """Write a TREC run for each system to ``folder``; returns the task's part of the report."""
    folder.mkdir(parents=True, exist_ok=True)
    queries = list(task.queries)
    for outcome in outcomes.values():
        write_run(folder / f"{outcome.evaluation.system}.trec", outcome.evaluation)
    first = next(iter(outcomes.values())).evaluation
    return {
        "source": task.source,
        "target": task.target,
        "unit": task.unit,
        "queries": len(queries),
        "documents": len(task.documents),
        "systems": {
            name: {measure: round(outcome.evaluation.mean(measure, queries), 4) for measure in MEASURES}
            | {"p_against_first": None if outcome.evaluation is first else p_value(first, outcome.evaluation, queries)}
            | outcome.diagnosis
            for name, outcome in outcomes.items()
        },
        "average_precision": {
            name: [round(outcome.evaluation.per_query[MEASURE].get(query, 0.0), 6) for query in queries]
            for name, outcome in outcomes.items()
        },
    }


def write_report(folder: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Write ``report.json`` and ``summary.md``; returns the summary."""
    text = summary(rows)
    content = {**about, "tasks": rows, "means": means(rows)}
    (folder / "report.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "summary.md").write_text(text, encoding="utf-8")
    return text


def means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean over tasks of each system's MAP, for the systems that all tasks have."""
    shared = [name for name in rows[0]["systems"] if all(name in row["systems"] for row in rows)]
    return {name: round(statistics.mean(row["systems"][name][MEASURE] for row in rows), 4) for name in shared}


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of MAP@100 by task, with p-values of the first system against each other one."""
    names = list(dict.fromkeys(name for row in rows for name in row["systems"]))
    return "\n".join(_summary_lines(rows, names)) + "\n"


def _summary_lines(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[str]:
    others = names[1:]
    titles = ["unit", "direction", "queries", *names, *(f"p ({names[0]}, {name})" for name in others)]
    yield f"| {' | '.join(titles)} |"
    yield "|" + "---|" * (3 + len(names) + len(others))
    for row in rows:
        systems = row["systems"]
        cells = [row["unit"], f"{row['source']} to {row['target']}", str(row["queries"])]
        cells += [f"{systems[name][MEASURE]:.4f}" if name in systems else "-" for name in names]
        cells += [_p(systems.get(name, {}).get("p_against_first")) for name in others]
        yield f"| {' | '.join(cells)} |"
    if len(rows) > 1:
        averages = means(rows)
        cells = [
            "",
            f"mean of {len(rows)}",
            "",
            *(f"{averages[name]:.4f}" if name in averages else "-" for name in names),
        ]
        cells += [_p(_p_of_means(rows, names[0], name)) for name in others]
        yield f"| {' | '.join(cells)} |"


def _p_of_means(rows: Sequence[Mapping[str, Any]], first: str, second: str) -> float | None:
    """p of a paired two-tailed t-test; a parallel question's mean over the directions is one observation.

    None where the tasks do not have the same number of questions, or not both systems.
    """
    if any(name not in row["systems"] for row in rows for name in (first, second)):
        return None
    if len({row["queries"] for row in rows}) > 1:
        return None
    pair = [
        [statistics.mean(values) for values in zip(*(row["average_precision"][name] for row in rows), strict=True)]
        for name in (first, second)
    ]
    return paired_p(*pair)


def _p(probability: float | None) -> str:
    return "-" if probability is None else f"{probability:.1g}"
