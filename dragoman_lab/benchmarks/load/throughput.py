"""Searches a second and latency of the running service over the demo, by method and number of clients.

    python -m dragoman_lab.benchmarks.load.throughput [--processes 2] [--rows psq dense default] [--bare]

`dragoman serve` of this checkout, also of so many `--processes`, and of each `--baseline CHECKOUT`, serves the demo in
a process of its own, with embeddings complete. A client in another process sends queries over keep-alive connections,
one request at a time per connection:
English, over all collections of the demo, ten hits with evidence. All queries of all rows differ, so that no cache of
queries answers them. They are the demo's, each with a word of another one, or those of the files that `--questions`
names. All servers get the same ones, in turns. The rows:

- `psq`, `dense`: the method, without reranking. `default`: nothing but the query, which is hybrid.
- `repeated`: the default, and the demo's forty queries over and over.
- `rerank`: the default and `rerank: {depth: 10}`, by one client, over passages of a hundred words. They are made of the
  demo's documents, in collections of their own. `rerank-busy`: the same while a process for each core keeps it busy.
- `psq-default`: `psq`, with the reranking that it does by itself.
- `memory`: proportional memory (PSS) of all of a server's processes, ready and after one use of every model.

With `--documents N --data DATA --table TABLE` rows are asked of N German sentences instead. They get embeddings where a
row is not of `psq`. `--folder` keeps the data directories: what is there already is not made again.

Of each row the answers are counted by the method that they name, and those that say `degraded`. A rate counts answers
while all clients had a request under way, and is the median over the turns, as is the processor time of the service
for an answer, which depends less on what else the machine does. Percentiles are of all turns. The last column is the
rate of this checkout as a multiple, the median of the turns' ratios. `--bare` adds a bare FastAPI endpoint that calls
the search function (`bare_endpoint.py`).
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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from dragoman.cli import demo
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman_lab.benchmarks.hostile.service import Service
from dragoman_lab.benchmarks.load.distinct_queries import (
    LANGUAGES,
    demo_queries,
    distinct_queries,
    draw,
    hundred_word_passages,
    sentences,
)
from dragoman_lab.benchmarks.memory import processor_seconds, proportional

ROOT = Path(__file__).resolve().parents[3]
MEMORY = "memory"
_DEMO = [f"demo_{language}" for language in (*LANGUAGES, "zh")]
_PASSAGES = [f"passages_{language}" for language in LANGUAGES]
SPIN = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()  # ends with the benchmark, however that ends
while True: pass
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """What is sent with each query, by how many clients at a time (None: as the command line says)."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    clients: Sequence[int] | None = None
    repeated: bool = False
    busy: bool = False

    @property
    def body(self) -> dict[str, Any]:
        """A request without its query."""
        return {"query_language": "en", "collections": _DEMO, **self.fields}


_RERANK = {"rerank": {"depth": 10}, "collections": _PASSAGES}
WORKLOADS = {
    "psq": Workload({"method": "psq", "rerank": False}),
    "dense": Workload({"method": "dense", "rerank": False}),
    "default": Workload(),
    "repeated": Workload(repeated=True),
    "rerank": Workload(_RERANK, clients=(1,)),
    "rerank-busy": Workload(_RERANK, clients=(1,), busy=True),
    "psq-default": Workload({"method": "psq"}),
}
SENTENCES = "sentences"
_BY_WORDS = {"psq", "psq-default"}
BATCH = 20_000
"""Documents of one request."""


class BareEndpoint(Service):
    """The bare endpoint of this checkout."""

    @property
    def command(self) -> list[str]:
        return ["-m", "dragoman_lab.benchmarks.load.bare_endpoint", str(self.data_dir)]


