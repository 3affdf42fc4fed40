"""The last timer of a process that stops: it ends within its time, whatever runs."""

from __future__ import annotations

import faulthandler
import logging
import os
from functools import partial
from threading import Timer

logger = logging.getLogger("dragoman")

OVERTIME_STATUS = 1
"""Exit status of a process whose stop took too long."""
_GRACE_SECONDS = 2.0
_FEWEST_SECONDS = 0.1
_STANDARD_ERROR = 2


class LastTimer:
    """Ends the process after a time that nothing extends or cancels; whatever was acknowledged is in the database.

    There are three timers. The first is a Python thread: it says why the process ends. If it cannot, because nobody
    reads standard error, the second one ends the process without a word. If neither gets a turn, because C code holds
    the interpreter's lock, the third one does: a thread of ``faulthandler``, which needs no lock and writes where each
    thread stands.
    """

    def __init__(self) -> None:
        self._begun = False

    def begin(self, seconds: float) -> None:
        """Let the process end in so many seconds at the latest; later calls change nothing.

        Call it from the main thread; it may be in a handler of a signal.
        """
        if self._begun:
            return
        self._begun = True
        faulthandler.dump_traceback_later(max(seconds, _FEWEST_SECONDS), file=_STANDARD_ERROR, exit=True)
        for left, end in ((_GRACE_SECONDS, partial(_end, seconds)), (_GRACE_SECONDS / 2, _end_silently)):
            timer = Timer(max(seconds - left, _FEWEST_SECONDS), end)
            timer.daemon = True
            timer.start()


def _end(seconds: float) -> None:
    try:
        logger.error("the stop was to take %g seconds at most: ending what still runs; nothing stored is lost", seconds)
    finally:
        _end_silently()


def _end_silently() -> None:
    os._exit(OVERTIME_STATUS)
