"""A client of ``/v1/jobs``, and jobs to send."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import httpx

from tests.support.serving import wait_for

NDJSON = {"content-type": "application/x-ndjson"}
FINISHED = {"completed", "failed", "cancelled", "expired"}
TABLE = b"volcano\tVulkan\t1\t1\nash\tAsche\t0.6\t0.6\n"


def body(lines: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def rerank_lines(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Rerank requests, each with scores of its own."""
    return [
        {
            "custom_id": f"q{number}",
            "query": "volcano ash",
            "query_language": "en",
            "document_language": "de",
            "documents": ["Vulkan", {"id": f"x{number}", "text": "Asche " * (number % 7 + 1)}],
            "raw_scores": True,
        }
        for number in range(first, first + count)
    ]


def search_lines(count: int) -> list[dict[str, Any]]:
    """Searches of the documents of :func:`upload_documents`."""
    lines = [{"custom_id": f"q{number}", "query": f"neno{number % 9} wote"} for number in range(count)]
    return [line | {"query_language": "sw", "rerank": False, "top_k": 3} for line in lines]


def upload_documents(client: httpx.Client) -> None:
    client.post("/v1/collections", json={"name": "sw", "language": "sw"}).raise_for_status()
    documents = [{"id": f"d{number}", "text": f"neno{number % 9} namba{number} wote"} for number in range(30)]
    client.post("/v1/collections/sw/documents", content=body(documents), headers=NDJSON).raise_for_status()


def upload_table(client: httpx.Client, content: bytes = TABLE) -> int:
    asked = {"source": "en", "target": "de", "activate": "true"}
    answer = client.put("/v1/tables/words", params=asked, content=content)
    assert answer.status_code == 201, answer.text
    version: int = answer.json()["version"]
    return version


def post(
    client: httpx.Client, lines: Sequence[dict[str, Any]], type: str = "rerank", key: str | None = None, **more: str
) -> httpx.Response:
    headers = NDJSON if key is None else NDJSON | {"Idempotency-Key": key}
    return client.post("/v1/jobs", params={"type": type, **more}, content=body(lines), headers=headers)


def submit(client: httpx.Client, lines: Sequence[dict[str, Any]], type: str = "rerank", **more: str) -> str:
    """The id of a new job."""
    answer = post(client, lines, type, **more)
    assert answer.status_code == 202, answer.text
    id: str = answer.json()["id"]
    return id


def job(client: httpx.Client, id: str) -> dict[str, Any]:
    answer = client.get(f"/v1/jobs/{id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def done(client: httpx.Client, id: str) -> int:
    counts = job(client, id)["counts"]
    return int(counts["completed"] + counts["failed"])


def finished(client: httpx.Client, id: str) -> dict[str, Any]:
    """The job, once it has finished."""
    wait_for(lambda: job(client, id)["status"] in FINISHED)
    return job(client, id)


def read(client: httpx.Client, id: str, what: str) -> list[dict[str, Any]]:
    answer = client.get(f"/v1/jobs/{id}/{what}")
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def answered_once(client: httpx.Client, id: str) -> Counter[str]:
    """How often each custom_id is in the results and errors."""
    return Counter(one["custom_id"] for what in ("results", "errors") for one in read(client, id, what))