def main() -> None:
    """Print a table of all rows, and the memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", choices=[*WORKLOADS, MEMORY], nargs="+", default=[*WORKLOADS, MEMORY])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--queries", type=int, default=600, help="of each row and number of clients")
    parser.add_argument("--turns", type=int, default=3, help="among which the queries of a row are divided")
    parser.add_argument("--warm-up", type=int, default=100, help="queries before each row that are not measured")
    parser.add_argument("--questions", type=Path, nargs="+", default=[], help="JSON lines, of other English queries")
    parser.add_argument("--processes", type=int, nargs="+", default=[], metavar="N", help="servers of N processes too")
    parser.add_argument("--baseline", type=Path, action="append", default=[], metavar="CHECKOUT")
    parser.add_argument("--bare", action="store_true", help="a bare FastAPI endpoint too")
    parser.add_argument("--documents", type=int, help="search so many German sentences instead of the demo")
    parser.add_argument("--data", type=Path, help="where the sentences are")
    parser.add_argument("--table", type=Path, default=ROOT / "dragoman" / "demo" / "table.en-de.tsv")
    parser.add_argument("--folder", type=Path, help="a folder for the data directories, which are made once")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as running:
        folder = arguments.folder or temporary
        embedded = not arguments.documents or set(arguments.rows) - _BY_WORDS
        settings: dict[str, Any] = {"ner_tagger": "off"} if arguments.documents else {}
        settings |= {} if embedded else {"embed": "on_demand"}
        servers: dict[str, Service] = {"this": Service(ROOT, Path(folder, "this"), **settings)}
        for count in arguments.processes:
            label = f"{count} processes"
            servers[label] = Service(ROOT, Path(folder, label), **settings, processes=str(count))
        for index, checkout in enumerate(arguments.baseline):
            servers[str(checkout)] = Service(checkout.resolve(), Path(folder, str(index)), **settings)
        memory: dict[str, dict[str, Any] | None] = {}
        if not arguments.documents:
            memory = {name: prepare(server, MEMORY in arguments.rows) for name, server in servers.items()}
        if arguments.bare:
            servers["bare"] = BareEndpoint(ROOT, Path(folder, "bare"))
            servers["bare"].load_demo()
        rows = []
        if workloads := [name for name in arguments.rows if name in WORKLOADS]:
            for server in servers.values():
                server.start()
                running.callback(server.stop)
                wait_for_processes(server)
                if arguments.documents:
                    add_sentences(server, arguments.data, arguments.table, arguments.documents)
                    if embedded:
                        wait_for_embeddings(server)
                    continue
                add_passages(server, bool(set(workloads) & {"rerank", "rerank-busy"}))
            rows = measure_rows(arguments, servers, workloads)
    report(rows, memory)
    if arguments.output:
        content = {"rows": rows, "memory": memory, "processors": os.cpu_count()}
        arguments.output.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def prepare(server: Service, measure_memory: bool) -> dict[str, Any] | None:
    """Load the demo and make its embeddings; returns the memory if that is measured.

    Idle is a fresh process that is ready and has computed nothing but what its readiness takes.
    """
    if not server.data_dir.exists():
        server.load_demo()
    server.start(warm=False)
    wait_for_embeddings(server)
    server.stop()
    if not measure_memory:
        return None
    server.start(warm=False)
    try:
        with server.client("none") as client:
            while not client.get("/readyz").is_success:
                time.sleep(0.1)
            wait_for_embeddings(server)
            idle = proportional(server.process.pid)
            failures = [f"{name}: {status}" for name, status in use_searches(client) if status != 200]
        failures += server.load_models()
        return {"idle": idle, "all_models": proportional(server.process.pid), "failed": failures}
    finally:
        server.stop()


def wait_for_processes(server: Service) -> None:
    """Return when all search processes of a server answer."""
    count = int(server.settings.get("DRAGOMAN_PROCESSES", "1")) - 1
    while sum("search process answers too" in line for line in server.log) < count:
        time.sleep(0.1)


def use_searches(client: httpx.Client) -> Iterator[tuple[str, int]]:
    """Search by each method and with the reranker; the status of each."""
    for fields in ({}, {"method": "psq"}, {"method": "dense"}, {"rerank": {"depth": 10}}):
        body = {"query": "volcano eruption lava and ash", **fields}
        yield f"/v1/search {json.dumps(fields)}", client.post("/v1/search", json=body).status_code


def wait_for_embeddings(server: Service) -> None:
    """Return when every document of every collection has its embeddings.

    Raises:
        SystemExit: a collection gets none, so that its searches would be made by psq.
    """
    while True:
        with server.client("none") as client:
            collections = client.get("/v1/collections").raise_for_status().json()["collections"]
        if without := [collection["name"] for collection in collections if collection["embeddings"] is None]:
            raise SystemExit(f"{without[0]} gets no embeddings: install the package of the encoder")
        states = [collection["embeddings"]["state"] for collection in collections]
        if all(state == "complete" for state in states):
            return
        time.sleep(0.2)


def add_passages(server: Service, needed: bool) -> None:
    """Wait for the demo's embeddings, and make the collections of passages where they are needed."""
    if needed and not isinstance(server, BareEndpoint):
        with server.client("none") as client:
            for language, name in zip(LANGUAGES, _PASSAGES, strict=True):
                client.post("/v1/collections", json={"name": name, "language": language}).raise_for_status()
                passages = enumerate(hundred_word_passages(language))
                lines = "\n".join(json.dumps({"id": str(index), "text": text}) for index, text in passages)
                client.post(
                    f"/v1/collections/{name}/documents",
                    content=lines.encode(),
                    headers={"Content-Type": "application/x-ndjson"},
                ).raise_for_status()
    wait_for_embeddings(server)


