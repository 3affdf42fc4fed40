"""Seconds from the start of `dragoman serve` on the demo's data to its first `/healthz` and `/readyz`.

    python -m dragoman_lab.benchmarks.load.startup

The demo is loaded first; then the service is started again and again, with the reranker on, as `make demo` has it.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from dragoman_lab.benchmarks.load.throughput import load_demo

_LIMIT_SECONDS = 60.0


def main() -> None:
    """Print a line per start, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load_demo(Path(folder))
        times = [start(folder) for _ in range(arguments.starts)]
    for path in ("/healthz", "/readyz"):
        print(f"{path}: {statistics.median(seconds[path] for seconds in times):.2f} s in the median")  # noqa: T201


def start(folder: str) -> dict[str, float]:
    """Start the service, and end it when it is ready; the seconds to each address's first 200."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    begun = time.perf_counter()
    command = [sys.executable, "-m", "dragoman.cli.main", "serve", "--data-dir", folder, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=_LIMIT_SECONDS, trust_env=False) as client:
            first_answers = {path: wait_for_answer(client, path, begun) for path in ("/healthz", "/readyz")}
    finally:
        process.terminate()
        process.wait()
    print(", ".join(f"{path} {seconds:.2f} s" for path, seconds in first_answers.items()), flush=True)  # noqa: T201
    return first_answers


def wait_for_answer(client: httpx.Client, path: str, begun: float) -> float:
    """Seconds since ``begun`` when the address first answers 200."""
    while time.perf_counter() - begun < _LIMIT_SECONDS:
        try:
            if client.get(path).status_code == 200:
                return time.perf_counter() - begun
        except httpx.TransportError:
            pass
        time.sleep(0.01)
    raise SystemExit(f"{path} did not answer 200 in {_LIMIT_SECONDS:g} seconds")


if __name__ == "__main__":
    main()
