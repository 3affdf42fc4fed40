"""A real server in a process of its own."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx

from dragoman_lab.benchmarks.memory import mebibytes
from tests.support.forking import Forked, run_module

COMMAND = [sys.executable, "-m", "dragoman.cli.main"]
_ADDRESS = re.compile(r'listens on (http://[^\s"]+)')


def environment(**settings: object) -> dict[str, str]:
    """This process's environment with these settings, and of the service's own no other but for four defaults."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    kept["DRAGOMAN_CONFIG"] = os.devnull
    kept["DRAGOMAN_RERANK"] = "never"  # searches that don't say are tests of the first stage
    kept["DRAGOMAN_WORKER_MODE"] = "thread"  # which is forked with its models' libraries imported
    kept["DRAGOMAN_EMBED"] = "on_demand"  # and of BM25, without an encoder in each process
    if "TEST_PROCESSES" in os.environ:  # all tests of servers may be run against several processes
        kept |= {"DRAGOMAN_PROCESSES": os.environ["TEST_PROCESSES"], "DRAGOMAN_WORKER_MODE": "process"}
    return kept | {f"DRAGOMAN_{name.upper()}": str(value) for name, value in settings.items()}


def dragoman(*arguments: object, **settings: object) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return run_module(module_of(COMMAND), arguments, environment(**settings) | {"COLUMNS": "200"})


def module_of(command: Sequence[str]) -> str:
    """The module that ``python -m module`` runs."""
    interpreter, option, module = command
    assert (interpreter, option) == (sys.executable, "-m")
    return module


def http_client(url: str) -> httpx.Client:
    """A client that reads no certificates, which takes 20 ms of computing."""
    return httpx.Client(base_url=url, timeout=60, trust_env=False, verify=False)


class Server:
    """A running ``dragoman serve``; ``log`` holds what it has written to standard error."""

    def __init__(
        self,
        data_dir: Path,
        command: Sequence[str] = COMMAND,
        *,
        forked: bool = True,
        as_shipped: bool = False,
        **settings: object,
    ) -> None:
        """Without ``forked`` it is an interpreter of its own, from its start to its end.

        One that starts ``as_shipped`` makes its OpenAPI document itself, and so has the same memory to reuse.
        """
        self.data_dir = data_dir
        arguments = ["serve", "--data-dir", str(data_dir), "--port", "0"]
        self._process: Forked | subprocess.Popen[str] = (
            Forked(module_of(command), arguments, environment(**settings) | ({"AS_SHIPPED": "1"} if as_shipped else {}))
            if forked
            else subprocess.Popen(
                [*command, *arguments], env=environment(**settings), stderr=subprocess.PIPE, text=True
            )
        )
        self._follow()

    def _follow(self) -> None:
        self.log: list[str] = []
        self.url = self._announced()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        self.client = http_client(self.url)

    def kill(self) -> None:
        """End the process as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        """Tell the process to stop; returns its exit status."""
        self.tell(signal.SIGTERM)
        return self.ended()

    def tell(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def ended(self) -> int:
        """The exit status of the process, which is about to end."""
        return self._end()

    @property
    def pid(self) -> int:
        return self._process.pid

    def memory(self) -> int:
        """Resident memory, bytes."""
        fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def computed(self) -> float:
        """Seconds of computing so far, by all threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def limit_memory(self, more: int) -> None:
        """Let the process take ``more`` bytes beyond the data that it holds now; the kernel refuses the rest."""
        data = int(mebibytes(self._process.pid, "VmData") * 1024**2)
        resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (data + more, data + more))

    def peak_memory(self) -> int:
        """Resident memory at its peak, bytes."""
        return int(mebibytes(self._process.pid, "VmHWM") * 1024**2)

    def _end(self) -> int:
        status = self._process.wait(60)
        self.client.close()
        return status

    def _announced(self) -> str:
        assert self._process.stderr is not None
        missing, url = int(os.environ.get("TEST_PROCESSES", "1")) - 1, ""
        for line in self._process.stderr:
            self.log.append(line)
            missing -= "a search process answers too" in line
            if address := _ADDRESS.search(line):
                url = address[1]
            if url and missing <= 0:
                return url
        raise AssertionError("the server ended: " + "".join(self.log))

    def _read(self) -> None:
        assert self._process.stderr is not None
        self.log.extend(self._process.stderr)


@contextmanager
def server(data_dir: Path, command: Sequence[str] = COMMAND, **settings: object) -> Iterator[Server]:
    """A server that is killed at the end of the block, if it still runs then."""
    running = Server(data_dir, command, **settings)
    try:
        yield running
    finally:
        if running._process.poll() is None:
            running.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until it holds, for a minute at most; a long wait asks less often, as each question takes computing."""
    since = time.monotonic()
    while not condition():
        waited = time.monotonic() - since
        assert waited < 60
        time.sleep(min(max(0.02, waited / 20), 0.1))
