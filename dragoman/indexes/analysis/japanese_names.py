"""How Japanese texts write a name in Latin letters: a list of names, from JMnedict.

A reading is not to be had from kanji alone, and one reading has many forms (*Osamu*: 治虫, 修, 治). So a name is looked
up by its sounds in a list that ``scripts/japanese_names.py`` makes.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.indexes.analysis.transliteration import romanise

__all__ = ["DATA", "japanese_forms", "list_name_forms", "sound_of"]

DATA = Path(__file__).parent / "names" / "ja.tsv.xz"

_LONG = regex.compile(r"([aiu])\1+|o[ou]+|oh(?![aeiouy])")
_NASAL = regex.compile(r"m(?=[bpm])")


def sound_of(words: Iterable[str]) -> str:
    """The words of a name in alphabetical order, as they sound: without long vowels, which are written in many ways."""
    parts = (part for word in words for part in word.split("-"))
    sounds = (_NASAL.sub("n", _LONG.sub(lambda match: match[0][0], romanise(part))) for part in parts)
    return " ".join(sorted(filter(None, sounds)))


@lru_cache(maxsize=4096)
def japanese_forms(words: tuple[str, ...]) -> tuple[str, ...]:
    """The forms of a name of these words, in any order: *Osamu Tezuka* as *Tezuka Osamu*; none if no name has them."""
    sound = sound_of(words).encode() + b"\t"
    lines, starts = _lines()
    low, high = 0, len(starts) - 1
    while sound != b"\t" and low < high:
        middle = (low + high) // 2
        line = lines[starts[middle] : starts[middle + 1]]
        if line.startswith(sound):
            return tuple(line[len(sound) :].decode().split())
        low, high = (middle + 1, high) if line < sound else (low, middle)
    return ()


@cache
def _lines() -> tuple[bytes, NDArray[np.int32]]:
    """All lines, and where each begins, with the end; loaded once for the process: 15 MB."""
    lines = lzma.decompress(DATA.read_bytes())
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")).astype(np.int32)
    return lines, np.concatenate((np.zeros(1, np.int32), ends + 1))


def list_name_forms(words: tuple[str, ...], language: str) -> tuple[str, ...]:
    """How a language that has a list of names, Japanese, writes one of these words."""
    return japanese_forms(words) if language == "ja" else ()
