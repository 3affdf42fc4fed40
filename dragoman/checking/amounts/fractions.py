"""Fractions in words: two thirds, ein Viertel, 三分之二."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import regex

from dragoman.checking.amounts.folding import fold_text, fold_with_places
from dragoman.checking.amounts.lexical.ideographs import read_ideographs
from dragoman.checking.amounts.lexical.lexicon import load_lexicon

__all__ = ["list_fractions"]

_NAMES = {
    "en": "third 3 quarter 4 fourth 4 fifth 5 sixth 6 seventh 7 eighth 8 ninth 9 tenth 10",
    "de": "drittel 3 viertel 4 funftel 5 fünftel 5 sechstel 6 siebtel 7 achtel 8 neuntel 9 zehntel 10",
    "nl": "derde 3 kwart 4 vijfde 5",
    "fr": "tiers 3 quart 4 cinquième 5 sixième 6 septième 7 huitième 8 dixième 10",
    "es": "tercio 3 cuarto 4 quinto 5 sexto 6 séptimo 7 octavo 8 décimo 10 tercera_parte 3 cuarta_parte 4"
    " quinta_parte 5 sexta_parte 6 décima_parte 10 terceras_partes 3 cuartas_partes 4 quintas_partes 5",
    "it": "terzo 3 terzi 3 quarto 4 quarti 4 quinto 5 quinti 5",
    "pt": "terço 3 quarto 4 quinto 5 terça_parte 3 quarta_parte 4",
    "ru": "трет\\p{L}{1,2} 3 четверт\\p{L}{1,3} 4 пят(?:ая|ую|ой|ых) 5 шест(?:ая|ую|ых) 6 седьм(?:ая|ую|ых) 7"
    " восьм(?:ая|ую|ых) 8 девят(?:ая|ых) 9 десят(?:ая|ую|ых) 10",
    "el": "τριτο 3 τριτα 3 τριτων 3 τεταρτο 4 τεταρτα 4 τεταρτων 4 πεμπτο 5 πεμπτα 5 δεκατο 10 δεκατα 10",
    "ar": "ال?ثلث 3 ثلث 3 اثلاث 3 ربع 4 ارباع 4 خمس 5 اخماس 5 سدس 6 عشر 10 اعشار 10",
    "fa": "سوم 3 چهارم 4 پنجم 5 دهم 10",
    "hi": "तिहाई 3 चौथाई 4 पांचवां_हिस्सा 5 पाँचवाँ_हिस्सा 5 दसवां_हिस्सा 10",
    "bn": "তৃতীয়াংশ 3 তৃতীয়াংশ 3 চতুর্থাংশ 4 পঞ্চমাংশ 5",
}
"""Denominators of a language."""
_PLURAL = {"en": "s?", "de": "s?", "fr": "s?", "es": "s?", "pt": "s?"}
_ALONE = {
    "en": r"(?:a|one)", "de": r"ein(?:e[smnr]?)?", "fr": r"(?:un|le)", "es": r"(?:un|una|la)", "it": "un", "pt": "uma?",
    "nl": "een", "el": "(?:ενα|το|του)", "hi": "एक", "bn": "এক", "fa": "یک",
}  # fmt: skip
"""One of them."""
_MOST = 12
"""Of a numerator in words."""
_SIGNS = r"\d{1,3}|[一二三四五六七八九十百]{1,3}"
_OF_ASIA = regex.compile(rf"(?P<below>{_SIGNS}) ?分[之の] ?(?P<above>{_SIGNS})(?!\d)")
_THAI = regex.compile(r"(?P<above>\d{1,2}|\L<words>) ?ใน ?(?P<below>\d{1,2}|\L<words>)", words=[
    "หนึ่ง", "สอง", "สาม", "สี่", "ห้า", "หก", "เจ็ด", "แปด", "เก้า", "สิบ",
])  # fmt: skip
_IN_DIGITS = regex.compile(
    r"(?<![\d/_\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}])(\d)/(\d{1,2})(?![\d/_\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}])"
)


@lru_cache(maxsize=32)
def _make_pattern(language: str) -> tuple[regex.Pattern[str] | None, tuple[int, ...]]:
    """Numerator, hyphen or space, denominator; the values of the denominators in order."""
    if language not in _NAMES:
        return None, ()
    names = fold_text(_NAMES[language]).split(" ")
    values = tuple(int(below) for below in names[1::2])
    groups = "|".join(f"(?P<d{place}>{name.replace('_', ' ')})" for place, name in enumerate(names[::2]))
    numbers = load_lexicon(language).numbers
    above = [word for word, entry in numbers.items() if 2 <= entry.quantity <= _MOST and not entry.ordinal]
    alone = rf"|{_ALONE[language]}" if language in _ALONE else ""
    pattern = (
        rf"(?<![\p{{L}}\p{{M}}\d])(?P<above>\L<above>|\d{{1,2}}{alone})[ -]"
        rf"(?:{groups}){_PLURAL.get(language, '')}(?![\p{{L}}\p{{M}}])"
    )
    return regex.compile(pattern, above=above), values


def list_fractions(text: str, language: str) -> list[tuple[int, int, Fraction]]:
    """Start, end and value of the fractions; places are those of the text."""
    folded, places = fold_with_places(text)
    fractions = [
        (places[match.start()], places[match.end() - 1] + 1, Fraction(above, below))
        for match, above, below in _find(folded, language)
        if above and below > 1
    ]
    return sorted(set(fractions))


def _find(folded: str, language: str) -> Iterator[tuple[regex.Match[str], int, int]]:
    if language in ("zh", "ja", "yue"):
        for match in _OF_ASIA.finditer(folded):
            yield match, _read_signs(match.group("above")), _read_signs(match.group("below"))
    elif language == "th":
        for match in _THAI.finditer(folded):
            yield match, _read_above(match.group("above"), "th"), _read_above(match.group("below"), "th")
    pattern, values = _make_pattern(language)
    if pattern is not None:
        for match in pattern.finditer(folded):
            below = next(below for place, below in enumerate(values) if match.group(f"d{place}"))
            yield match, _read_above(match.group("above"), language), below
    for match in _IN_DIGITS.finditer(folded):
        if int(match.group(1)) < int(match.group(2)):
            yield match, int(match.group(1)), int(match.group(2))


def _read_above(written: str, language: str) -> int:
    if written.isdecimal():
        return int(written)
    word = load_lexicon(language).numbers.get(written)
    return int(word.quantity) if word is not None else 1


def _read_signs(written: str) -> int:
    return int(written) if written.isdecimal() else int(read_ideographs(written) or 0)
