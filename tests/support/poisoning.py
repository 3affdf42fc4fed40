"""The ``dragoman`` command in which some texts cannot be analysed: ``python -m tests.support.poisoning serve ...``.

A text with a word of ``POISON_RAISES`` raises when it is analysed; one with a word of ``POISON_HANGS`` takes until its
deadline or its cancellation.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from dragoman.cli import main as command_line
from dragoman.deadline import check
from dragoman.engine.indexing.lucene import isolation as unindexed

POISONING = [sys.executable, "-m", "tests.support.poisoning"]
_analysed = unindexed.analyse_documents


def _poisoned(documents: Sequence[Any], analyses: Any) -> Any:
    words = {word for document in documents for word in document.text.split()}
    if words & set(os.environ.get("POISON_RAISES", "").split()):
        raise RuntimeError("poison")
    while words & set(os.environ.get("POISON_HANGS", "").split()):
        check()
        time.sleep(0.01)
    return _analysed(documents, analyses)


def main() -> None:
    """Run the command."""
    unindexed.analyse_documents = _poisoned
    command_line.main()


if __name__ == "__main__":
    main()
