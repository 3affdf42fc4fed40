"""Whether two checkouts answer the same queries alike: the same hits, order, scores and evidence.

    python -m dragoman_lab.benchmarks.search.same_answers --baseline CHECKOUT [--data DATA]

Each checkout loads and serves the demo. Its English queries are asked by every method, without reranking and with the
best ten hits reranked, with ``explain`` and ``gloss``, and with names as a search has them by itself. With ``--data``
the collections are XQuAD's paragraphs in German and in English instead, with a dictionary of both, and the queries are
its questions for tuning, so many in each language over the other's paragraphs, the best ten hits reranked.
Numbers may differ by ``--tolerance``; times and request ids are left out. Precision and threads are fixed.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from importlib.resources import files
from itertools import islice, product
from pathlib import Path
from typing import Any

import httpx

from dragoman_lab.benchmarks.hostile.service import Service
from dragoman_lab.benchmarks.retrieval.first_stage import make_tables
from dragoman_lab.evaluation.benchmark import load_benchmark

ROOT = Path(__file__).resolve().parents[3]
_METHODS = (None, "psq", "smt", "none", "dense", "hybrid")
_LEFT_OUT = frozenset({"request_id", "timings_ms"})


def answers(checkout: Path, data_folder: Path | None, questions: int) -> dict[str, Any]:
    """The answers of a checkout by query, method and reranking."""
    answers_by_title: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        service = Service(
            checkout, Path(folder, "data"), encoder_precision="float32", torch_threads="1", request_seconds="600"
        )
        if data_folder is None:
            service.load_demo()
        service.start()
        try:
            with service.client("none") as client:
                bodies = (
                    _demo_bodies()
                    if data_folder is None
                    else _xquad_bodies(client, data_folder, questions, Path(folder))
                )
                service.wait_for_embeddings(client)
                for body in bodies:
                    answer = client.post("/v1/search", json=body).raise_for_status()
                    answers_by_title[json.dumps(body, ensure_ascii=False)] = {
                        name: part for name, part in answer.json().items() if name not in _LEFT_OUT
                    }
        finally:
            service.stop()
    return answers_by_title


def _demo_bodies() -> list[dict[str, Any]]:
    lines = (files("dragoman") / "demo" / "queries.en.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {"query": json.loads(line)["text"], "method": method, "rerank": rerank, "explain": True, "gloss": True}
        for line, method, rerank in product(lines, _METHODS, (False, {"depth": 10}))
    ]


def _xquad_bodies(client: httpx.Client, data_folder: Path, questions: int, work: Path) -> list[dict[str, Any]]:
    """Fill the collections and the table; returns the searches."""
    tasks = [
        load_benchmark(data_folder / "xquad_r", *pair, "paragraph", split="tune")
        for pair in (("en", "de"), ("de", "en"))
    ]
    for task in tasks:
        client.post("/v1/collections", json={"name": task.target, "language": task.target}).raise_for_status()
        lines = "\n".join(json.dumps({"id": id, "text": text}) for id, text in task.documents.items())
        headers = {"Content-Type": "application/x-ndjson"}
        client.post(
            f"/v1/collections/{task.target}/documents", content=lines.encode(), headers=headers
        ).raise_for_status()
    (table,) = make_tables(data_folder, "de", work / "tables", True, "dictionaries")
    address = "/v1/tables/dictionary?source=en&target=de&activate=true"
    client.put(address, content=table.path.read_bytes(), timeout=600.0).raise_for_status()
    return [
        {"query": query, "query_language": task.source, "collections": [task.target], "method": method}
        | {"rerank": {"depth": 10}, "explain": True, "gloss": True}
        for task in tasks
        for query, method in product(islice(task.queries.values(), questions), _METHODS)
    ]


def difference(before: Any, now: Any, tolerance: float, place: str = "") -> str | None:
    """Where two answers differ first, and how; None if they are alike. Fields that are new do not count."""
    if isinstance(before, dict) and isinstance(now, dict):
        steps = ((before[name], now.get(name), f"{place}.{name}") for name in before)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        steps = (
            (first, second, f"{place}[{index}]") for index, (first, second) in enumerate(zip(before, now, strict=True))
        )
    elif isinstance(before, float) and isinstance(now, float | int):
        return None if math.isclose(before, now, rel_tol=0, abs_tol=tolerance) else f"{place}: {before} is now {now}"
    else:
        return None if before == now else f"{place}: {str(before)[:200]} is now {str(now)[:200]}"
    return next((description for step in steps if (description := difference(*step[:2], tolerance, step[2]))), None)


def main() -> None:
    """Print how many answers are alike, and the first difference of each other one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, required=True, help="the other checkout")
    parser.add_argument("--data", type=Path, help="the folder of test collections: its questions instead of the demo's")
    parser.add_argument("--questions", type=int, default=100, help="how many of each language, with --data")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    arguments = parser.parse_args()
    before, now = (
        answers(checkout, arguments.data, arguments.questions) for checkout in (arguments.baseline.resolve(), ROOT)
    )
    differences = {title: difference(before[title], now[title], arguments.tolerance) for title in before}
    for title, description in differences.items():
        if description is not None:
            print(f"{title}: {description}")  # noqa: T201
    alike = sum(description is None for description in differences.values())
    print(f"{alike} of {len(differences)} answers are alike")  # noqa: T201


if __name__ == "__main__":
    main()
