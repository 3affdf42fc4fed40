"""Documents to be indexed, and their analysis in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from dragoman.deadline import check_each
from dragoman.indexes.analysis.languages import analyser, has_words_among_terms
from dragoman.indexes.analysis.pipeline import Entry, WordAnalysis, check_distinct
from dragoman.indexes.analysis.transliteration import sounds
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import PART, Analysis

__all__ = ["IndexRow", "IndexedDocument", "analyse_documents", "batches"]

_DOCUMENTS_PER_BATCH = 256
_CHARACTERS_PER_BATCH = 1_000_000
_MANY = 4096
"""Terms after which the deadline is asked for; most documents have fewer, and need no check within them."""
_NO_NAME = regex.compile(r"\p{Han}|(?=.*\p{Han})(?=.*\p{Hiragana})[\p{Han}\p{Hiragana}]++")
"""Japanese words that are no names, and are not read as they are romanised: one character, and verbs."""


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document to index."""

    key: int
    """The document's integer key in the database, unique in the collection."""
    language: str
    text: str
    attributes: str = ""
    """As of :func:`~dragoman.indexes.attributes.values.encode_attributes`."""


class IndexRow(NamedTuple):
    """An analysed document: space-separated folded words and index terms, without elided words."""

    key: int
    language: str
    words: str
    """Empty where they are among the terms."""
    terms: str
    """With the further terms of each word as ``dragoman.Places`` reads them."""
    sounds: str
    """The skeletons of the distinct terms but function words and parts of words, each with its term (see
    `indexes.analysis.transliteration`). See :func:`_phonetic_terms`."""
    attributes: str = ""
    """As those of the document."""


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


def analyse_documents(documents: Sequence[IndexedDocument], analyses: Mapping[str, Analysis]) -> list[IndexRow]:
    """Analyse each document in its language.

    Raises:
        KeyError: if ``analyses`` has no entry for a language.
        TooManyWords: a document has too many distinct words to be indexed.
    """
    by_language: dict[str, Iterator[tuple[list[str], list[Entry]]]] = {}
    for language in {document.language for document in documents}:
        texts = [document.text for document in documents if document.language == language]
        by_language[language] = iter(_analyse_texts(analyses[language], texts))
    rows: list[IndexRow] = []
    for document in check_each(documents):
        words, entries = next(by_language[document.language])
        distinct = _phonetic_terms(document.language, words, entries)
        steps = distinct if len(distinct) < _MANY else check_each(distinct, _MANY)
        phonetic = " ".join([sounds(term) for term in steps])
        terms = " ".join([entry.row for entry in entries])
        folded = "" if has_words_among_terms(document.language) else " ".join(words)
        rows.append(IndexRow(document.key, document.language, folded, terms, phonetic, document.attributes))
    return rows


def _phonetic_terms(language: str, words: Sequence[str], entries: Sequence[Entry]) -> set[str]:
    """The distinct terms that names may sound like; stems and dictionary forms cut names, so words are among them."""
    function, row = folded_function_words(language), analyser(language)
    content = {entry for word, entry in zip(words, entries, strict=True) if word not in function}
    terms = {entry.term for entry in content}
    if not row.words:
        terms |= {term for entry in content for term in entry.further if not term.startswith(PART)}
    return {term for term in terms if not _NO_NAME.fullmatch(term)} if language == "ja" else terms


def _analyse_texts(analysis: Analysis, texts: list[str]) -> list[tuple[list[str], list[Entry]]]:
    """Words and terms of each text, without elided words."""
    if isinstance(analysis, WordAnalysis):
        return analysis.analyse_texts(texts)
    searchable = [[token for token in analysis.tokens(text) if token.term] for text in texts]
    for tokens in searchable:
        check_distinct([token.word for token in tokens])
    return [
        ([token.word for token in text], [Entry(token.term, (), token.term) for token in text]) for text in searchable
    ]
