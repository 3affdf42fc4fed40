"""How much of a document the reranker reads."""

from __future__ import annotations

import regex

DOCUMENT_SUBWORDS = 800
LONGEST_SUBWORD = 16
"""Characters; what subword vocabularies of unigram models are learned with."""

_WORD = regex.compile(r"\S+")


def readable(text: str) -> str:
    """The beginning of a text that holds all of it that is read, where a text is far longer than that.

    A subword lies within one word between blanks and has at most :data:`LONGEST_SUBWORD` characters, so that a text's
    first :data:`DOCUMENT_SUBWORDS` subwords are in this one. In a WordPiece vocabulary a longer word may be one
    subword, so that of a text with many of these a little less is read.
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
