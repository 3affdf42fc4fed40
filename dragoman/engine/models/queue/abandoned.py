"""Threads of closed workers that are still computing: the process waits for them at its end, or ends at once."""

from __future__ import annotations

import logging
import os
import sys
from threading import Thread

_ABANDONED: list[Thread] = []


def abandon(thread: Thread) -> None:
    """Note that nobody waits any more for what a thread computes."""
    _ABANDONED.append(thread)


def finish_computing() -> None:
    """Wait for the threads of closed workers that are still computing, as long as that takes."""
    while _ABANDONED:
        _ABANDONED.pop().join()


def exit_if_computing(status: int) -> None:
    """End the process at once if a closed worker's thread is still computing; otherwise do nothing.

    On a normal exit the interpreter would stop the thread inside torch, which aborts the process. Everything to save
    must have been closed before.
    """
    if any(thread.is_alive() for thread in _ABANDONED):
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
