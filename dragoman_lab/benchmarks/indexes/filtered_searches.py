"""Whole searches over HTTP under filters, by method, in turns."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from dragoman_lab.benchmarks.hostile.service import Service
from dragoman_lab.benchmarks.indexes.bm25_clients import ROOT
from dragoman_lab.benchmarks.load.distinct_queries import draw
from dragoman_lab.benchmarks.memory import processor_seconds

WORDS, VECTORS = "de", "near"
"""The collections: of many documents without embeddings, and of those that have them."""
METHODS: Mapping[str, Mapping[str, Any]] = {
    "psq": {"method": "psq", "collections": [WORDS]},
    "facets": {"method": "psq", "collections": [WORDS], "facets": ["tags", {"field": "of100", "size": 20}]},
    "dense": {"method": "dense", "collections": [VECTORS]},
    "hybrid": {"method": "hybrid", "collections": [VECTORS]},
}
BY_MEANING = {"dense", "hybrid"}
_READY_SECONDS = 300
Chosen = Mapping[tuple[str, float], Any]
"""Filters by kind and share; None is no filter."""


def measure_whole(
    folder: Path, questions: Iterator[str], chosen: Chosen, methods: Sequence[str], asked: int
) -> dict[str, float]:
    """Milliseconds of searches, each with a question of its own, and of the service's processor time.

    By `whole` or `computed`, the method, the kind of the filter, and its share.
    """
    spent: dict[str, list[float]] = defaultdict(list)
    server = Service(ROOT, folder, embed="on_demand", rerank="never", ner_tagger="off")
    server.start(warm=False)
    try:
        with server.client("none") as client:
            if BY_MEANING & set(methods):
                _open_embeddings(client)
            for turn in range(-(asked // 4), asked):
                for method in methods:
                    for name, question in zip(chosen, draw(questions, len(chosen)), strict=True):
                        whole, computed = _ask(client, server.process.pid, question, method, chosen[name])
                        if turn >= 0:  # those before are for Java's compiler
                            spent[f"whole|{method}|{name[0]}|{name[1]}"].append(whole)
                            spent[f"computed|{method}|{name[0]}|{name[1]}"].append(computed)
    finally:
        server.stop()
    return {what: statistics.median(times) for what, times in spent.items()}


def _ask(client: httpx.Client, process: int, question: str, method: str, filter: Any) -> tuple[float, float]:
    """The milliseconds of one search, and those of the service's processor time.

    Raises:
        SystemExit: its answer is not whole.
    """
    body = {"query": question, "query_language": "en", "rerank": False, **METHODS[method]}
    processor, started = processor_seconds(process), time.perf_counter()
    answer = client.post("/v1/search", json=body | ({"filter": filter} if filter else {})).raise_for_status()
    whole, computed = time.perf_counter() - started, processor_seconds(process) - processor
    if degraded := answer.json()["degraded"]:
        raise SystemExit(f"{method}: {degraded[0]['reason']}")
    return 1e3 * whole, 1e3 * computed


def _open_embeddings(client: httpx.Client) -> None:
    """Return when a search finds all embeddings.

    Raises:
        SystemExit: it does not within minutes.
    """
    until = time.monotonic() + _READY_SECONDS
    while time.monotonic() < until:
        answer = client.post("/v1/search", json={"query": "a house", "query_language": "en", **METHODS["dense"]})
        if answer.is_success and not answer.json()["degraded"]:
            return
        time.sleep(0.2)
    raise SystemExit(f"the embeddings are not there: {answer.text}")
