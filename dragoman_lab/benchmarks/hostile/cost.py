"""What costly inputs do to a service: its silence, its memory, and how long another key's searches wait.

    python -m dragoman_lab.benchmarks.hostile.cost --inputs 300 --seed 1 [--baseline CHECKOUT]

Each input goes to a service with keys, the demo, 20,000 words that sound alike and five documents of five million
characters. Meanwhile another process asks ``/healthz`` fifty times a second, and searches with another key. An input
ends when its clients have their answers or have left (after 30 seconds at most) and a search is answered again. Printed
are the statuses of its answers, and the longest silence of ``/healthz``. The longest wait of a ``psq`` search and of
one by default is printed, both until it is answered with 200. So is how much more memory the service held at its peak
than just before the input, and what the inputs before it have left. All models are loaded before the first one.
``--baseline`` sends the same inputs to another checkout first. A service that dies is started again.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from dragoman_lab.benchmarks.hostile.connections import SCENARIOS
from dragoman_lab.benchmarks.hostile.inputs import Input, Request, generate
from dragoman_lab.benchmarks.hostile.service import Service, Target

ROOT = Path(__file__).resolve().parents[3]
MOST_SILENCE, MOST_WAIT, MOST_MEMORY = 1.0, 2.0, 300.0
"""Seconds without ``/healthz``, seconds that a search of another key waits, MiB above the memory before."""
_GRANTED = 6 * 1024**3
_QUIET_SECONDS = 60.0
_SETTLE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Cost:
    """What one input did; seconds and MiB."""

    kind: str
    title: str
    statuses: dict[str, int]
    silence: float
    search: float
    default: float
    memory: float
    held: float
    """What those before it have left."""
    died: bool

    @property
    def passed(self) -> bool:
        """Whether it is within what the service promises."""
        waits = max(self.search, self.default)
        return not self.died and self.silence <= MOST_SILENCE and waits <= MOST_WAIT and self.memory <= MOST_MEMORY

    def __str__(self) -> str:
        answers = " ".join(f"{status}:{count}" for status, count in sorted(self.statuses.items()))
        mark = "" if self.passed else "DIED " if self.died else "OVER "
        figures = (
            f"silence {self.silence:.2f} search {self.search:.2f} default {self.default:.2f} memory {self.memory:+.0f}"
            f" held {self.held:+.0f}"
        )
        return f"{mark}{self.kind}: {self.title[:90]} [{answers}] {figures}"


class Watcher:
    """The process that watches a service."""

    def __init__(self, service: Service) -> None:
        target = service.target
        arguments = [target.host, str(target.port), target.keys["plain"], str(service.process.pid)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dragoman_lab.benchmarks.hostile.watch", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        time.sleep(1.0)
        self.base = self.report()["memory"]

    def report(self) -> dict[str, float]:
        """What was seen since the last report."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        seen: dict[str, float] = json.loads(self._process.stdout.readline())
        return seen

    def settle(self) -> float:
        """The memory of now, MiB; what was seen until now is forgotten."""
        self.report()
        time.sleep(_SETTLE_SECONDS)
        return self.report()["memory"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def send(target: Target, request: Request) -> str:
    """The status of a request's answer; ``left`` where the client left before it, ``cut`` where the server closed."""
    connection = http.client.HTTPConnection(target.host, target.port, timeout=request.leave)
    head = {"Content-Type": request.kind, **target.head(request.role)}
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request(request.method, request.path, request.body, head)
        answer = connection.getresponse()
        answer.read()
        return str(answer.status)
    except TimeoutError:
        return "left"
    except (OSError, http.client.HTTPException):
        return "cut"
    finally:
        connection.close()


def try_input(service: Service, watcher: Watcher, tried: Input) -> Cost:
    """Send an input, wait until searches are answered again, and say what was seen."""
    before = watcher.settle()
    if tried.scenario:
        SCENARIOS[tried.scenario](service.target)
        statuses: Counter[str] = Counter()
    else:
        with ThreadPoolExecutor(len(tried.requests)) as clients:
            statuses = Counter(clients.map(lambda request: send(service.target, request), tried.requests))
    if tried.kind == "jobs":
        _cancel_jobs(service)
    _wait_for_search(service.target)
    seen = watcher.report()
    return Cost(
        tried.kind,
        tried.title,
        dict(statuses),
        seen["healthz"],
        seen["search"],
        seen["default"],
        seen["memory"] - before,
        before - watcher.base,
        service.process.poll() is not None,
    )


def _cancel_jobs(service: Service) -> None:
    time.sleep(2.0)
    with suppress(Exception), service.client("jobs") as client:
        for job in client.get("/v1/jobs").json()["jobs"]:
            if job["status"] in ("validating", "in_progress", "finalizing"):
                client.post(f"/v1/jobs/{job['id']}/cancel")


def _wait_for_search(target: Target) -> None:
    until = time.monotonic() + _QUIET_SECONDS
    body = json.dumps({"query": "volcano", "collections": ["demo_de"], "method": "psq", "rerank": False}).encode()
    while time.monotonic() < until:
        if send(target, Request("plain", "POST", "/v1/search", body, leave=_QUIET_SECONDS)) in ("200", "cut"):
            return
        time.sleep(0.1)


def measure(checkout: Path, inputs: Iterable[Input]) -> list[Cost]:
    """The costs of the inputs, one after the other."""
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory() as folder:
        service = Service(checkout, Path(folder, "data"), _GRANTED)
        service.prepare()
        service.stop()
        service.start()
        service.load_models()
        watcher = Watcher(service)
        try:
            for tried in inputs:
                costs.append(try_input(service, watcher, tried))
                print(f"{len(costs)} {costs[-1]}", flush=True)  # noqa: T201
                if service.revive():
                    service.load_models()
                    watcher.close()
                    watcher = Watcher(service)
        finally:
            watcher.close()
            seconds = service.stop()
        print(f"ended {seconds:.1f} s after SIGTERM")  # noqa: T201
    return costs


def summary(costs: list[Cost]) -> str:
    """A row for each kind, and one for all."""
    rows = [
        "| inputs | | silence, s | search waits, s | default waits, s | memory, MiB | held, MiB | over | died |",
        "|---|" + "---|" * 8,
    ]
    for kind in [*sorted({cost.kind for cost in costs}), "all"]:
        of_kind = [cost for cost in costs if kind in ("all", cost.kind)]
        worst = [
            max(getattr(cost, name) for cost in of_kind) for name in ("silence", "search", "default", "memory", "held")
        ]
        over = sum(not cost.passed for cost in of_kind)
        died = sum(cost.died for cost in of_kind)
        figures = f"{worst[0]:.2f} | {worst[1]:.2f} | {worst[2]:.2f} | {worst[3]:.0f} | {worst[4]:.0f}"
        rows.append(f"| {kind} | {len(of_kind)} | {figures} | {over} | {died} |")
    return "\n".join(rows)


def main() -> None:
    """Print a line per input and a table per checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", type=int, help="numbers of inputs, from 1")
    parser.add_argument("--baseline", type=Path, help="another checkout, which is tried first")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    tried = {}
    for name, checkout in (("before", arguments.baseline), ("now", ROOT)):
        if checkout is not None:
            inputs = enumerate(generate(arguments.inputs, arguments.seed), 1)
            chosen = (hostile_input for index, hostile_input in inputs if not arguments.only or index in arguments.only)
            tried[name] = measure(checkout.resolve(), chosen)
            print(f"{name}\n{summary(tried[name])}")  # noqa: T201
    if arguments.output:
        figures = {name: [asdict(cost) for cost in costs] for name, costs in tried.items()}
        arguments.output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
