"""A search process of a service: ``python -m dragoman.cli.search_process SOCKET FOLDER``.

The descriptor is that of the socket that the service listens on, which it inherits. The first line of its standard
input says all else, a second one that it is to accept no more, and its end is that of its parent.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import sys
from pathlib import Path
from threading import Thread


def main() -> None:
    """Serve until the parent says so, or ends."""
    descriptor, path = int(sys.argv[1]), sys.argv[2]
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(Path(path, "metrics"))  # before anything that counts is imported
    greeting = json.loads(_read_line())
    ending = _Ending(path)
    Thread(target=ending.follow, name="dragoman-parent", daemon=True).start()

    from dragoman.engine.observability.logs import configure_log
    from dragoman.engine.settings import Settings
    from dragoman.service.server import serve_searches

    settings = Settings.model_validate(greeting["settings"])
    configure_log(settings.log.log_level, settings.log.log_format)
    logging.getLogger("dragoman.refused").setLevel(logging.CRITICAL)  # who is refused here is so by the parent too
    serve_searches(settings, greeting, Path(path), socket.socket(fileno=descriptor), lambda: ending.stopping)


class _Ending:
    """Follows the parent."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.stopping = False
        """Whether the process is to accept no more."""

    def follow(self) -> None:
        """End the process at once when the parent is gone: it has nothing to save, and nobody to answer."""
        while os.read(sys.stdin.fileno(), 1):
            self.stopping = True
        shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)


def _read_line() -> bytes:
    """The first line of standard input, and no byte more."""
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"\n", b""):
        line += byte
    return bytes(line)


if __name__ == "__main__":
    main()
