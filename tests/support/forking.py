"""Processes of the command line forked from one that has imported it: half of a server's start is imports.

Each is a real process, to be signalled and killed as one. It ends without the interpreter's own end, so a test of
imports or of the memory that they take, or of how an interpreter starts or ends, uses ``subprocess``.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

_CONTEXT: Any = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "dragoman.cli.main",
        "dragoman.service.server",
        "dragoman.service.app",
        "dragoman.service.worker.endpoints",
        "tests.support.standing_in",
        "dragoman.ranking.scoring",  # torch and transformers: seconds of computing for each process that scores
        "tests.support.preloaded",
    ]
)


class Forked:
    """A process that runs ``main()`` of a module with these arguments; its interface is ``subprocess.Popen``'s."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        stderr: IO[Any] | None = None,
        stdout: IO[Any] | None = None,
    ) -> None:
        """Without ``stderr`` it can be read from ``self.stderr``; without ``stdout`` it is the forkserver's."""
        reading, writing = (None, stderr.fileno()) if stderr is not None else os.pipe()
        streams = {2: DupFd(writing)} | ({} if stdout is None else {1: DupFd(stdout.fileno())})
        self._process = _CONTEXT.Process(
            target=_run, args=(module, list(arguments), dict(environment), str(Path.cwd()), streams)
        )
        self._process.start()
        self.pid: int = self._process.pid
        self.stderr = None
        if reading is not None:
            os.close(writing)
            self.stderr = os.fdopen(reading)

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        status: int | None = self._process.exitcode
        return status

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        status = self.poll()
        if status is None:
            raise TimeoutError(f"the process has not ended in {timeout} seconds")
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run_module(
    module: str, arguments: Sequence[object], environment: Mapping[str, str], seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run ``main()`` of a module to its end."""
    given = list(map(str, arguments))
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        process = Forked(module, given, environment, error, out)
        try:
            status = process.wait(seconds)
        finally:
            process.kill()
        out.seek(0)
        error.seek(0)
        return subprocess.CompletedProcess([module, *given], status, out.read(), error.read())


def _run(module: str, arguments: list[str], environment: dict[str, str], folder: str, streams: dict[int, Any]) -> None:
    for number, stream in streams.items():
        descriptor = stream.detach()
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["dragoman", *arguments]
    importlib.import_module(module).main()
