"""The fields of an index: three for each document language, and the key."""

from __future__ import annotations

from dragoman.lexicon.query import TranslatedQuery

__all__ = ["KEY_FIELD", "query_field", "sound_field", "term_field", "word_field"]

KEY_FIELD = "key"


def term_field(language: str) -> str:
    """The field of a language's index terms (stems), which ``psq`` and ``none`` search."""
    return f"t_{language}"


def word_field(language: str) -> str:
    """The field of a language's folded words, which ``smt`` searches."""
    return f"w_{language}"


def sound_field(language: str) -> str:
    """The field of the skeletons of a language's index terms."""
    return f"x_{language}"


def query_field(query: TranslatedQuery, language: str) -> str:
    """The field that a query is about."""
    return word_field(language) if query.method == "smt" else term_field(language)
