"""How much nearer a query is to one language than to another, whatever a text says.

An encoder's vectors lie nearer to those of their own language ("language bias", LAReQA, Roy et al. 2020). The mean
vector of a language's passages has what these have in common. Without its part of an inner product, passages in several
languages compare (centring: Libovický, Rosa & Fraser 2020, "On the Language Neutrality of Pre-trained Multilingual
Representations").
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from dragoman.files.atomic import atomic_file

__all__ = ["LanguageMeans", "shipped_means"]

SHIPPED = Path(__file__).parent / "codebooks"

Vector = NDArray[np.float32]


class LanguageMeans:
    """The mean vectors (width,) of passages by language, of one encoder."""

    def __init__(self, means: Mapping[str, Vector]) -> None:
        self._means = {language: np.asarray(mean, np.float32) for language, mean in means.items()}

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self._means)

    def products(self, vector: Vector, languages: Iterable[str]) -> dict[str, float]:
        """The mean inner product of ``vector`` (width,) with passages in each of the languages that are known."""
        return {language: float(vector @ self._means[language]) for language in languages if language in self._means}

    def excess(self, vector: Vector, languages: Iterable[str]) -> dict[str, float]:
        """How much larger the inner product of ``vector`` (width,) with any passage is in each of the languages.

        Compared with the mean over those ``languages`` that are known; others are left out, and one alone is 0.
        """
        products = self.products(vector, languages)
        if not products:
            return {}
        mean = statistics.fmean(products.values())
        return {language: product - mean for language, product in products.items()}

    def save(self, path: Path) -> None:
        """Write the means to ``path`` atomically, in 16 bits."""
        with atomic_file(path) as unfinished:
            save_file({language: mean.astype(np.float16) for language, mean in self._means.items()}, unfinished)

    @classmethod
    def load(cls, path: Path) -> LanguageMeans:
        """Read means written by :meth:`save`.

        Raises:
            ValueError: if the file is damaged.
        """
        try:
            return cls(load_file(path))
        except SafetensorError as fault:
            raise ValueError(f"{path} has no means of languages: {fault}") from fault


def shipped_means(encoder: str) -> LanguageMeans:
    """The means that come with the package for an encoder; none at all for another one."""
    paths = {path.name: path for path in SHIPPED.glob("*.means.safetensors")}
    name = f"{encoder}.means.safetensors"
    return LanguageMeans.load(paths[name]) if name in paths else LanguageMeans({})
