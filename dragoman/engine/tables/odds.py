"""Which of two languages a term is likelier in, by lingua's character models."""

from __future__ import annotations

import math
from functools import lru_cache

from lingua import Language, LanguageDetectorBuilder

from dragoman.lexicon.formats.items import Odds

_LEAST = 1e-6


def odds_between(source: str, target: str) -> Odds | None:
    """The logarithm of how much likelier a term is in one language than in the other; None without both models.

    Loading the models of two languages takes 160 ms and 20 MB the first time.
    """
    models = _models()
    if source == target or source not in models or target not in models:
        return None
    return _odds(models[source], models[target])


@lru_cache(maxsize=1)
def _models() -> dict[str, Language]:
    return {language.iso_code_639_1.name.lower(): language for language in Language.all()}


@lru_cache(maxsize=16)
def _odds(source: Language, target: Language) -> Odds:
    detector = LanguageDetectorBuilder.from_languages(source, target).build()

    def odds(term: str) -> float:
        probabilities = {
            confidence.language: confidence.value for confidence in detector.compute_language_confidence_values(term)
        }
        return math.log((probabilities[source] + _LEAST) / (probabilities[target] + _LEAST))

    return odds
