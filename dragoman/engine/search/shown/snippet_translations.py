"""Snippets of hits in the query's language, each sentence checked."""

from __future__ import annotations

from dragoman.engine.checking.response import CheckedTranslation
from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.answer import Degraded
from dragoman.engine.search.ranked import Retrieval


def add_translations(retrieval: Retrieval, translations: CheckedTranslations) -> list[Degraded]:
    """Give each hit its snippet's translation, or null, and say why translations are missing or unchecked."""
    hits = [document.hit for document in retrieval.documents]
    snippets = [(hit.language, hit.snippet) for hit in hits]
    language = retrieval.query.language
    translated, degraded = translations.snippets(snippets, language, retrieval.snapshot, retrieval.cancelled)
    for hit, translation in zip(hits, translated, strict=True):
        hit.snippet_translation = translation
    return degraded


def withholds(translation: CheckedTranslation | None) -> bool:
    """Whether a hit's translation lacks a sentence, so that a gloss stands for it."""
    return translation is not None and translation.withholds
