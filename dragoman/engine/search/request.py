"""What a search is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.lexicon.text.offsets import Unit

SNIPPET_LENGTH = 400
"""The longest snippet where a request does not say, in code points."""

Method = Literal["psq", "smt", "none", "dense", "hybrid"]
BY_WORDS = ("psq", "smt", "none")
"""The methods whose scores are shares of the highest attainable one; the reranker's weights were fitted to these."""
BY_MEANING = ("dense", "hybrid")
"""The methods that need the sentence encoder."""


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """How to rerank the best hits of the first stage."""

    depth: int = 50
    model: str | None = None


@dataclass(frozen=True, slots=True)
class FacetField:
    """A field whose values are counted, and how many of them are shown."""

    field: str
    size: int = 10


@dataclass(frozen=True, slots=True)
class SnippetOptions:
    """How many snippets a hit has at most, and how long one is at most, in code points."""

    count: int = 1
    length: int = SNIPPET_LENGTH


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A query over one or more collections, in any language that there are tables or documents in.

    Of fields that are None the best known choice is made; :class:`~dragoman.service.search.schemas.SearchRequest`
    describes them.
    """

    query: str
    query_language: str | None = None
    reader_languages: Sequence[str] | None = None
    collections: Sequence[str] | None = None
    top_k: int = 10
    method: Method | None = None
    tables: Sequence[str] | None = None
    rerank: RerankOptions | Literal[False] | None = None
    names: bool = False
    """Whether names stay whole, by psq and hybrid; finding them takes a pass of the tagger."""
    entities: Sequence[str] | None = None
    must: Sequence[str] = ()
    """Words and phrases that documents must hold; :mod:`dragoman.engine.query.exact` says when one does."""
    must_not: Sequence[str] = ()
    syntax: Literal["text", "simple"] = "text"
    untranslated: Literal["literal", "error"] = "literal"
    filter: Mapping[str, Any] | None = None
    """Which documents may be found, by their metadata; :mod:`dragoman.indexes.attributes.filters` has the form."""
    facets: Sequence[FacetField] | None = None
    sort: Sequence[str] | None = None
    offset: int = 0
    cursor: str | None = None
    collapse: str | None = None
    fields: Sequence[str] | None = None
    """What hits have of documents' metadata: dotted paths; None: all of it."""
    gloss: bool = False
    explain: bool = False
    attention: bool = False
    """Whether hits have their attention; only where they are explained."""
    translate_snippets: bool = False
    snippets: SnippetOptions = SnippetOptions()
    offsets: Unit = "codepoint"
    """What the offsets of hits are counted in."""
    min_generation: Mapping[str, int] | None = None
    """The generation that is seen at least, by the names of collections."""
