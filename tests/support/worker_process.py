"""A worker process that tests start, signal and end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

import httpx

from dragoman.engine.models.scoring import ScoreRequest, SpannedText
from dragoman.ranking.attention import NO_LINKS, Links
from dragoman.service.remote.tasks import MESSAGE_BYTES, MESSAGE_TYPE, Asked
from dragoman.service.remote.wire import Frames, pack
from tests.support.forking import Forked
from tests.support.serving import environment, module_of, wait_for
from tests.support.standing_in import STANDING_IN


class Worker:
    """``dragoman worker`` on a port of its own, to be ended and started again."""

    def __init__(
        self, command: Sequence[str] = STANDING_IN, malloc: dict[str, str] | None = None, **settings: object
    ) -> None:
        """With ``malloc``, variables that the C library reads at its start, it is an interpreter of its own."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._command, self._malloc = command, malloc
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._settings = settings
        self.process: Any = None

    def start(self) -> None:
        arguments = ["worker", "--port", str(self.port)]
        if self._malloc is None:
            self.process = Forked(module_of(self._command), arguments, environment(**self._settings), self._log)
        else:
            variables = environment(**self._settings) | self._malloc
            self.process = subprocess.Popen([*self._command, *arguments], env=variables, stderr=self._log)
        wait_for(lambda: answers(f"{self.url}/readyz") == 200)

    def log(self) -> str:
        """What it has written to standard error."""
        return os.pread(self._log.fileno(), 1 << 20, 0).decode()

    def tell(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        assert self.process is not None
        self.tell(signal.SIGCONT)
        self.tell(number)
        return self.process.wait(30)


def ask(url: str, asked: Asked, **headers: str) -> list[Any]:
    """What a worker answers to a request.

    Raises:
        httpx.HTTPStatusError: it refuses.
    """
    sent = {"Content-Type": MESSAGE_TYPE} | headers
    response = httpx.post(f"{url}/v1/compute", content=pack(asked), headers=sent, timeout=60, trust_env=False)
    response.raise_for_status()
    return list(Frames(MESSAGE_BYTES).take(response.content))


def pair(text: str, spans: Sequence[tuple[int, int]] = ((0, 1),), links: Links = NO_LINKS) -> ScoreRequest:
    """A request to score a text for the query "a"."""
    return ScoreRequest(SpannedText("a", [(0, 1)]), [SpannedText(text, spans)], [links])


def answers(url: str) -> int:
    try:
        return httpx.get(url, timeout=10, trust_env=False).status_code
    except httpx.TransportError:
        return 0
