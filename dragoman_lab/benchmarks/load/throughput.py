"""Throughput and latency under load, of the service and of a minimal FastAPI endpoint over the same engine.

    python -m dragoman_lab.benchmarks.load.throughput

Both serve the demo in separate processes with the same server options: `dragoman serve`, and
`benchmarks/load/bare_endpoint.py`, three lines that call the service's search function. A client in a separate process
sends the demo's English queries over keep-alive connections, one request at a time per connection: all eight
collections, ten hits with evidence, no reranking. Turns alternate between both, so that other load on the machine
affects both; the overhead is the additional time of the service per search, as the median over the turns.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np

from dragoman.cli import demo
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime

_ADDRESS = re.compile(r"http://\S+")


def main() -> None:
    """Print one line per number of clients and server, and the overhead."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one turn")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        commands = {
            "service": "dragoman.cli.main serve --port 0 --data-dir",
            "bare": "dragoman_lab.benchmarks.load.bare_endpoint",
        }
        servers = {}
        for name, command in commands.items():
            load_demo(Path(folder, name))
            servers[name] = running.enter_context(serving([*command.split(), str(Path(folder, name))]))
        for url in servers.values():
            measure(url, 1, min(arguments.seconds, 2.0))  # warms up the caches
        for clients in arguments.clients:
            turns: dict[str, list[Any]] = {name: [] for name in servers}
            for turn in range(arguments.turns):
                for name in list(servers)[:: 1 if turn % 2 else -1]:
                    turns[name].append(measure(servers[name], clients, arguments.seconds))
            rows.append(report(clients, turns))
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def load_demo(folder: Path) -> None:
    """Load the demo into a data directory."""
    runtime = Runtime(Settings.load(data_dir=folder, rerank="never"))
    try:
        runtime.start()
        demo.load(runtime)
    finally:
        runtime.close()


@contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """Start a Python module that serves; gives the address that it prints to standard error."""
    process = subprocess.Popen([sys.executable, "-m", *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        address = next(match[0] for line in process.stderr if (match := _ADDRESS.search(line)))
        Thread(target=process.stderr.read, daemon=True).start()  # an unread pipe fills up and blocks the service
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
            while client.get("/v1/collections").json()["collections"][-1]["index"]["state"] != "ready":
                pass
        yield address
    finally:
        process.terminate()
        process.wait()


def measure(url: str, clients: int, seconds: float) -> Any:
    """The latency of each search in milliseconds, and the total seconds, with concurrent clients."""
    lines = (files("dragoman") / "demo" / "queries.en.jsonl").read_text(encoding="utf-8").splitlines()
    requests = [{"query": json.loads(line)["text"], "query_language": "en", "rerank": False} for line in lines]
    return ask(f"{url.rstrip('/')}/v1/search", requests, clients, seconds)


def ask(url: str, requests: Sequence[object], clients: int, seconds: float) -> Any:
    """The latency of each request in milliseconds, and the total seconds; the requests are repeated for `seconds`."""
    command = [sys.executable, "-m", "dragoman_lab.benchmarks.load.client", url, str(clients), str(seconds)]
    done = subprocess.run(command, input=json.dumps(list(requests)), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def report(clients: int, turns: dict[str, list[Any]]) -> dict[str, Any]:
    """Print and return the results of all turns."""
    row: dict[str, Any] = {"clients": clients}
    for name, measured in turns.items():
        times = np.concatenate([turn["milliseconds"] for turn in measured])
        p50, p95, p99 = np.percentile(times, [50, 95, 99]).tolist()
        rate = statistics.median(len(turn["milliseconds"]) / turn["seconds"] for turn in measured)
        row[name] = {"per_second": rate, "p50": p50, "p95": p95, "p99": p99, "searches": len(times)}
        print(  # noqa: T201
            f"{clients} clients, {name}: {rate:.1f} searches/s, p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms,"
            f" {len(times)} searches",
            flush=True,
        )
    pairs = zip(turns["service"], turns["bare"], strict=True)
    row["overhead"] = statistics.median(per_search(service) / per_search(bare) for service, bare in pairs) - 1
    print(f"{clients} clients: overhead {row['overhead']:.1%}", flush=True)  # noqa: T201
    return row


def per_search(turn: Any) -> float:
    """Seconds per search in a turn."""
    return float(turn["seconds"]) / len(turn["milliseconds"])


if __name__ == "__main__":
    main()
