"""The worker that a service starts for itself: ``python -m dragoman.cli.worker_child SOCKET FOLDER``.

The descriptor is that of the socket, which it inherits. The settings are the first line of its standard input, the
precision of stored embeddings is the second, and its end is that of its parent.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
from threading import Thread

from dragoman.engine.observability.logs import configure_log
from dragoman.engine.settings import Settings
from dragoman.service.server import serve_child


def main() -> None:
    """Serve until the parent closes its end of the pipe, or ends."""
    descriptor, folder = int(sys.argv[1]), sys.argv[2]
    settings = Settings.model_validate_json(sys.stdin.buffer.readline())
    stored_precision = sys.stdin.buffer.readline().decode().strip() or None
    Thread(target=_end_with_parent, args=(folder,), name="dragoman-parent", daemon=True).start()
    configure_log(settings.log.log_level, settings.log.log_format)
    logging.getLogger("dragoman.access").setLevel(logging.WARNING)  # the parent has a line for what it is asked
    serve_child(settings, stored_precision, socket.socket(fileno=descriptor))


def _end_with_parent(folder: str) -> None:
    """End the process at once when the parent is gone: it has nothing to save, and nobody to answer."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
