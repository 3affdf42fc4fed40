"""The part of a document that the reranker reads."""

from __future__ import annotations

import regex

DOCUMENT_SUBWORDS = 800
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
