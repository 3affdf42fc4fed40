"""A process that this one has started, and starts again whenever it ends."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread

logger = logging.getLogger("dragoman")

_END_SECONDS = 5.0
_LIVED_SECONDS = 10.0
_PAUSES = (0.0, 1.0, 5.0, 30.0)
"""Seconds before a process is started again that ended soon, by how many ended so before it."""


class KeptProcess:
    """Keeps a process running until it is closed. Safe from any thread.

    The process reads its greeting from a pipe, and ends when that is closed: as this process ends, however it ends.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        descriptors: Sequence[int],
        greeting: Callable[[], bytes],
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        """Start it.

        Args:
            name: what it is, for the log: "worker".
            descriptors: the files that it inherits.
            greeting: what it reads first; asked for each time.
            ended: called each time it has ended, before it is started again.
        """
        self._name = name
        self._command, self._descriptors = command, descriptors
        self._greeting, self._ended = greeting, ended
        self._changing = Lock()
        self._closed = Event()
        self._process: subprocess.Popen[bytes] | None = self._spawn()
        Thread(target=self._keep, name="dragoman-child", daemon=True).start()

    @property
    def pid(self) -> int | None:
        """That of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        """Kill a process that hangs; another one is started."""
        with self._changing:
            process = self._process
        if process is not None and process.poll() is None:
            logger.error("the %s process %d hangs, and is killed", self._name, process.pid)
            process.kill()

    def tell(self, line: bytes) -> None:
        """Write a line to its pipe, and start it no more."""
        self._closed.set()
        with self._changing:
            if self._process is not None:
                _write(self._process, line)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within ``seconds``, once it is started no more."""
        with self._changing:
            process = self._process
        try:
            if process is not None:
                process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End the process, within a few seconds."""
        self._closed.set()
        with self._changing:
            process, self._process = self._process, None
        if process is not None:
            _end(process)

    def _spawn(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            pass_fds=self._descriptors,
            start_new_session=True,  # an interrupt at the terminal is the parent's, which still needs its child
        )
        _write(process, self._greeting())
        return process

    def _keep(self) -> None:
        """Start the process again when it ends."""
        short_lives = 0
        while (process := self._process) is not None:
            started = time.monotonic()
            status = process.wait()
            if self._closed.is_set():
                return
            short_lives = short_lives + 1 if time.monotonic() - started < _LIVED_SECONDS else 0
            logger.warning("the %s process has ended with status %d, and is started again", self._name, status)
            self._ended()
            if self._closed.wait(_PAUSES[min(short_lives, len(_PAUSES) - 1)]):
                return
            with self._changing:
                if self._closed.is_set():
                    return
                if process.stdin is not None:
                    process.stdin.close()
                self._process = self._spawn()


def _write(process: subprocess.Popen[bytes], content: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended already
        process.stdin.write(content)
        process.stdin.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process by closing its pipe, or by force."""
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