def load_demo(folder: Path) -> None:
    """Load the demo into a data directory."""
    runtime = Runtime(Settings.load(data_dir=folder, rerank="never"))
    try:
        runtime.start()
        demo.load(runtime)
    finally:
        runtime.close()


def add_sentences(server: Service, data: Path, table: Path, count: int) -> None:
    """A table of English and German words, and a collection of German sentences, unless they are there."""
    with server.client("none") as client:
        if client.get(f"/v1/collections/{SENTENCES}").is_success:
            return
        put = {"source": "en", "target": "de", "format": "tsv", "activate": "true"}
        client.put("/v1/tables/words", params=put, content=table.read_bytes()).raise_for_status()
        client.post("/v1/collections", json={"name": SENTENCES, "language": "de"}).raise_for_status()
        numbered = enumerate(islice(sentences(data), count))
        while batch := list(islice(numbered, BATCH)):
            lines = "\n".join(json.dumps({"id": str(key), "text": text or "-"}) for key, text in batch)
            client.post(
                f"/v1/collections/{SENTENCES}/documents",
                content=lines.encode(),
                headers={"Content-Type": "application/x-ndjson"},
            ).raise_for_status()


def measure_rows(
    arguments: argparse.Namespace, servers: Mapping[str, Service], names: Sequence[str]
) -> list[dict[str, Any]]:
    """The figures of every workload, number of clients and server."""
    queries = distinct_queries(arguments.questions)
    rows = []
    for name in names:
        workload = WORKLOADS[name]
        if arguments.documents:
            workload = replace(workload, fields={**workload.fields, "collections": [SENTENCES]})
        asked = {
            label: server
            for label, server in servers.items()
            if not (isinstance(server, BareEndpoint) and "rerank" in workload.fields and workload.fields["rerank"])
        }
        for server in asked.values():
            ask_once(server, workload, list(islice(cycle(demo_queries()), arguments.warm_up)), 2)
        for clients in workload.clients or arguments.clients:
            turns: dict[str, list[Any]] = {label: [] for label in asked}
            with busy_processors() if workload.busy else ExitStack():
                for turn in range(arguments.turns):
                    count = (
                        arguments.queries * (turn + 1) // arguments.turns - arguments.queries * turn // arguments.turns
                    )
                    texts = list(islice(cycle(demo_queries()), count)) if workload.repeated else draw(queries, count)
                    for label in list(asked)[:: 1 if turn % 2 else -1]:
                        turns[label].append(ask_once(asked[label], workload, texts, clients))
            rows += [figures(name, clients, label, turns) for label in asked]
            for row in rows[-len(asked) :]:
                print(json.dumps(row), file=sys.stderr, flush=True)  # noqa: T201
    return rows


