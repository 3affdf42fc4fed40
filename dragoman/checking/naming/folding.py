"""Names as they are compared."""

from __future__ import annotations

import unicodedata

import regex

__all__ = ["fold_name"]

_VOICED = regex.compile(r"[\p{Hiragana}\p{Katakana}][\u3099\u309a]")
"""What is another letter and no accent: ド is no ト."""
_MARKS = regex.compile(r"[\p{M}--[\u3099\u309a]]", regex.V1)


def fold_name(text: str) -> str:
    """Small letters without marks."""
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    composed = _VOICED.sub(lambda kana: unicodedata.normalize("NFC", kana.group()), plain)
    return str(composed).casefold().replace("’", "'")
