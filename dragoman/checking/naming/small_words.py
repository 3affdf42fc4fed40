"""Words that are written with a capital where a sentence begins, and hardly anywhere else."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

__all__ = ["is_small"]

DATA = Path(__file__).with_name("data") / "small_words.txt.gz"
"""Made by ``scripts/small_words.py``."""


def is_small(word: str) -> bool:
    """Whether a word in small letters, or that of which it is an English plural, is usually written so."""
    words = _read_words()
    return word in words or word.removesuffix("s") in words


@lru_cache(maxsize=1)
def _read_words() -> frozenset[str]:
    return frozenset(gzip.decompress(DATA.read_bytes()).decode().split())
