"""Many real sentences, for benchmarks of speed."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator
from pathlib import Path


def sentences(data: Path) -> Iterator[str]:
    """German sentences of the parallel texts, again and again."""
    paths = sorted((data / "parallel" / "de-en").glob("*.tsv.gz"))
    for path in itertools.cycle(paths):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            yield from (line.split("\t", 1)[0] for line in stream)
