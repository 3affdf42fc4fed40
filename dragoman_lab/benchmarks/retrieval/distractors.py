"""Sentences that make a small collection larger."""

from __future__ import annotations

import gzip
from pathlib import Path


def distractors(data_folder: Path, language: str, count: int) -> dict[str, str]:
    """The first ``count`` foreign sentences of the parallel text."""
    texts: dict[str, str] = {}
    for path in sorted((data_folder / "parallel" / f"{language}-en").glob("*.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                if len(texts) >= count:
                    return texts
                texts[f"distractor-{len(texts)}"] = line.split("\t", 1)[0]
    return texts
