"""Numbers as responses show them."""

from __future__ import annotations


def significant(probability: float) -> float:
    """A probability rounded for display; tables store about seven digits."""
    return float(f"{probability:.6g}")
