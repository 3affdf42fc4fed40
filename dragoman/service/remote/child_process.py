"""The worker that a service starts for itself: a child process behind a Unix socket, which lives as long as it does."""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
from pathlib import Path
from threading import Lock

from dragoman.engine.models.model_host import StoredPrecision
from dragoman.engine.settings import Settings
from dragoman.service.remote.http_client import UNIX
from dragoman.service.remote.kept_process import KeptProcess

MODULE = "dragoman.cli.worker_child"
"""What the child runs."""
_BACKLOG = 512


class ChildProcess:
    """Starts a worker process, and again whenever it ends, until it is closed. Safe from any thread.

    The socket stays open while no child runs, so that requests wait for the next one. The child reads its settings
    from a pipe; see :class:`KeptProcess`.
    """

    def __init__(self, settings: Settings, stored_precision: StoredPrecision) -> None:
        """``stored_precision`` is asked whenever a child is started: see :class:`ModelHost`."""
        self._stored_precision = stored_precision
        self._settings = settings.replace(worker_url=None, worker_token=None, database_url=None)
        self._changing = Lock()
        self._folder: Path | None = None
        self._listener: socket.socket | None = None
        self._process: KeptProcess | None = None

    def start(self) -> str:
        """Start the child; returns the address of its socket, which takes connections from now on."""
        with self._changing:
            self._folder = Path(tempfile.mkdtemp(prefix="dragoman-"))
            path = self._folder / "worker"
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(str(path))
            self._listener.listen(_BACKLOG)
            descriptor = self._listener.fileno()
            command = [sys.executable, "-m", MODULE, str(descriptor), str(self._folder)]
            self._process = KeptProcess("worker", command, [descriptor], self._greeting)
        return UNIX + str(path)

    @property
    def pid(self) -> int | None:
        """That of the child; None while there is none."""
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        """Kill a child that hangs; another one is started."""
        with self._changing:
            process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the child, within a few seconds."""
        with self._changing:
            process = self._process
        if process is not None:
            process.close()
        if self._listener is not None:
            self._listener.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _greeting(self) -> bytes:
        return f"{self._settings.model_dump_json()}\n{self._stored_precision() or ''}\n".encode()
