"""Memory of a service and of the worker that it starts: idle, and after one use of every model.

    python -m dragoman_lab.benchmarks.load.all_models

Loads the demo into a temporary folder and serves it in a separate process, as `dragoman demo` does. Memory is the
proportional set size (PSS) of all processes together, where a page that several share counts once.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from dragoman_lab.benchmarks.load.memory import below, proportional_mebibytes

TEXT = "Angela Merkel besuchte den Vulkan. Er spuckt Asche. Schiffe liegen im Hafen."
_ADDRESS = re.compile(r"http://[\d.]+:\d+")
USES: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "volcano", "query_language": "en", "method": "hybrid", "rerank": {"depth": 10}}),
    ("tag", {"task": "ner", "texts": [TEXT]}),
    ("tag", {"task": "pos", "texts": [TEXT]}),
    ("qa", {"question": "Was spuckt der Vulkan?", "context": TEXT}),
    ("qa", {"statement": "Der Vulkan spuckt Asche.", "context": TEXT}),
    ("translate", {"texts": [TEXT], "source": "de", "target": "en"}),
    ("reason", {"question": "Was spuckt der Vulkan?", "max_tokens": 16}),
]
"""One use of each model."""


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rest", type=float, default=20.0, help="seconds without requests before memory is read")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-u", "-m", "dragoman.cli.main", "demo", "--data-dir", folder, "--port", "0"]
        with subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.PIPE, text=True) as service:
            try:
                measure(service, options.rest)
            finally:
                service.terminate()


def measure(service: subprocess.Popen[str], rest: float) -> None:
    """Print the memory of a service that starts."""
    assert service.stdout is not None
    url = next(address[0] for line in service.stdout if (address := _ADDRESS.search(line)))
    Thread(target=service.stdout.read, daemon=True).start()  # or it would wait for that to be read
    with httpx.Client(base_url=url, timeout=600, trust_env=False) as client:
        show("started", service.pid)
        while any((each["embeddings"] or {}).get("state") == "building" for each in collections(client)):
            time.sleep(1)
        time.sleep(rest)
        show("idle, embedded", service.pid)
        for path, body in USES:
            client.post(f"/v1/{path}", json=body).raise_for_status()
            show(path, service.pid)
        time.sleep(rest)
        show("after one use of every model", service.pid)


def collections(client: httpx.Client) -> list[dict[str, Any]]:
    """All collections, with the state of their embeddings."""
    listing: list[dict[str, Any]] = client.get("/v1/collections").raise_for_status().json()["collections"]
    return listing


def show(moment: str, process: int) -> None:
    """Print the memory of a process and of those that it has started."""
    sizes = [proportional_mebibytes(each) for each in (process, *below(process)) if Path(f"/proc/{each}").exists()]
    parts = " + ".join(f"{size:.0f}" for size in sizes)
    print(f"{moment}: {sum(sizes):.0f} MiB ({parts})", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
