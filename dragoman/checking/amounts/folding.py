"""Text as amounts are looked up in it: small letters, Latin digits and plain separators, code point by code point."""

from __future__ import annotations

import unicodedata

import regex

__all__ = ["fold_key", "fold_text"]

_SEPARATORS = {
    "٫": "٫", "．": ".", "，": ",", "、": "、", "。": "。", "：": ":", "／": "/", "％": "%", "٪": "%", "﹪": "%",
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " ", "\u2008": " ", "\u3000": " ",
    "’": "'", "‘": "'", "ʼ": "'", "＇": "'", "′": "'", "＄": "$", "￥": "¥", "～": "~", "〜": "~",
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-", "－": "-", "־": "-",
}  # fmt: skip
"""Each stands for one code point, so that places in the folded text are places in the text."""


class _Folds(dict[int, str]):
    """What a code point folds to, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        folded = str(unicodedata.digit(sign)) if unicodedata.category(sign) == "Nd" else sign
        self[code] = folded
        return folded


_FOLDS = _Folds({ord(sign): plain for sign, plain in _SEPARATORS.items()})
_GREEK = regex.compile(r"\p{Greek}")
_MARKS = regex.compile(r"[\u0300-\u036f]")
_DROPPED = regex.compile(r"[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u00ad\u200b-\u200f\u2060]")
_LETTERS = str.maketrans({"ё": "е", "ي": "ی", "ى": "ی", "ك": "ک", "أ": "ا", "إ": "ا", "آ": "ا", "ة": "ه"})
"""Letters that are written either way, in Russian, Arabic, Persian and Urdu."""


def fold_text(text: str) -> str:
    """``text`` in small letters with Latin digits and plain separators, as long as ``text``."""
    lower = text.lower()
    if len(lower) != len(text):  # İ becomes two code points
        lower = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)
    return lower.translate(_FOLDS)


def fold_key(word: str) -> str:
    """A word as the lexicons hold it: without Greek accents, vowel signs of Arabic and Hebrew, and joiners."""
    if word.isascii():
        return word
    if _GREEK.search(word):
        word = _MARKS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", _DROPPED.sub("", word)).translate(_LETTERS)
