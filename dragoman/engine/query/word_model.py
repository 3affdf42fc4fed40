"""In which languages a text's words are usual: a model of words and their parts, for texts of a few words.

A word's languages follow from the word and from its parts of one to five letters, by weights learned from real text in
23 languages. A text is likely in a language by the product of its words. A word may also be an English one in a text of
another language, such as a title, or any word of Latin letters in a text in another script.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import regex
from numpy.typing import NDArray
from safetensors import safe_open

WEIGHTS = Path(__file__).parent / "weights" / "words.safetensors"
LONGEST_PART = 5
WORD_CHARS = 20
WORDS = 32
"""Most words of a text that are looked at."""
BORROWED = 0.3
"""How usual an English word is in a text of another language."""
BORROWED_SCRIPT = 0.4
"""How usual a word in Latin letters is in a text in another script."""
UNUSUAL = 0.005
"""How usual any other word is."""
MIXED = 4.0
"""What a language in Latin letters loses, in log odds, where more than a quarter of the words are in another script:
Latin words in Greek or Chinese text are frequent, the other way round they are not."""

_WORD = regex.compile(
    r"[\p{Script=Latin}\p{M}]+(?:['’][\p{Script=Latin}\p{M}]+)*+|[\p{L}\p{M}--\p{Script=Latin}]+", regex.VERSION1
)
_LATIN = regex.compile(r"\p{Script=Latin}")
_SCRIPTS = {
    "am": regex.compile(r"\p{Script=Ethiopic}"),
    "ar": regex.compile(r"\p{Script=Arabic}"),
    "el": regex.compile(r"\p{Script=Greek}"),
    "fa": regex.compile(r"\p{Script=Arabic}"),
    "hi": regex.compile(r"\p{Script=Devanagari}"),
    "ja": regex.compile(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]"),
    "ru": regex.compile(r"\p{Script=Cyrillic}"),
    "th": regex.compile(r"\p{Script=Thai}"),
    "zh": regex.compile(r"\p{Script=Han}"),
}
"""The scripts of the model's languages; the others are written in Latin letters."""


@dataclass(frozen=True)
class WordModel:
    """Weights by bucket of words and parts, a column for each language."""

    languages: tuple[str, ...]
    weights: NDArray[np.int8]
    scale: float

    def usual(self, word: str) -> NDArray[np.float64]:
        """The probability of each language for one word in lower case."""
        rows = buckets(word, len(self.weights))
        weights = self.weights[rows].astype(np.float64).mean(axis=0) * self.scale
        exponents = np.exp(weights - weights.max())
        likely: NDArray[np.float64] = exponents / exponents.sum()
        return likely


def text_words(text: str) -> list[str]:
    """The first words of a text, in lower case: runs of Latin or of other letters, with marks and apostrophes."""
    return [match[0] for match, _ in zip(_WORD.finditer(text.lower()), range(WORDS), strict=False)]


def buckets(word: str, count: int) -> list[int]:
    """The buckets of a word: its own, as often as a third of its parts, and that of each part."""
    whole = f"<{word[:WORD_CHARS]}>"
    parts = {whole[at : at + size] for size in range(1, LONGEST_PART + 1) for at in range(len(whole) - size + 1)}
    whole_buckets = [zlib.crc32(f"={whole}".encode()) % count] * max(1, len(parts) // 3)
    return whole_buckets + sorted({zlib.crc32(part.encode()) % count for part in parts})


def word_confidences(text: str, candidates: Collection[str]) -> dict[str, float]:
    """The probabilities of the candidates that the model knows and in whose script the text has a letter."""
    model = _model()
    languages = [
        language
        for language in candidates
        if language in model.languages and _SCRIPTS.get(language, _LATIN).search(text)
    ]
    words = text_words(text)
    if not languages or not words:
        return {}
    columns = [model.languages.index(language) for language in languages]
    foreign = np.array([language in _SCRIPTS for language in languages])
    english = model.languages.index("en")
    scores = np.zeros(len(languages))
    for word in words:
        usual = _usual(word[:WORD_CHARS])
        borrowed = np.full(len(languages), BORROWED * usual[english])
        if _LATIN.search(word):
            borrowed[foreign] = BORROWED_SCRIPT
        scores += np.log(usual[columns] + borrowed + UNUSUAL)
    if 4 * sum(_LATIN.search(word) is None for word in words) > len(words):
        scores[~foreign] -= MIXED
    exponents = np.exp(scores - scores.max())
    return dict(zip(languages, (exponents / exponents.sum()).tolist(), strict=True))


def model_languages() -> frozenset[str]:
    """The languages that the model knows."""
    return frozenset(_model().languages)


@lru_cache(maxsize=10_000)
def _usual(word: str) -> NDArray[np.float64]:
    return _model().usual(word)


@cache
def _model() -> WordModel:
    with safe_open(WEIGHTS, framework="numpy") as file:
        about = file.metadata()
        return WordModel(tuple(json.loads(about["languages"])), file.get_tensor("weights"), float(about["scale"]))
