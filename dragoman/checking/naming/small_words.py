"""Words that are written with a capital where a sentence begins, and hardly anywhere else."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

__all__ = ["is_small"]

DATA = Path(__file__).with_name("data") / "small_words.txt.gz"
ENGLISH = DATA.with_name("small_words_en.txt.gz")
"""Both made by ``scripts/small_words.py``; the second has the English words of the first that are rarely names."""


def is_small(word: str, language: str) -> bool:
    """Whether a word in small letters, or that of which it is an English plural, is usually written so.

    An English sentence may begin with a name that is a word of another language, as *Flores*.
    """
    words = _read_words(ENGLISH if language == "en" else DATA)
    return word in words or word.removesuffix("s") in words


@lru_cache(maxsize=2)
def _read_words(path: Path) -> frozenset[str]:
    return frozenset(gzip.decompress(path.read_bytes()).decode().split())
