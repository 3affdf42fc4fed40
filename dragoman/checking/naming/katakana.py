"""Katakana in Latin letters, and English spelling in the sounds that katakana has."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import regex

__all__ = ["list_spoken", "romanise_katakana"]

_VOWELS = "aeiou"
_SMALL_VOWELS = {"ァ": "a", "ィ": "i", "ゥ": "u", "ェ": "e", "ォ": "o"}
_GLIDES = {"ャ": "ya", "ュ": "yu", "ョ": "yo"}
_SEMIVOWELS = {"u": "w", "i": "y"}
"""What a vowel becomes that a small one follows: ウィ, イェ."""
_PALATALS = ("sh", "ch", "j")
_SILENT = "ッー"
_SPELLINGS = (
    (regex.compile("^mc"), "mak"),
    (regex.compile("ph"), "f"),
    (regex.compile("sch"), "sh"),
    (regex.compile("dg(?=e)"), "j"),
    (regex.compile("ght"), "t"),
    (regex.compile("au(?=[lr])"), "o"),
    (regex.compile("ch(?=[rl])"), "k"),
    (regex.compile("tch"), "ch"),
    (regex.compile("c(?=[eiy])"), "s"),
    (regex.compile("m(?=[bp])"), "n"),
    (regex.compile("th"), "s"),
    (regex.compile("v"), "b"),
    (regex.compile("l"), "r"),
    (regex.compile("c(?!h)|q"), "k"),
    (regex.compile("x"), "ks"),
    (regex.compile("z"), "s"),
    (regex.compile(r"([^aeiou])\1+"), r"\1"),
)
"""What English writes for a sound of katakana, in order; a sign of katakana has one."""
_FINAL_R = regex.compile("r(?![aeiouy])")
"""An r that no vowel follows, which katakana has as a long vowel: カーター."""
_FRENCH_CH = regex.compile(r"^ch(?=[aeiou]\p{L}{3})")
"""Where a name begins that is not short: シャルル and シカゴ, beside チャールズ."""
_FIRST_V = regex.compile("^v")


def romanise_katakana(text: str, romanise: Callable[[str], str]) -> str:
    """Katakana as it is read, with its small signs: フィッシャー is *fisha* and not *fuitshiya*."""
    letters = ""
    for sign in unicodedata.normalize("NFKC", text):
        if sign in _SILENT:
            continue
        if sign in _SMALL_VOWELS and letters.endswith(tuple(_VOWELS)):
            vowel, letters = letters[-1], letters[:-1]
            if not letters or letters[-1] in _VOWELS:
                letters += _SEMIVOWELS.get(vowel, "")
            letters += _SMALL_VOWELS[sign]
        elif sign in _GLIDES and letters.endswith(tuple(_VOWELS)):
            letters = letters[:-1]
            letters += _GLIDES[sign][1:] if letters.endswith(_PALATALS) else _GLIDES[sign]
        else:
            letters += romanise(sign)
    return letters


def list_spoken(letters: str) -> set[str]:
    """A name of small Latin letters in the sounds of katakana: with an r that no vowel follows, and without.

    A ch that it begins with may be French, and a v that of other languages: シカゴ, ウラジーミル.
    """
    spoken = set()
    begun = {letters, _FRENCH_CH.sub("sh", letters), _FIRST_V.sub("w", letters)}
    for name in begun | {_FINAL_R.sub("", written) for written in begun}:
        for pattern, sound in _SPELLINGS:
            name = pattern.sub(sound, name)
        spoken.add(name)
    return spoken
