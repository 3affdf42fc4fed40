"""Phrases of tables in a query: the longest ones, with all their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.deadline import check
from dragoman.lexicon.table.index_terms import LONGEST_TERM
from dragoman.lexicon.table.table import Lookup
from dragoman.lexicon.text.tokens import Token

__all__ = ["by_phrases", "units"]


def by_phrases(tokens: Sequence[Token], table: Lookup | None, glossaries: frozenset[int]) -> list[Token]:
    """The words of a query; words of a glossary phrase get the phrase's term."""
    phrase_tokens: list[Token] = []
    phrases = (phrase for phrase in units(tokens, table, glossaries) if " " in phrase.term)
    phrase = next(phrases, None)
    for token in tokens:
        while phrase is not None and phrase.end <= token.start:
            phrase = next(phrases, None)
        inside = phrase is not None and phrase.start <= token.start and token.end <= phrase.end
        phrase_tokens.append(
            token._replace(term=phrase.term) if phrase is not None and inside and token.term else token
        )
    return phrase_tokens


def units(tokens: Sequence[Token], table: Lookup | None, glossaries: frozenset[int] | None = None) -> Iterator[Token]:
    """The query's words, with the longest phrases of ``glossaries``, or of all tables, joined into one token each."""
    content = [token for token in tokens if token.term]
    if table is None or (glossaries is not None and not glossaries):
        yield from content
        return
    position = 0
    while position < len(content):
        check()
        near = content[position : position + LONGEST_TERM]
        reach = next((place for place, token in enumerate(near) if place and token.apart), len(near))
        length = _phrase_length(near[:reach], table, glossaries)
        phrase = content[position : position + length]
        if length == 1:
            yield phrase[0]
        else:
            yield Token(
                " ".join(token.word for token in phrase),
                " ".join(token.term for token in phrase),
                phrase[0].start,
                phrase[-1].end,
            )
        position += length


def _phrase_length(words: Sequence[Token], table: Lookup, glossaries: frozenset[int] | None) -> int:
    for length in range(len(words), 1, -1):
        entries = table.translations(" ".join(token.term for token in words[:length]))
        if any(glossaries is None or entry.origin in glossaries for entry in entries):
            return length
    return 1
