"""Whether a translation is as long as translations of its pair of languages are.

The model is that of Gale & Church (1993, "A Program for Aligning Sentences in Bilingual Corpora"): the difference of
lengths in characters is normal, with a variance that grows with the length.
"""

from __future__ import annotations

import math

from dragoman.checking.thresholds import Thresholds

__all__ = ["measure_length"]

_LEAST = 20
"""Shorter sentences vary as those of this length do."""
_LEAST_SPREAD = 1.0
"""Two sentences of one language vary, too, though English is what the others are measured by and has no spread."""


def measure_length(source: int, target: int, source_language: str, target_language: str, fit: Thresholds) -> float:
    """By how many standard deviations a translation of ``target`` characters is too long, or, below 0, too short."""
    first, second = fit.length(source_language), fit.length(target_language)
    expected, actual = source / first.ratio, target / second.ratio  # both in characters of English
    deviation = max(math.hypot(first.spread, second.spread), _LEAST_SPREAD)
    return (actual - expected) / (deviation * math.sqrt(_LEAST + expected))
