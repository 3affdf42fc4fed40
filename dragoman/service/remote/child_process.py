"""The worker that a service starts for itself: a child process behind a Unix socket, which lives as long as it does."""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread

from dragoman.engine.models.model_host import StoredPrecision
from dragoman.engine.settings import Settings
from dragoman.service.remote.http_client import UNIX

logger = logging.getLogger("dragoman")

MODULE = "dragoman.cli.worker_child"
"""What the child runs."""
_BACKLOG = 512
_END_SECONDS = 5.0
_LIVED_SECONDS = 10.0
_PAUSES = (0.0, 1.0, 5.0, 30.0)
"""Seconds before a child is started again that ended soon, by how many ended so before it."""


class ChildProcess:
    """Starts a worker process, and again whenever it ends, until it is closed. Safe from any thread.

    The socket stays open while no child runs, so that requests wait for the next one. The child reads its settings
    from a pipe, and ends when that is closed: as this process ends, however it ends.
    """

    def __init__(self, settings: Settings, stored_precision: StoredPrecision) -> None:
        """``stored_precision`` is asked whenever a child is started: see :class:`ModelHost`."""
        self._stored_precision = stored_precision
        self._settings = settings.replace(worker_url=None, worker_token=None, database_url=None)
        self._changing = Lock()
        self._closed = Event()
        self._folder: Path | None = None
        self._listener: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start the child; returns the address of its socket, which takes connections from now on."""
        with self._changing:
            self._folder = Path(tempfile.mkdtemp(prefix="dragoman-"))
            path = self._folder / "worker"
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listener.bind(str(path))
            self._listener.listen(_BACKLOG)
            self._process = self._spawn()
        Thread(target=self._keep, name="dragoman-child", daemon=True).start()
        return UNIX + str(path)

    @property
    def pid(self) -> int | None:
        """That of the child; None while there is none."""
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        """Kill a child that hangs; another one is started."""
        with self._changing:
            process = self._process
        if process is not None and process.poll() is None:
            logger.error("the worker process %d hangs, and is killed", process.pid)
            process.kill()

    def close(self) -> None:
        """End the child, within a few seconds."""
        self._closed.set()
        with self._changing:
            process, self._process = self._process, None
            if self._listener is not None:
                self._listener.close()
        if process is not None:
            _end(process)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _spawn(self) -> subprocess.Popen[bytes]:
        assert self._listener is not None and self._folder is not None
        descriptor = self._listener.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, str(descriptor), str(self._folder)],
            stdin=subprocess.PIPE,
            pass_fds=[descriptor],
            start_new_session=True,  # an interrupt at the terminal is the parent's, which still needs its child
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already, and is started again
            process.stdin.write(f"{self._settings.model_dump_json()}\n{self._stored_precision() or ''}\n".encode())
            process.stdin.flush()
        return process

    def _keep(self) -> None:
        """Start the child again when it ends."""
        short_lives = 0
        while (process := self._process) is not None:
            started = time.monotonic()
            status = process.wait()
            if self._closed.is_set():
                return
            short_lives = short_lives + 1 if time.monotonic() - started < _LIVED_SECONDS else 0
            logger.warning("the worker process has ended with status %d, and is started again", status)
            if self._closed.wait(_PAUSES[min(short_lives, len(_PAUSES) - 1)]):
                return
            with self._changing:
                if self._closed.is_set():
                    return
                if process.stdin is not None:
                    process.stdin.close()
                self._process = self._spawn()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a child by closing its pipe, or by force."""
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
