"""Stages of a request that may be left out, so that the rest is answered in time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.deadline import DeadlinePassed, check, deadline, remaining
from dragoman.engine.core.errors import OutOfTime
from dragoman.engine.core.priority import in_background

_SHARE = 0.5
"""What a stage that may be left out can take of the time that is left."""


@contextmanager
def optional() -> Iterator[None]:
    """Let the block take half of the time that is left; background work, of which nothing is left out, has all of it.

    Raises:
        OutOfTime: it took longer.
        DeadlinePassed: the whole request did.
        WorkCancelled: nobody waits for it any more.
    """
    if in_background():
        yield
        return
    try:
        with deadline(_SHARE * remaining(math.inf)):
            yield
    except DeadlinePassed as fault:
        check()
        raise OutOfTime("it took too long") from fault
