"""What a check may ask about one pair of languages; whatever is missing is not checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.table import Lookup
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis

__all__ = ["Encode", "Knowledge", "TableView", "Vectors"]

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str], str], Vectors]
"""Unit vectors (texts, width) of texts in a language, without what all texts of that language have in common."""


class TableView(Protocol):
    """The merged entries of the active tables of one direction, keyed by index terms."""

    @property
    def analysed(self) -> Lookup: ...
    @property
    def glossaries(self) -> frozenset[int]:
        """The origins of entries that are a user's glossary."""


@dataclass(frozen=True)
class Knowledge:
    """The languages of a source and its translation, and what is there to compare them with."""

    source: str
    target: str
    analysis: Callable[[str], Analysis] = PlainAnalysis
    forward: TableView | None = None
    """From the source's language; None where no table is active."""
    backward: TableView | None = None
    romanise: Callable[[str], str] | None = None
    """A word in Latin letters; without it names are compared within one script alone."""
    common: Callable[[str], frozenset[str]] = lambda language: frozenset()
    """Folded common words of a language, which are no names though a sentence begins with them."""
    unrelated: float = 0.0
    """The cosine of unrelated texts by the encoder, which counts as 0."""
    encode: Encode | None = None
    """Without it the meaning is not checked, and no sentence is better than a draft."""
    name_forms: Callable[[tuple[str, ...], str], tuple[str, ...]] = lambda words, language: ()
    """How a language may write a name of these words that is not written by its sound, as Japanese kanji."""

    def with_encoder(self, encode: Encode, unrelated: float = 0.0) -> Knowledge:
        """The same with an encoder."""
        return replace(self, encode=encode, unrelated=unrelated)

    def scale(self, cosine: float) -> float:
        """A cosine of which that of unrelated texts is 0."""
        return (cosine - self.unrelated) / (1 - self.unrelated)

    def invert(self) -> Knowledge:
        """The same for a translation in the other direction."""
        return replace(self, source=self.target, target=self.source, forward=self.backward, backward=self.forward)