def ask_once(server: Service, workload: Workload, texts: Sequence[str], clients: int) -> Any:
    """Each query once: latencies in milliseconds, and what the answers say."""
    url = f"http://{server.target.host}:{server.target.port}/v1/search"
    started = processor_seconds(server.process.pid)
    turn = ask(url, [{"query": text, **workload.body} for text in texts], clients, 0)
    return turn | {"processor_seconds": processor_seconds(server.process.pid) - started}


def ask(url: str, requests: Sequence[object], clients: int, seconds: float) -> Any:
    """The latency of each request in milliseconds, and the total seconds; the requests are repeated for `seconds`.

    With 0 seconds, each is sent once.
    """
    command = [sys.executable, "-m", "dragoman_lab.benchmarks.load.client", url, str(clients), str(seconds)]
    done = subprocess.run(command, input=json.dumps(list(requests)), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@contextmanager
def busy_processors() -> Iterator[None]:
    """A process for each processor that computes all the time."""
    command = [sys.executable, "-c", SPIN]
    spinning = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def figures(name: str, clients: int, label: str, turns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The figures of one server in one row; ``label`` is its name."""
    times = np.concatenate([turn["milliseconds"] for turn in turns[label]])
    p50, p99 = np.percentile(times, [50, 99]).tolist() if len(times) else (float("nan"),) * 2
    pairs = zip(turns["this"], turns[label], strict=True)
    total = {
        key: sum((Counter(turn[key]) for turn in turns[label]), Counter()) for key in ("methods", "reasons", "refused")
    }
    return {
        "row": name,
        "clients": clients,
        "server": label,
        "searches": len(times),
        "per_second": statistics.median(map(rate, turns[label])),
        "p50": p50,
        "p99": p99,
        "methods": total["methods"],
        "degraded": sum(turn["degraded"] for turn in turns[label]),
        "reasons": total["reasons"],
        "refused": total["refused"].total(),
        "hits": sum(turn["hits"] for turn in turns[label]),
        "this_is_faster": statistics.median(rate(ours) / rate(other) for ours, other in pairs),
        "processor": statistics.median(map(processor, turns[label])),
    }


def rate(turn: Any) -> float:
    """Answers a second of a turn."""
    return float(turn["answered"]) / float(turn["seconds"])


def processor(turn: Any) -> float:
    """Milliseconds of processor time that an answer of a turn took."""
    return 1e3 * float(turn["processor_seconds"]) / max(1, len(turn["milliseconds"]))


def report(rows: Sequence[Mapping[str, Any]], memory: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Print the table."""
    titles = "row | clients | server | searches/s | p50, ms | p99, ms | methods | degraded | refused | processor, ms"
    titles += " | this, times"
    lines = [f"| {titles} |", "|---" * 11 + "|"] if rows else []
    for row in rows:
        methods = ", ".join(f"{method} {count}" for method, count in row["methods"].items())
        cells = [row["row"], str(row["clients"]), row["server"], f"{row['per_second']:.1f}"]
        cells += [f"{row['p50']:.1f}", f"{row['p99']:.1f}", methods, str(row["degraded"]), str(row["refused"])]
        cells.append(f"{row['processor']:.1f}")
        lines.append(f"| {' | '.join(cells)} | {row['this_is_faster']:.2f} |")
    for label, measured in memory.items():
        if measured:
            text = f"memory, {label}: {measured['idle']:.0f} MiB ready, {measured['all_models']:.0f} MiB after one use"
            lines += ["", f"{text} of every model{''.join(f'; failed: {use}' for use in measured['failed'])}"]
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
