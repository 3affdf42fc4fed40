"""One mark for all near copies of a text, by which hits can be collapsed."""

from __future__ import annotations

from hashlib import blake2b

import regex

from dragoman.deadline import check_each

_WORDS_TOGETHER = 4
_BYTES = 8
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|\w+")


def fingerprint(text: str) -> str:
    """The least hash of four words that follow one another: 16 hexadecimal digits; empty for a text without words.

    Two texts have the same one with the probability of their Jaccard similarity over such words (MinHash: Broder 1997):
    copies with another headline or ending mostly have it, and unrelated texts hardly ever.
    """
    words = _WORD.findall(text.casefold())
    if not words:
        return ""
    last = max(1, len(words) - _WORDS_TOGETHER + 1)
    shingles = (" ".join(words[place : place + _WORDS_TOGETHER]).encode() for place in check_each(range(last), 1000))
    return min(blake2b(shingle, digest_size=_BYTES).digest() for shingle in shingles).hex()
