"""Searches per second and latency under load, of the service and of a bare FastAPI endpoint over the same engine.

    python -m benchmarks.load.throughput

Both serve the demo in a process of its own, with the same server options: `dragoman serve`, and
`benchmarks/load/bare_endpoint.py`, an endpoint of three lines that calls the service's search function. A client in a
process of its own asks the demo's English queries over kept-alive connections, each connection's next query when its
last is answered: all eight collections at once, ten hits with evidence, no reranking. The two are measured in turns, so
that whatever else the machine does meets both; the overhead is how much longer the service takes per search in the
median turn.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np

from dragoman.service.cli import demo
from dragoman.service.core.settings import Settings
from dragoman.service.runtime import Runtime

_ADDRESS = re.compile(r"http://\S+")


def main() -> None:
    """Print one line per number of clients and server, and the overhead."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=5.0, help="of one turn")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        commands = {
            "service": "dragoman.service.cli.main serve --port 0 --data-dir",
            "bare": "benchmarks.load.bare_endpoint",
        }
        servers = {}
        for name, command in commands.items():
            filled(Path(folder, name))
            servers[name] = running.enter_context(serving([*command.split(), str(Path(folder, name))]))
        for url in servers.values():
            loaded(url, 1, min(arguments.seconds, 2.0))  # every query's words have been looked up then
        for clients in arguments.clients:
            turns: dict[str, list[Any]] = {name: [] for name in servers}
            for turn in range(arguments.turns):
                for name in list(servers)[:: 1 if turn % 2 else -1]:
                    turns[name].append(loaded(servers[name], clients, arguments.seconds))
            rows.append(reported(clients, turns))
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def filled(folder: Path) -> None:
    """Load the demo into a data directory."""
    runtime = Runtime(Settings(data_dir=folder, rerank="never"))
    try:
        runtime.start()
        demo.load(runtime)
    finally:
        runtime.close()


@contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """The address of a Python module that serves, and says where on standard error."""
    process = subprocess.Popen([sys.executable, "-m", *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        address = next(found[0] for line in process.stderr if (found := _ADDRESS.search(line)))
        Thread(
            target=process.stderr.read, daemon=True
        ).start()  # a pipe that nobody reads fills up, and stops the service
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
            while client.get("/v1/collections").json()["collections"][-1]["index"]["state"] != "ready":
                pass
        yield address
    finally:
        process.terminate()
        process.wait()


def loaded(url: str, clients: int, seconds: float) -> Any:
    """Milliseconds of each search, and the seconds it all took, as so many clients at once saw it."""
    lines = (files("dragoman") / "demo" / "queries.en.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [{"query": json.loads(line)["text"], "query_language": "en", "rerank": False} for line in lines]
    command = [sys.executable, "-m", "benchmarks.load.client", url, str(clients), str(seconds)]
    done = subprocess.run(command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def reported(clients: int, turns: dict[str, list[Any]]) -> dict[str, Any]:
    """Print and return what all turns came to."""
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
    """Seconds of a turn for each search in it."""
    return float(turn["seconds"]) / len(turn["milliseconds"])


if __name__ == "__main__":
    main()
