"""Detects the language of a query among the languages that the service can search from."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache

import regex
from lingua import Language, LanguageDetector, LanguageDetectorBuilder

from dragoman.indexes.analysis.function_words import common_words
from dragoman.lexicon.text.tokens import words

FALLBACK = "en"
"""The assumed language of a query without evidence, such as a number."""
NEIGHBOURS = frozenset(("bg", "cs", "da", "fi", "he", "hu", "it", "ko", "nl", "pl", "pt", "ro", "sv", "uk"))
"""Languages that a text may be in though no model learned them: taken for another one, they would be read as two."""

Knows = Callable[[str, str], bool]
"""``knows(language, word)``: whether a translation table has the folded word on its side of the language."""

_LETTER = regex.compile(r"\p{L}")
_SAMPLE = 1000
_MINIMUM = 0.001
_UNMODELLED = 0.1
_WORDS_AGAINST_LETTERS = 100.0
_REACH = 4.0
_OWN_SCRIPT = {
    code: regex.compile(rf"[\P{{L}}\p{{Script={script}}}]++")
    for code, script in {
        "am": "Ethiopic",
        "bo": "Tibetan",
        "dv": "Thaana",
        "dz": "Tibetan",
        "ii": "Yi",
        "km": "Khmer",
        "kn": "Kannada",
        "lo": "Lao",
        "ml": "Malayalam",
        "my": "Myanmar",
        "ne": "Devanagari",
        "or": "Oriya",
        "ps": "Arabic",
        "sa": "Devanagari",
        "sd": "Arabic",
        "si": "Sinhala",
        "ti": "Ethiopic",
        "ug": "Arabic",
        "yi": "Hebrew",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Detection:
    """A query's language; ``decided`` is false if the query has no evidence for any candidate."""

    language: str
    decided: bool


def detect(
    text: str, candidates: Collection[str], knows: Knows, reach: Callable[[str], float] = lambda language: 0.0
) -> Detection:
    """The most probable language of ``text`` among ``candidates`` (ISO 639 codes).

    A language scores sqrt(confidence) * 100^share. The confidence comes from lingua's character model. The share is
    that of the query's words that the language has, in the translation tables or among its common words. Characters
    alone often fail for queries of one or two words, glossaries lack the function words of a question, and a language
    without a model is recognised by its words or its script.

    ``reach`` is the share of the searched languages that a query in a language can reach. A language weighs more the
    more of them it can reach, up to five times. A query without letters, or without evidence for any candidate, is
    assumed to be English if that is a candidate.
    """
    usable = sorted(set(candidates))
    fallback = FALLBACK if FALLBACK in usable or not usable else usable[0]
    if not _LETTER.search(text) or not usable:
        return Detection(fallback, False)
    sample = text[:_SAMPLE]
    scores: dict[str, float] = {}
    for language, confidence in _confidences(sample, usable).items():
        if confidence is not None and confidence < _MINIMUM:
            continue
        share = _known(sample, language, knows)
        if confidence is not None or share > 0.0:
            scores[language] = (
                (1 + _REACH * reach(language)) * math.sqrt(confidence or _UNMODELLED) * _WORDS_AGAINST_LETTERS**share
            )
    best = max(scores, key=lambda language: (scores[language], language == fallback), default=fallback)
    return Detection(best, best in scores)


def prepare(languages: Collection[str]) -> None:
    """Load the detection models of these languages, so that the first query does not wait for them.

    Loading a model takes 80 ms and 10 MB of memory.
    """
    candidates = sorted({FALLBACK, *languages}) if languages else []
    for language in candidates:
        longest = max(common_words(language), key=len, default=language)  # a long text would load fewer models
        _confidences(longest, candidates)


def _known(text: str, language: str, knows: Knows) -> float:
    found = [token.word for token in words(text, language)]
    common = common_words(language)
    known = sum(word in common or word.removesuffix("'") in common or knows(language, word) for word in found)
    return known / len(found) if found else 0.0


def _confidences(text: str, candidates: list[str]) -> dict[str, float | None]:
    """Probability per candidate by the character model; None for a language without a model."""
    modelled = {code: language for code in candidates if (language := _modelled().get(code)) is not None}
    values = _model_confidences(text, frozenset(modelled.values())) if modelled else {}
    confidences: dict[str, float | None] = {}
    for code in candidates:
        if code in modelled:
            confidences[code] = values[modelled[code]]
        else:
            script = _OWN_SCRIPT.get(code)
            confidences[code] = 1.0 if script is not None and script.fullmatch(text) else None
    return confidences


def _model_confidences(text: str, languages: frozenset[Language]) -> dict[Language, float]:
    if len(languages) == 1:
        other = Language.ENGLISH if Language.ENGLISH not in languages else Language.FRENCH
        languages = languages | {other}
    return {found.language: found.value for found in _detector(languages).compute_language_confidence_values(text)}


@lru_cache(maxsize=1)
def _modelled() -> dict[str, Language]:
    return {language.iso_code_639_1.name.lower(): language for language in Language.all()}


@lru_cache(maxsize=16)
def _detector(languages: frozenset[Language]) -> LanguageDetector:
    """A detector for these languages; the models themselves are loaded once, on first use."""
    return LanguageDetectorBuilder.from_languages(*languages).build()
