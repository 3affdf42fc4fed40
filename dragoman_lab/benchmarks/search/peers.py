"""Quality and searches a second beside what a user would build instead, over the same weights, documents and queries.

    python -m dragoman_lab.benchmarks.search.peers --data DATA --work runs/peers --peer PYTHON

The other one is sentence-transformers, faiss and bm25s with score fusion, in one process behind FastAPI
(`peer_server.py`). PYTHON is an interpreter of an environment with these packages. It has our encoder's weights as a
Hugging Face folder, and the vectors of both in float32 must agree. The sets are sentences of XQuAD-R, searched with
questions of their language and of another one (`--directions en-en en-de`). Dragoman has the tables between the two
that `retrieval.first_stage` makes in `--work`, and is asked by default: with nothing but query and collection.

Quality is MAP@100 and recall@10 over the questions for tuning. The other one gets the weight of its vectors that has
the best MAP over them; for `--split test` it is given with `--weights`, one for each direction. Then both are asked the
questions, each with a further word so that no query is asked twice, for ten hits, in turns, by 1 and 8 clients.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import ir_measures
import numpy as np
import torch
from ir_measures import AP, R

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman_lab.benchmarks.load.distinct_queries import draw, vary
from dragoman_lab.benchmarks.load.throughput import ask, rate
from dragoman_lab.benchmarks.retrieval.first_stage import make_tables
from dragoman_lab.benchmarks.search.encoder_folder import write_folder
from dragoman_lab.benchmarks.search.encoding_speed import least_cosine
from dragoman_lab.evaluation.benchmark import SPLITS, Benchmark, BenchmarkError, load_benchmark
from dragoman_lab.evaluation.search_client import SearchClient, open_search_client
from dragoman_lab.evaluation.serving import require_success

OURS, PEER = "dragoman", "peer"
MEASURES = {"MAP@100": AP @ 100, "R@10": R @ 10}
WEIGHTS = (0.0, 0.3, 0.5, 0.7, 0.9, 1.0)
LEAST_COSINE = 0.999
_DEPTH = 100
_COMPARED = 40
Run = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Peer:
    """The other service: its address, and what it chose."""

    url: str
    about: Mapping[str, Any] = field(default_factory=dict)

    def run(self, queries: Mapping[str, str], weight: float) -> Run:
        """The best hundred documents of each query."""
        ranking = {}
        with httpx.Client(timeout=600, trust_env=False) as client:
            for key, text in queries.items():
                body = {"query": text, "top_k": _DEPTH, "weight": weight}
                hits = require_success(client.post(f"{self.url}/search", json=body)).json()["hits"]
                ranking[key] = {hit["id"]: hit["score"] for hit in hits}
        return ranking

    def check_vectors(self, texts: Sequence[str]) -> float:
        """The least cosine of its vectors and ours of the same texts, both in float32.

        Raises:
            BenchmarkError: they are not of the same weights.
        """
        response = httpx.post(f"{self.url}/encode", json={"texts": list(texts)}, timeout=600, trust_env=False)
        ours = SentenceEncoder(load_encoder("e5-small"), dtype=torch.float32).encode(texts, "query")
        cosine = least_cosine(ours.tolist(), require_success(response).json())
        if cosine < LEAST_COSINE:
            raise BenchmarkError(f"the same text has vectors of cosine {cosine:.4f}: the weights are others")
        return cosine


@contextmanager
def serve_peer(python: str, folder: Path, task: Benchmark) -> Iterator[Peer]:
    """The other service over a task's documents; ``folder`` has the encoder.

    Raises:
        BenchmarkError: it did not start.
    """
    (folder / "documents.json").write_text(json.dumps(task.documents), encoding="utf-8")
    command = [python, str(Path(__file__).with_name("peer_server.py")), str(folder), task.target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise BenchmarkError(f"the server of {python} ended: does it have the packages?")
            about = json.loads(line)
            yield Peer(about.pop("url"), about)
        finally:
            process.terminate()


def main() -> None:
    """Measure every direction and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps trained tables")
    parser.add_argument("--peer", required=True, metavar="PYTHON")
    parser.add_argument("--output", type=Path, help="folder for report.json")
    parser.add_argument("--directions", nargs="+", default=["en-en", "en-de"], metavar="SOURCE-TARGET")
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--weights", type=float, nargs="+", help="of the other one's vectors, for each direction")
    parser.add_argument("--knowledge", choices=("both", "dictionaries"), default="both", help="what tables are made of")
    parser.add_argument("--permissive", action="store_true", help="train only on data with permissive licences")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--queries", type=int, default=600, help="of each direction and number of clients")
    parser.add_argument("--turns", type=int, default=3, help="among which these queries are divided")
    parser.add_argument("--warm-up", type=int, default=50)
    arguments = parser.parse_args()
    if arguments.split != "tune" and not arguments.weights:
        parser.error("--split test needs --weights, which are chosen on questions for tuning")
    weights = arguments.weights or [None] * len(arguments.directions)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        write_folder(Path(temporary, "model"))
        for direction, weight in zip(arguments.directions, weights, strict=True):
            source, _, target = direction.partition("-")
            task = load_benchmark(arguments.data / "xquad_r", source, target, "sentence", split=arguments.split)
            tables = []
            if source != target:
                (foreign,) = {source, target} - {"en"}
                folder = arguments.work / "tables"
                tables = make_tables(arguments.data, foreign, folder, arguments.permissive, arguments.knowledge)
            with (
                open_search_client(None, tables, embeddings=True) as client,
                serve_peer(arguments.peer, Path(temporary), task) as peer,
            ):
                collection = client.collection("sentences", target, task.documents)
                rows.append(measure_quality(client, collection, peer, task, weight))
                rows[-1]["speed"] = measure_speed(arguments, client, collection, peer, task, rows[-1]["weight"])
            print(json.dumps(rows[-1]), flush=True)  # noqa: T201
    report(rows)
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"split": arguments.split, "directions": rows}, indent=1)
        (arguments.output / "report.json").write_text(content + "\n", encoding="utf-8")


