"""What an answer says of its query: how it was understood, and how it was translated."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman.engine.core.answer import Answer, left_out


@dataclass(slots=True, kw_only=True)
class QueryRead(Answer):
    """The query as it was understood."""

    text: str
    language: str
    detected: bool
    language_probability: float
    """How sure the language is among those that were considered; 1 where the request names it."""


@dataclass(slots=True, kw_only=True)
class TableUsed(Answer):
    """A table version used for the response."""

    name: str
    version: int


@dataclass(slots=True, kw_only=True)
class TermTranslation(Answer):
    """A translation of a query word."""

    term: str
    probability: float
    """P(translation | query word)"""
    language: str
    spelling: str = field(default_factory=left_out)
    """The word of the tables that the query word was taken for, whose translation it is; left out for the word itself.
    Neither a table nor a document has the word as it was spelt."""


@dataclass(slots=True, kw_only=True)
class QueryTerm(Answer):
    """A word of the query with its most probable translations, at most ten per language."""

    term: str
    translations: list[TermTranslation]


@dataclass(slots=True, kw_only=True)
class ExactReading(Answer):
    """What is looked for in documents of one language, as index terms."""

    words: list[list[str]]
    """For each word of the text what may stand for it. A translated phrase is without its function words, in place of
    which as many others may stand."""
    phrases: list[str]
    """What may stand for the whole text: entries of tables of several words on either side."""
    literal: list[str]
    """Words of the text that no table translates into the language: they are looked for as they are, and by sound."""


@dataclass(slots=True, kw_only=True)
class ExactText(Answer):
    """A required or excluded text."""

    text: str
    languages: dict[str, ExactReading]
    """By document language; a document has the text if its words follow one another, or one of the phrases."""


@dataclass(slots=True, kw_only=True)
class Translation(Answer):
    """How the query was translated."""

    tables: list[TableUsed]
    terms: list[QueryTerm]
    oov: dict[str, list[str]]
    """By document language, the query words that no table has for it and that are in no phrase of a glossary;
    searched untranslated. Languages without such words are left out."""
    names: list[str]
    """Names in the query that stayed whole, in some language at least."""
    ignored: list[str]
    """Query words that are not searched in any language: stop words, and other words of the question's form."""
    must: list[ExactText] = field(default_factory=left_out)
    """Only if something is required: what each text became."""
    must_not: list[ExactText] = field(default_factory=left_out)
    """Only if something is excluded. Where a text is literal, documents with a translation of it are not excluded."""
