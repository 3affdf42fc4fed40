"""Roman numerals of centuries and names: XIX, Louis XIV."""

from __future__ import annotations

from collections.abc import Iterator

import regex

__all__ = ["find_roman"]

_ROMAN = regex.compile(r"(?<![\p{L}\p{N}'’.])[IVXLІХ]{1,8}(?=(?:(?<=..)(?:e|ᵉ|ème)|e siècle)?(?![\p{L}\p{N}'’]))")
"""The last two are Cyrillic; French adds an ending: XIXe."""
_VALID = regex.compile(r"(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}


def find_roman(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and quantity of each Roman numeral up to 89; a lone I or V is one, too."""
    for match in _ROMAN.finditer(text):
        letters = match.group().replace("І", "I").replace("Х", "X")
        if _VALID.fullmatch(letters):
            values = [_VALUES[letter] for letter in letters]
            total = sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))
            yield match.start(), match.end(), total
