"""The search processes of a service: started beside it, told where everything is, and ended with it."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dragoman.engine.settings import Settings
from dragoman.service.access.shares import Shares
from dragoman.service.processes.ledger import Ledger
from dragoman.service.processes.shared_limits import SharedLimit, SharedMeter, SharedTraffic
from dragoman.service.remote.kept_process import KeptProcess

MODULE = "dragoman.cli.search_process"
"""What a search process runs."""
STOP = b"stop\n"
"""What it is told when it is to accept no more."""
BACKLOG = 512
_LATER_SECONDS = 1.0
"""How long after its time a search process, which cuts its requests off by itself, is killed."""
_SOCKET, _COUNTS, _METRICS = "service", "counts", "metrics"


class SearchFolder:
    """The folder that the processes of a service have together, which nobody else can enter."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = path / _SOCKET
        """Where the service's own process takes what the others forward."""
        self.metrics = path / _METRICS

    def open_shares(self, place: int, processes: int) -> tuple[Ledger, Shares]:
        """What is counted together, as the process at ``place`` has it."""
        ledger = Ledger(self.path / _COUNTS, place, processes)
        traffic = partial(SharedTraffic, ledger)
        return ledger, Shares(partial(SharedLimit, ledger), partial(SharedMeter, ledger), traffic, self.metrics)


class SearchProcesses:
    """Starts ``processes - 1`` further processes, and each again whenever it ends, until they are stopped."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._count = settings.server.processes
        self.folder = SearchFolder(Path(tempfile.mkdtemp(prefix="dragoman-")))
        self.folder.metrics.mkdir()
        self.ledger, self.shares = self.folder.open_shares(0, self._count)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        """For what they forward."""
        self.listener.bind(str(self.folder.socket))
        self.listener.listen(BACKLOG)
        self._processes: list[KeptProcess] = []

    def start(self, listener: socket.socket, workers: Sequence[str]) -> None:
        """Start them. They accept connections from ``listener``, and ask the ``workers`` for what models compute."""
        token = self._settings.worker.worker_token
        greeting = {
            "settings": self._settings.replace(worker_token=None).model_dump(mode="json"),
            "workers": list(workers),
            "token": None if token is None else token.get_secret_value(),
            "processes": self._count,
        }
        for place in range(1, self._count):
            line = json.dumps({**greeting, "place": place}).encode() + b"\n"
            command = [sys.executable, "-m", MODULE, str(listener.fileno()), str(self.folder.path)]
            forget = partial(self.ledger.forget, place)
            self._processes.append(KeptProcess("search", command, [listener.fileno()], partial(bytes, line), forget))

    @property
    def pids(self) -> list[int | None]:
        """Those of the processes."""
        return [process.pid for process in self._processes]

    def drain(self, seconds: float) -> None:
        """Let them accept no more, and finish what is under way within ``seconds``; one that hangs is killed."""
        until = time.monotonic() + seconds
        for process in self._processes:
            process.tell(STOP)
        for process in self._processes:
            if not process.wait(until + _LATER_SECONDS - time.monotonic()):
                process.kill()

    def close(self) -> None:
        """End them, and remove the folder."""
        with ThreadPoolExecutor(self._count) as threads:  # a process that hangs is waited for, and the others with it
            for process in self._processes:
                threads.submit(process.close)
        self.listener.close()
        self.ledger.close()
        shutil.rmtree(self.folder.path, ignore_errors=True)
