"""The ``dragoman`` command with small batches: ``python -m tests.support.small_batches serve ...``.

10 documents or lines are stored at a time and 4 lines of a job; one answer is generated at a time. A process that is
killed, and a disk that is full, then leave work half done after a few lines.
"""

from __future__ import annotations

import sys

from dragoman.cli import main as command_line
from dragoman.engine.models import models
from dragoman.service.jobs import job_scheduler, submission
from dragoman.store.collections import importing

SMALL_BATCHES = [sys.executable, "-m", "tests.support.small_batches"]


def shrink() -> None:
    """Make the batches of this process small."""
    importing.BATCH_LINES = submission.BATCH_LINES = 10
    job_scheduler.CHUNK_LINES = 4
    models.ANSWERS = 1


def main() -> None:
    shrink()
    command_line.main()


if __name__ == "__main__":
    main()
