"""The ``dragoman`` command whose stop hangs.

``STUCK`` is ``closing``, a lock that is never free, ``computing``, C code that keeps the interpreter's lock, or
``muted``, a log that nobody reads.
"""

from __future__ import annotations

import logging
import os
import re
from threading import Event

from dragoman.cli import main as command_line
from dragoman.service.http.connections import graceful_server
from dragoman.service.runtime import Runtime


def _never_closed(runtime: Runtime) -> None:
    if os.environ["STUCK"] == "computing":
        re.match(r"(a+)+$", "a" * 64 + "b")
    if os.environ["STUCK"] == "muted":
        for handler in logging.getLogger().handlers:
            handler.acquire()
    Event().wait()


def main() -> None:
    graceful_server._CLOSING_SECONDS = 3.0
    Runtime.close = _never_closed  # type: ignore[method-assign]
    command_line.main()


if __name__ == "__main__":
    main()
