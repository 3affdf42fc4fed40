"""A service of several processes, and connections to one of them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from tests.support.serving import Server, wait_for

SETTINGS: dict[str, object] = {
    "worker_mode": "process",
    "embed": "always",
    "encoder_precision": "float32",
    "index_commit_seconds": 0.2,
}


def children(pid: int, module: str) -> list[int]:
    """The processes that a process has started with a module of the command line, and that run."""
    started: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):
            started += map(int, (thread / "children").read_text().split())
    return [child for child in started if module in " ".join(command_of(child))]


def command_of(pid: int) -> list[str]:
    """The command line of a process; empty for one that has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return []


class Processes:
    """A running service of several processes."""

    def __init__(self, data_dir: Path, processes: int = 2, **settings: object) -> None:
        self.server = Server(data_dir, forked=False, processes=processes, **SETTINGS | settings)
        self.wait_for_all(processes - 1)

    def wait_for_all(self, count: int, but: int = 0) -> None:
        """Wait until so many search processes answer, and ``but`` is none of them."""

        def answering() -> set[int]:
            lines = [line for line in self.server.log if "a search process answers too" in line]
            return {int(line.split("too: ")[1].split()[0].rstrip('",')) for line in lines} & set(self.searching)

        wait_for(lambda: len(answering() - {but}) == count)

    @property
    def searching(self) -> list[int]:
        """The search processes."""
        return children(self.server.pid, "search_process")

    def connect(self, pid: int) -> Connection:
        """A connection to one of the processes: the others are halted while it is made.

        One that is halted while it holds the lock of the ledger holds up this one, too: then it is tried again.
        """
        others = [other for other in (self.server.pid, *self.searching) if other != pid]
        until = time.monotonic() + 60
        while True:
            for other in others:
                os.kill(other, signal.SIGSTOP)
            try:
                connection = Connection(self.server.url)
                since = time.monotonic()
                while time.monotonic() - since < 3:
                    if connection.is_with(pid):
                        return connection
                    time.sleep(0.02)
            finally:
                for other in others:
                    os.kill(other, signal.SIGCONT)
            connection.close()
            assert time.monotonic() < until
            time.sleep(0.1)

    def answered(self, pid: int) -> float:
        """How many requests a search process has answered itself."""
        folder = Path(command_of(pid)[4])
        files = [str(path) for path in (folder / "metrics").glob(f"counter_{pid}.db")]
        families = MultiProcessCollector(CollectorRegistry(), str(folder / "metrics")).merge(files)
        return sum(
            sample.value for family in families for sample in family.samples if sample.name == "dragoman_requests_total"
        )


class Connection:
    """One connection to the service, kept for many requests."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self._connection.connect()

    def is_with(self, pid: int) -> bool:
        """Whether a process has accepted it."""
        port = f":{self._connection.sock.getsockname()[1]:04X}"
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[2].endswith(port):
                sockets = {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
                return f"socket:[{fields[9]}]" in sockets
        return False

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """The status, the body as JSON where it is, and the headers of an answer."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | (headers or {})
        self._connection.request(method, path, content, sent)
        response = self._connection.getresponse()
        answer = response.read()
        received = {name.lower(): text for name, text in response.getheaders()}
        is_json = received.get("content-type", "").startswith("application/json") and answer
        return response.status, json.loads(answer) if is_json else answer, received

    def search(self, key: str | None = None, **fields: object) -> Any:
        """The answer to a search, but for what differs each time."""
        status, body, _ = self.ask("POST", "/v1/search", fields, {"X-API-Key": key} if key else {})
        assert status == 200, body
        body.pop("request_id")
        body.pop("timings_ms")
        return body

    def close(self) -> None:
        """Close it."""
        self._connection.close()
