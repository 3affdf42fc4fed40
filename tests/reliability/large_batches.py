"""The ``dragoman`` command with batches as large as on a GPU: ``python -m tests.reliability.large_batches worker``."""

import sys

from dragoman.cli import main as command_line
from dragoman.ranking import scoring

LARGE_BATCHES = [sys.executable, "-m", "tests.reliability.large_batches"]


def main() -> None:
    scoring.TOKENS_AT_ONCE = scoring.TOKENS_AT_ONCE_ON_GPU
    command_line.main()


if __name__ == "__main__":
    main()
