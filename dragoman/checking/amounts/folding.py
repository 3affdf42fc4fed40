"""Text as amounts are looked up in it: small letters, Latin digits, plain separators, without vowel signs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import regex

__all__ = ["fold_text", "fold_with_places"]

_PLAIN = {
    "．": ".", "・": "·", "：": ":", "／": "/", "％": "%", "٪": "%", "﹪": "%", "،": ",", "؛": ";", "॰": ".",
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " ", "\u2008": " ", "\u3000": " ", "\u200c": " ",
    "’": "'", "‘": "'", "ʼ": "'", "＇": "'", "′": "'", "״": '"', "׳": "'", "＄": "$", "￥": "¥", "～": "~", "〜": "~",
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-", "－": "-", "־": "-",
    "ё": "е", "ي": "ی", "ى": "ی", "ئ": "ی", "ك": "ک", "أ": "ا", "إ": "ا", "آ": "ا", "ة": "ه", "ۀ": "ه", "ہ": "ه",
    "ھ": "ه", "ά": "α", "έ": "ε", "ή": "η", "ί": "ι", "ό": "ο", "ύ": "υ", "ώ": "ω", "ϊ": "ι", "ΐ": "ι", "ϋ": "υ",
    "ΰ": "υ", "ς": "σ", "ı": "i", "İ": "i",
    **{chr(0x2080 + digit): str(digit) for digit in range(10)},
}  # fmt: skip
"""Each is one code point for another, so that places stay; letters are those that are written either way."""


_DIGIT = regex.compile(r"\d")


def _read_digit(sign: str) -> int:
    """The value of a digit; ``regex`` knows younger scripts than ``unicodedata``, whose digits are in order."""
    digit = unicodedata.decimal(sign, -1)
    return digit if digit >= 0 else next(n for n in range(10) if not _DIGIT.fullmatch(chr(ord(sign) - n - 1)))


class _Folds(dict[int, str]):
    """What a code point folds to, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        folded = str(_read_digit(sign)) if _DIGIT.fullmatch(sign) else sign
        self[code] = folded
        return folded


_FOLDS = _Folds({ord(sign): plain for sign, plain in _PLAIN.items()})
_DROPPED = regex.compile(
    r"[\u0300\u0301\u0307\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u00ad\u200b\u200d-\u200f"
    r"\u061c\u202a-\u202e\u2060\u2066-\u2069\ufeff]"
)
"""Accents of stress, vowel signs of Arabic and Hebrew, joiners and marks of direction."""


def fold_text(text: str) -> str:
    """``text`` as :func:`fold_with_places` folds it."""
    return fold_with_places(text)[0]


def fold_with_places(text: str) -> tuple[str, Sequence[int]]:
    """Folded text, and the place in ``text`` of each of its code points and of its end."""
    lower = text.translate(_FOLDS).lower()
    if len(lower) != len(text):  # a letter whose small form is two
        lower = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text.translate(_FOLDS))
    lower = lower.translate(_FOLDS)  # capitals with an accent
    if not _DROPPED.search(lower):
        return lower, range(len(lower) + 1)
    places = [place for place, sign in enumerate(lower) if not _DROPPED.match(sign)]
    return "".join(lower[place] for place in places), [*places, len(lower)]
