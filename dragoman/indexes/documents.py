"""Documents to be indexed, and their analysis in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.deadline import checked
from dragoman.indexes.analysis.pipeline import LuceneAnalysis, check_distinct
from dragoman.indexes.analysis.transliteration import sounds
from dragoman.lexicon.text.tokens import Analysis

__all__ = ["IndexedDocument", "Row", "analysed", "batches"]

_DOCUMENTS_PER_BATCH = 256
_CHARACTERS_PER_BATCH = 1_000_000
_MANY = 4096
"""Terms after which the deadline is asked for; most documents have fewer, and need no check within them."""


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document to index."""

    key: int
    """The document's integer key in the database, unique in the collection."""
    language: str
    text: str


class Row(NamedTuple):
    """An analysed document: space-separated folded words and index terms, without stop words."""

    key: int
    language: str
    words: str
    terms: str
    sounds: str
    """The skeletons of the distinct terms, each with its term (see `indexes.analysis.transliteration`)."""


def batches(documents: Iterable[IndexedDocument]) -> Iterator[list[IndexedDocument]]:
    """Split documents into batches small enough for searches to run in between."""
    batch: list[IndexedDocument] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if len(batch) >= _DOCUMENTS_PER_BATCH or characters >= _CHARACTERS_PER_BATCH:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def analysed(documents: Sequence[IndexedDocument], analyses: Mapping[str, Analysis]) -> list[Row]:
    """Analyse each document in its language.

    Raises:
        KeyError: if ``analyses`` has no entry for a language.
        TooManyWords: a document has too many distinct words to be indexed.
    """
    found: dict[str, Iterator[tuple[list[str], list[str]]]] = {}
    for language in {document.language for document in documents}:
        texts = [document.text for document in documents if document.language == language]
        found[language] = iter(_indexed(analyses[language], texts))
    rows: list[Row] = []
    for document in checked(documents):
        words, terms = next(found[document.language])
        distinct = set(terms)
        steps = distinct if len(distinct) < _MANY else checked(distinct, _MANY)
        phonetic = " ".join([sounds(term) for term in steps])
        rows.append(Row(document.key, document.language, " ".join(words), " ".join(terms), phonetic))
    return rows


def _indexed(analysis: Analysis, texts: list[str]) -> list[tuple[list[str], list[str]]]:
    """Words and terms of each text, without stop words."""
    if isinstance(analysis, LuceneAnalysis):
        return analysis.indexed(texts)
    kept = [[token for token in analysis.tokens(text) if token.term] for text in texts]
    for tokens in kept:
        check_distinct([token.word for token in tokens])
    return [([token.word for token in text], [token.term for token in text]) for text in kept]
