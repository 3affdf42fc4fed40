"""Uses of the rerank endpoints that no search makes: long documents, many documents, many callers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import pytest

from tests.support.serving import Server, server

pytestmark = pytest.mark.slow

DEMO = files("dragoman") / "demo"
WHOLE: list[str] = [
    json.loads(line)["text"] for line in (DEMO / "documents.de.jsonl").read_text(encoding="utf-8").splitlines()[:31]
]
"""The short ones of the demo's documents."""
MANY = [f"{number}. {WHOLE[number % len(WHOLE)][:160]}" for number in range(500)]
WORDS = " ".join(WHOLE).split()
LONG = " ".join((WORDS * (1 + 5_000 // len(WORDS)))[:5_000])
QUERY = "volcano eruption and ash"
MOST_MORE = 400 * 2**20
"""Bytes that any of these uses may take beside what a small request takes."""


@pytest.fixture(scope="module", params=["late", "mart"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = {"reranker": request.param, "encoder_precision": "float32"}
    with server(tmp_path_factory.mktemp("data"), as_shipped=True, **options) as running:
        table = (DEMO / "table.en-de.tsv").read_bytes()
        parameters = {"source": "en", "target": "de", "activate": True}
        running.client.put("/v1/tables/words", params=parameters, content=table).raise_for_status()
        yield running


def answered(running: Server, documents: list[str], query: str = QUERY) -> dict[str, Any]:
    body = {"query": query, "query_language": "en", "document_language": "de", "raw_scores": True}
    answer = running.client.post("/v1/rerank", json=body | {"documents": documents})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def scores(answer: dict[str, Any]) -> dict[int, float]:
    return {one["index"]: one["relevance_score"] for one in answer["results"]}


def test_scores_stand_still_and_memory_is_bounded(running: Server) -> None:
    small = scores(answered(running, MANY[:8]))
    before = running.peak_memory()

    many = answered(running, [*MANY[:-1], LONG])
    assert many["truncated"] == [499], "of a document of 5,000 words the beginning is read, and that is said"
    every = scores(many)
    assert len(every) == 500
    assert {number: every[number] for number in small} == pytest.approx(small, abs=2e-3)
    assert every[499] == pytest.approx(scores(answered(running, [LONG]))[0], abs=2e-3)

    def part(number: int) -> dict[int, float]:
        return scores(answered(running, MANY[10 * number : 10 * number + 10]))

    with ThreadPoolExecutor(32) as callers:
        parts = list(callers.map(part, range(32)))
    together = {10 * number + place: value for number, own in enumerate(parts) for place, value in own.items()}
    assert together == pytest.approx({number: every[number] for number in together}, abs=2e-3)
    assert running.peak_memory() - before < MOST_MORE
