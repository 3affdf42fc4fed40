"""The fitted numbers of the checker: ``thresholds.json``, written by ``dragoman_lab.benchmarks.checking.fit``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["LengthFit", "MeaningFit", "NameFit", "Thresholds", "shipped_thresholds"]

SHIPPED = Path(__file__).with_name("thresholds.json")


@dataclass(frozen=True, slots=True)
class LengthFit:
    """Characters of a language for one of English, and how much that varies."""

    ratio: float
    spread: float


@dataclass(frozen=True, slots=True)
class MeaningFit:
    """Cosines of a sentence with its translation: above ``least`` it is one, below ``elsewhere`` another's."""

    least: float
    elsewhere: float


@dataclass(frozen=True, slots=True)
class NameFit:
    """How alike a name and a word must be: romanised, and by the encoder's cosine."""

    sound: float
    cosine: float
    both: float
    """What the sum of the two must be otherwise."""
    whole: float = 2.0
    """What the cosine of a name of several words must be, if its words are not alike."""


@dataclass(frozen=True)
class Thresholds:
    """By language, against English; of two others the looser one holds, and ``*`` is for languages without a fit."""

    lengths: Mapping[str, LengthFit]
    meanings: Mapping[str, MeaningFit]
    names: Mapping[str, NameFit]
    length_deviations: float
    """More of them make a draft."""
    length_failed: float
    """More of them are no translation."""
    coverage: float
    """The least share of words that a table covers, of both directions the better one."""
    coverage_words: int
    """With fewer words in tables the coverage says nothing."""

    def length(self, language: str) -> LengthFit:
        return self.lengths.get(language, self.lengths["*"])

    def meaning(self, source: str, target: str) -> MeaningFit:
        """The thresholds of a pair of languages, in either direction."""
        first, second = (self.meanings.get(language, self.meanings["*"]) for language in _foreign(source, target))
        return MeaningFit(min(first.least, second.least), min(first.elsewhere, second.elsewhere))

    def name(self, source: str, target: str) -> NameFit:
        """The thresholds of names, in either direction."""
        first, second = (self.names.get(language, self.names["*"]) for language in _foreign(source, target))
        return NameFit(
            sound=min(first.sound, second.sound),
            cosine=min(first.cosine, second.cosine),
            both=min(first.both, second.both),
            whole=min(first.whole, second.whole),
        )


def _foreign(source: str, target: str) -> tuple[str, str]:
    """The languages that are not English, with which everything was fitted."""
    if source == "en":
        return target, target
    return (source, source) if target == "en" else (source, target)


def read_thresholds(fitted: Mapping[str, Any]) -> Thresholds:
    """What a file holds."""
    return Thresholds(
        lengths={language: LengthFit(**fit) for language, fit in fitted["lengths"].items()},
        meanings={language: MeaningFit(**fit) for language, fit in fitted["meanings"].items()},
        names={language: NameFit(**fit) for language, fit in fitted["names"].items()},
        **fitted["limits"],
    )


@lru_cache(maxsize=1)
def shipped_thresholds() -> Thresholds:
    """Those that come with the package."""
    return read_thresholds(json.loads(SHIPPED.read_text(encoding="utf-8")))
