"""The part of a query and a document that the reranker reads."""

from __future__ import annotations

import regex

DOCUMENT_SUBWORDS = 800
QUERY_WORDS = 512
"""Words of a query that can be read: each has a subword at least, and no encoder reads more beside a passage."""
LINKS, LINKS_OF_DOCUMENT = 4_000_000, 100_000
"""Linked word pairs of a request, and of one of its documents: 20 bytes each. Texts of ordinary words have a few for
each word; without a limit a word that is repeated in query and document would have them all."""
LONGEST_SUBWORD = 16
"""Maximal length of a subword in characters, as in training of unigram vocabularies."""

_WORD = regex.compile(r"\S+")


def readable(text: str) -> str:
    """Cut a very long text to a prefix that contains all of the part that is read.

    A subword lies within one space-separated word and has at most :data:`LONGEST_SUBWORD` characters, so the prefix
    contains the first :data:`DOCUMENT_SUBWORDS` subwords. In a WordPiece vocabulary a longer word may be one subword;
    of a text with many such words slightly less is read.
    """
    if len(text) <= DOCUMENT_SUBWORDS:
        return text
    left = DOCUMENT_SUBWORDS + 1
    for word in _WORD.finditer(text):
        subwords = -(-len(word[0]) // LONGEST_SUBWORD)
        if subwords >= left:
            return text[: min(word.end(), word.start() + left * LONGEST_SUBWORD)]
        left -= subwords
    return text
