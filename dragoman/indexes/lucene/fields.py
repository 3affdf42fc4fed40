"""The fields of an index: the key, and two or three fields per document language."""

from __future__ import annotations

from dragoman.indexes.analysis.languages import has_words_among_terms
from dragoman.lexicon.query import TranslatedQuery

__all__ = ["KEY_FIELD", "query_field", "sound_field", "term_field", "word_field"]

KEY_FIELD = "key"


def term_field(language: str) -> str:
    """The field of a language's index terms (stems), searched by ``psq`` and ``none``."""
    return f"t_{language}"


def word_field(language: str) -> str:
    """The field of a language's folded words, searched by ``smt``: that of its terms, where they are among these."""
    return term_field(language) if has_words_among_terms(language) else f"w_{language}"


def sound_field(language: str) -> str:
    """The field of the phonetic skeletons of a language's index terms."""
    return f"x_{language}"


def query_field(query: TranslatedQuery, language: str) -> str:
    """The field that a query searches."""
    return word_field(language) if query.method == "smt" else term_field(language)