def measure_quality(
    client: SearchClient, collection: str, peer: Peer, task: Benchmark, weight: float | None
) -> dict[str, Any]:
    """The measures of both, with the best of the weights for the other one if none is given."""
    answers = client.ask(task.queries, [collection], _DEPTH, {}, f"{task.source}-{task.target}")
    cosine = peer.check_vectors(list(task.queries.values())[:_COMPARED])
    measured = {each: measure(task, peer.run(task.queries, each)) for each in (WEIGHTS if weight is None else [weight])}
    best = max(measured, key=lambda each: measured[each]["MAP@100"])
    return {
        "source": task.source,
        "target": task.target,
        "queries": len(task.queries),
        "documents": len(task.documents),
        "cosine": cosine,
        "peer": dict(peer.about),
        "weight": best,
        "quality": {OURS: measure(task, answers.run), PEER: measured[best]},
        "methods": dict(answers.methods),
        "degraded": dict(answers.degraded),
    }


def measure(task: Benchmark, run: Run) -> dict[str, float]:
    """The means of the measures over all queries."""
    return {
        name: float(ir_measures.calc_aggregate([measure], task.qrels, run)[measure])
        for name, measure in MEASURES.items()
    }


def measure_speed(
    arguments: argparse.Namespace, client: SearchClient, collection: str, peer: Peer, task: Benchmark, weight: float
) -> list[dict[str, Any]]:
    """Rates and latencies of both by number of clients."""
    queries = vary(list(task.queries.values()))
    systems = {
        OURS: (f"{str(client.client.base_url).rstrip('/')}/v1/search", {"collections": [collection]}),
        PEER: (f"{peer.url}/search", {"weight": weight}),
    }

    def ask_all(name: str, texts: Sequence[str], clients: int) -> Any:
        url, fields = systems[name]
        return ask(url, [{"query": text, "top_k": 10, **fields} for text in texts], clients, 0)

    rows = []
    for clients in arguments.clients:
        warm_up = draw(queries, arguments.warm_up)
        turns: dict[str, list[Any]] = {name: [] for name in systems}
        for name in systems:
            ask_all(name, warm_up, clients)
        for turn in range(arguments.turns):
            texts = draw(queries, max(1, arguments.queries // arguments.turns))
            for name in list(systems)[:: 1 if turn % 2 else -1]:
                turns[name].append(ask_all(name, texts, clients))
        rows.append({"clients": clients, **{name: figures(measured) for name, measured in turns.items()}})
        pairs = zip(turns[OURS], turns[PEER], strict=True)
        rows[-1]["ours_is_faster"] = statistics.median(rate(ours) / rate(other) for ours, other in pairs)
    return rows


def figures(turns: Sequence[Any]) -> dict[str, Any]:
    """The figures of one system for one number of clients."""
    p50, p99 = np.percentile(np.concatenate([turn["milliseconds"] for turn in turns]), [50, 99]).tolist()
    return {
        "searches": sum(len(turn["milliseconds"]) for turn in turns),
        "per_second": statistics.median(map(rate, turns)),
        "p50": p50,
        "p99": p99,
        "methods": [turn["methods"] for turn in turns],
        "degraded": sum(turn["degraded"] for turn in turns),
        "refused": sum(sum(turn["refused"].values()) for turn in turns),
    }


def report(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table, and how each side answered."""
    lines = ["| direction | | MAP@100 | recall@10 | clients | searches/s | p50, ms | p99, ms | degraded | times |"]
    lines.append("|---" * 10 + "|")
    for row in rows:
        for name in (OURS, PEER):
            quality = [f"{row['quality'][name][measure]:.4f}" for measure in MEASURES]
            for speed in row["speed"]:
                measured = speed[name]
                cells = [f"{row['source']} to {row['target']}", name, *quality, str(speed["clients"])]
                cells += [f"{measured[key]:.1f}" for key in ("per_second", "p50", "p99")] + [str(measured["degraded"])]
                cells.append(f"{speed['ours_is_faster']:.2f}" if name == OURS else "")
                lines.append(f"| {' | '.join(cells)} |")
    for row in rows:
        about = row["peer"]
        lines += [
            "",
            f"{row['source']} to {row['target']}: the peer computes in {about['format']} (cosine with float32",
        ]
        lines[-1] += (
            f" {about['format_cosine']:.4f}), its vectors weigh {row['weight']}, and its weights agree with ours"
        )
        lines[-1] += (
            f" (least cosine {row['cosine']:.4f}); ours answered by {row['methods']}, degraded {row['degraded']}"
        )
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
