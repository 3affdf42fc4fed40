"""How much one answer may hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from dragoman.engine.search.request import SNIPPET_LENGTH
from dragoman.engine.search.response import (
    AttentionWord,
    Contribution,
    Entity,
    FacetCount,
    Gloss,
    Highlight,
    QueryWord,
    Snippet,
)

T = TypeVar("T")

_HIT = 3_000
"""What a hit takes at most without what is counted here, in bytes of JSON: its snippet, its id and its scores."""
_CHARACTER = 6
"""What a character takes at most as JSON."""
_TITLE = 200
_COUNT = 40
"""What the value of a facet takes beside its text."""


class Room:
    """The room in one answer, in bytes of JSON; what has none is left out, and named in ``truncated``."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit
        self._short: dict[str, list[int]] = {}

    def reserve(self, hits: int, snippet_length: int = SNIPPET_LENGTH) -> None:
        """Keep room for what every hit has."""
        self._left -= hits * _hit_size(snippet_length)

    def fitting(self, kind: str, rank: int, pieces: Sequence[T], size: Callable[[T], int]) -> list[T]:
        """The first of a hit's pieces of evidence, as many as there is room for."""
        for index, piece in enumerate(pieces):
            if not self._take(size(piece)):
                self._note(kind, rank)
                return list(pieces[:index])
        return list(pieces)

    def all_or_none(self, kind: str, rank: int, pieces: Sequence[T], size: Callable[[T], int]) -> list[T]:
        """All of a hit's pieces of evidence, or none of them; none after a hit whose pieces had no room."""
        if not self.short_of(kind) and self._take(sum(size(piece) for piece in pieces)):
            return list(pieces)
        self._note(kind, rank)
        return []

    def facet(self, counts: Sequence[FacetCount]) -> list[FacetCount]:
        """The first of a field's values, as many as there is room for; half of an answer is for hits."""
        for index, counted in enumerate(counts):
            size = _COUNT + _bytes(str(counted.value))
            if self._left - size < self._limit // 2 or not self._take(size):
                self._note("facets", 0)
                return list(counts[:index])
        return list(counts)

    def short_of(self, kind: str) -> bool:
        """Whether there was no room for pieces of this kind."""
        return kind in self._short

    def title(self, rank: int, title: str | None) -> str | None:
        """The title of a hit, or its beginning."""
        if title is None or len(title) <= _TITLE or self._take(_bytes(title)):
            return title
        self._note("titles", rank)
        return title[:_TITLE]

    def metadata(self, rank: int, size: int) -> bool:
        """Whether there is room for what a hit shows of metadata."""
        if self._take(size):
            return True
        self._note("metadata", rank)
        return False

    def messages(self) -> list[str]:
        """What was left out, of how many hits."""
        return [
            f"{kind}: cut short{_of_hits(ranks)}: an answer may have {self._limit} bytes"
            for kind, ranks in self._short.items()
        ]

    def _take(self, size: int) -> bool:
        if size > self._left:
            return False
        self._left -= size
        return True

    def _note(self, kind: str, rank: int) -> None:
        self._short.setdefault(kind, []).append(rank)


def longest_snippets(limit: int, hits: int) -> int:
    """How long the first snippets of so many hits may be for an answer of so many bytes, in code points."""
    return SNIPPET_LENGTH + max(0, limit // max(1, hits) - _HIT) // _CHARACTER


def _hit_size(snippet_length: int) -> int:
    return _HIT + _CHARACTER * max(0, snippet_length - SNIPPET_LENGTH)


def _of_hits(ranks: Sequence[int]) -> str:
    return f" in {len(ranks)} hits, the first of rank {min(ranks)}" if min(ranks) else ""


def highlight_size(highlight: Highlight) -> int:
    """The bytes of a highlight."""
    return 170 + _bytes(highlight.document_term) + _bytes(highlight.query_term) + _bytes(highlight.table or "")


def snippet_size(snippet: Snippet) -> int:
    """The bytes of one of several snippets."""
    return 40 + _bytes(snippet.text)


def contribution_size(contribution: Contribution) -> int:
    """The bytes of a contribution."""
    return 170 + _bytes(contribution.query_term)


def gloss_size(gloss: Gloss) -> int:
    """The bytes of the gloss of a word."""
    return 80 + sum(3 + _bytes(translation) for translation in gloss.translations)


def query_word_size(word: QueryWord) -> int:
    """The bytes of a word of the query in an attention matrix, with its brackets of a row."""
    return 50 + _bytes(word.text)


def attention_size(word: AttentionWord, weights: Sequence[float]) -> int:
    """The bytes of a column of an attention matrix, with the word that it is of."""
    return 80 + _bytes(word.text) + sum(1 + len(repr(weight)) for weight in weights)


def entity_size(entity: Entity) -> int:
    """The bytes of a name."""
    return 110 + _bytes(entity.text)


def _bytes(text: str) -> int:
    """As JSON; a character that JSON writes as an escape counts more."""
    return len(text.encode()) if text.isprintable() else _CHARACTER * len(text)
