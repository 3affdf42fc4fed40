"""Watches a service from a process of its own: its silence, its memory, and how long others' searches wait.

    python -m dragoman_lab.benchmarks.hostile.watch HOST PORT KEY PID

For each line on standard input it prints one line of JSON: what was seen since the line before.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Callable
from threading import Lock, Thread

from dragoman_lab.benchmarks.memory import mebibytes

_PAUSES = {"healthz": 0.02, "search": 0.1, "default": 0.2}
_LIMIT_SECONDS = 60.0


class Watch:
    """The longest waits and the most memory since the last report."""

    def __init__(self, host: str, port: int, key: str, process: int) -> None:
        self._address = (host, port)
        self._key = key
        self._process = process
        self._lock = Lock()
        self._longest = dict.fromkeys(_PAUSES, 0.0)
        self._begun: dict[str, float] = {}
        self._refused = dict.fromkeys(_PAUSES, 0)
        self._peak = 0.0
        for name, pause in _PAUSES.items():
            Thread(target=self._repeat, args=(self._ask, name, pause), daemon=True).start()
        Thread(target=self._repeat, args=(self._weigh, "memory", 0.05), daemon=True).start()

    def report(self) -> dict[str, float]:
        """The longest wait of each kind in seconds, those under way included, and the peak of memory in MiB."""
        with self._lock:
            now = time.monotonic()
            for name, begun in self._begun.items():
                self._longest[name] = max(self._longest[name], now - begun)
            seen = {**self._longest, "memory": self._peak}
            seen |= {f"{name}_refused": float(count) for name, count in self._refused.items()}
            self._longest = dict.fromkeys(_PAUSES, 0.0)
            self._refused = dict.fromkeys(_PAUSES, 0)
            self._begun = dict.fromkeys(self._begun, now)
            self._peak = 0.0
        return seen

    def _repeat(self, work: Callable[[str], None], name: str, pause: float) -> None:
        while True:
            work(name)
            time.sleep(pause)

    def _ask(self, name: str) -> None:
        with self._lock:
            self._begun.setdefault(name, time.monotonic())  # one that was refused waits on
        try:
            status = self._request(name)
        except OSError:
            status = 0
        except http.client.HTTPException:
            status = 0
        with self._lock:
            if status == 200:
                begun = self._begun.pop(name)
                self._longest[name] = max(self._longest[name], time.monotonic() - begun)
            else:
                self._refused[name] += 1

    def _request(self, name: str) -> int:
        connection = http.client.HTTPConnection(*self._address, timeout=_LIMIT_SECONDS)
        try:
            if name == "healthz":
                connection.request("GET", "/healthz")
            else:
                body: dict[str, object] = {"query": "volcano ash", "collections": ["demo_de"]}
                if name == "search":
                    body |= {"method": "psq", "rerank": False}
                head = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
                connection.request("POST", "/v1/search", json.dumps(body), head)
            return connection.getresponse().status
        finally:
            connection.close()

    def _weigh(self, _name: str) -> None:
        try:
            memory = mebibytes(self._process)
        except (OSError, IndexError):
            return
        with self._lock:
            self._peak = max(self._peak, memory)


def main() -> None:
    """Report for each line read."""
    watch = Watch(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    for _ in sys.stdin:
        print(json.dumps(watch.report()), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
