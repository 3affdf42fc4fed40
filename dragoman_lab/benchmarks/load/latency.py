"""Latency of a search on the demo collection, and the memory of the idle service.

    python -m dragoman_lab.benchmarks.load.latency

Loads the demo into a temporary folder, serves it in a separate process, and waits until all embeddings are made where
the service makes them. Sends the demo's English queries over HTTP, one at a time, to all collections, for ten
hits with evidence. They are asked by the default method, which is printed, without reranking and with the best hits
reranked, at each of the `--depths`. The median number of hits is printed, as a query may have fewer. They are asked by
`psq` as well, which reranks by itself as many as its budget allows. First rounds, with cold caches, are reported
separately. The time that glosses add is what the answers say of it (`timings_ms.gloss`). Then each query is sent to the
rerank endpoint with the next 50 of the demo's articles. `--no-rerank` loads no reranker and stops before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

import httpx

from dragoman_lab.benchmarks.memory import mebibytes


def search(client: httpx.Client, queries: list[str], **more: object) -> list[float]:
    """The latency of each query in milliseconds."""
    times = []
    for query in queries:
        started = time.perf_counter()
        client.post("/v1/search", json={"query": query, "top_k": 10, **more}).raise_for_status()
        times.append((time.perf_counter() - started) * 1000)
    return times


def gloss(client: httpx.Client, queries: list[str]) -> list[float]:
    """The milliseconds that the glosses of ten hits took, for each query."""
    asked = ({"query": query, "top_k": 10, "rerank": False, "gloss": True} for query in queries)
    answers = (client.post("/v1/search", json=body).raise_for_status().json() for body in asked)
    return [answer["timings_ms"]["gloss"] for answer in answers]


def default_method(client: httpx.Client, query: str) -> str:
    """The default method, once all embeddings that are being made have been."""
    while any((collection["embeddings"] or {}).get("state") == "building" for collection in collections(client)):
        time.sleep(0.5)
    answer = client.post("/v1/search", json={"query": query}).raise_for_status()
    return str(answer.json()["method"])


def collections(client: httpx.Client) -> list[dict[str, Any]]:
    """All collections, with the state of their embeddings."""
    listing: list[dict[str, Any]] = client.get("/v1/collections").raise_for_status().json()["collections"]
    return listing


def hits(client: httpx.Client, query: str) -> int:
    """The number of hits of a query, at most 50."""
    answer = client.post("/v1/search", json={"query": query, "top_k": 50, "rerank": False}).raise_for_status()
    return len(answer.json()["hits"])


def rerank(client: httpx.Client, queries: list[str], documents: list[str]) -> list[float]:
    """The latency of each query with 50 documents in milliseconds; the documents change with every query."""
    times = []
    for place, query in enumerate(queries):
        chosen = [(50 * place + index) % len(documents) for index in range(50)]
        body = {"query": query, "query_language": "en", "documents": [documents[index] for index in chosen]}
        started = time.perf_counter()
        answer = client.post("/v1/rerank", json=body).raise_for_status()
        times.append((time.perf_counter() - started) * 1000)
        if len(answer.json()["results"]) != len(chosen):
            raise SystemExit(f"{query}: not all documents were scored")
    return times


def reranking(client: httpx.Client, queries: list[str], depths: list[int], rounds: int) -> dict[str, list[float]]:
    """The latencies of reranked searches and of the rerank endpoint in milliseconds."""
    many = statistics.median(hits(client, query) for query in queries)
    print(f"of the best 50 hits a query has {many:g} in the median")  # noqa: T201
    search(client, queries[:1], rerank={"depth": 1})  # loads the model
    measured = {}
    for depth in depths:
        measured |= measure_rounds(
            f"best {depth} reranked", rounds, partial(search, client, queries, rerank={"depth": depth})
        )
    texts = articles()
    measured |= measure_rounds("psq by default", rounds, partial(search, client, queries, method="psq"))
    return measured | measure_rounds("50 articles to the endpoint", rounds, partial(rerank, client, queries, texts))


def measure_rounds(title: str, rounds: int, measure: Callable[[], list[float]]) -> dict[str, list[float]]:
    """What a first round and the later ones measure."""
    return {
        f"{title}, first round": measure(),
        f"{title}, later rounds": [milliseconds for _ in range(rounds) for milliseconds in measure()],
    }


def articles() -> list[str]:
    """The texts of the demo's documents, alternating between languages."""
    folder = files("dragoman") / "demo"
    each = [
        [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.startswith("documents.")
    ]
    return [text for texts in zip(*each, strict=False) for text in texts]


def main() -> None:
    """Print one line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--queries", type=int, help="only so many of the demo's; default: all")
    parser.add_argument("--port", type=int, default=8971)
    parser.add_argument("--depths", default="10,20,50", help="of hits that are reranked")
    parser.add_argument("--no-rerank", action="store_true")
    arguments = parser.parse_args()
    lines = (files("dragoman") / "demo" / "queries.en.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [json.loads(line)["text"] for line in lines][: arguments.queries]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dragoman.cli.main", "demo", "--port", str(arguments.port)]
        command += ["--data-dir", folder]
        environment = os.environ | ({"DRAGOMAN_RERANK": "never"} if arguments.no_rerank else {})
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{arguments.port}", timeout=60) as client:
                while server.poll() is None:
                    try:
                        client.get("/readyz").raise_for_status()
                        break
                    except httpx.HTTPError:
                        time.sleep(0.2)
                idle = mebibytes(server.pid)
                print(f"method: {default_method(client, queries[0])}")  # noqa: T201
                rounds = arguments.rounds
                measured = measure_rounds("without reranking", rounds, partial(search, client, queries, rerank=False))
                measured |= measure_rounds("glosses", rounds, partial(gloss, client, queries))
                print(f"idle after start: {idle:.0f} MiB resident")  # noqa: T201
                print(f"after searches by default: {mebibytes(server.pid):.0f} MiB resident")  # noqa: T201
                if not arguments.no_rerank:
                    depths = [int(depth) for depth in arguments.depths.split(",")]
                    measured |= reranking(client, queries, depths, rounds)
                for name, times in measured.items():
                    median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
                    print(f"{name}: median {median:.1f} ms, p95 {p95:.1f} ms, {len(times)} requests")  # noqa: T201
                print(f"idle after searches: {mebibytes(server.pid):.0f} MiB resident")  # noqa: T201
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
