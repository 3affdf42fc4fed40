"""Folding: the normal form in which words of documents, queries and translation tables are compared.

Compatibility forms and case are folded as in Unicode's ``NFKC_Casefold``. Diacritics are folded by script: marks
that belong to a letter of their script are kept. Nothing is transliterated to ASCII.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

import regex

FOLDING_VERSION = "5"

APOSTROPHES = "'’‘‛ʼʻʾʿʹ＇ꞌꞋ"
NUMBER_SEPARATORS = ".,'’\u00a0\u2009\u202f\u066c，．＇"
IGNORABLE = (
    r"\u00AD\u034F\u055A-\u055F\u061C\u0640\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200C-\u200F\u202A-\u202E"
    r"\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\U000E0000-\U000E0FFF"
    # isolated forms of marks, whose compatibility decomposition starts with a space
    r"\u037A\uFC5E-\uFC63\uFE70\uFE72\uFE74\uFE76\uFE78\uFE7A\uFE7C\uFE7E"
)
"""Body of a character class: joiners, direction marks, tatweel, soft hyphens and similar, removed from words."""


LONGEST_MARKS = 30
"""Marks that a letter keeps, as in Unicode's stream-safe text format (UAX #15, D3); folding ignores those after them.
Normalisation sorts the marks of a letter, and takes time that is quadratic in their number."""


def grouped_number(digit: str = r"\p{Nd}", group: int = 1, once: str = "+") -> str:
    """Pattern of a number with thousands separators. It has one capturing group, of number ``group``.

    ``once`` is what makes a repetition possessive, empty for a library that cannot; the matches are the same.
    """
    return (
        rf"{digit}{{1,3}}([{NUMBER_SEPARATORS}]){digit}{{3}}"
        rf"(?:\{group}{digit}{{3}})*{once}(?!\{group}?{digit})"
    )


def ungrouped_digits(
    separators: str = NUMBER_SEPARATORS, digit: str = r"\p{Nd}", group: int = 1, once: str = "+"
) -> str:
    """Pattern of the digits before the last ones of what :func:`grouped_number` has refused: ``1.000.`` of ``1.000.0``.

    No number with the same separator begins within them, since all would end at the same place. Passing over them at
    once keeps the search linear in time. It has one capturing group, of number ``group``; ``once`` is as above.
    """
    return rf"{digit}{{1,3}}([{separators}])(?:{digit}{{3}}\{group})+{once}(?={digit})"


OFTEN_WITHOUT_MARKS = frozenset({"fon"})
"""Languages whose marks distinguish words, but are often left out: a word and that without marks share a term."""
_KEEPING_MARKS = OFTEN_WITHOUT_MARKS | {"vi"}
_DOTLESS_I = frozenset({"tr", "az"})
_STRIPPED = regex.compile(
    r"[[[\p{Mn}\p{Me}]&&[\p{Inherited}\p{Hebrew}\p{Arabic}\p{Latin}\p{Greek}\p{Cyrillic}\p{Common}]]--[\u3099\u309A]]",
    regex.V1,
)
_IGNORED = regex.compile(f"[{IGNORABLE}]")
_MARK = regex.compile(r"\p{M}")
_MARKS = regex.compile(rf"([\p{{M}}\uFF9E\uFF9F]{{{LONGEST_MARKS}}})[\p{{M}}\uFF9E\uFF9F]++")
"""More marks in a row than a letter keeps. Half-width voicing marks decompose to marks."""
_CYRILLIC = regex.compile(r"\p{Cyrillic}")
_HEBREW_QUOTES = regex.compile(r"(?<=\p{Hebrew})['\"״“”׳]+")
_ACRONYM_DOTS = regex.compile(r"(?<=(?<![\w\p{M}])\p{L}\p{M}*)[.．](?=\p{L}\p{M}*(?![\w\p{M}]))")
_GROUPED_NUMBER = regex.compile(rf"(?<![\w\p{{M}}])(?:{grouped_number()}|{ungrouped_digits(group=2)})")
_SEPARATORS = str.maketrans("", "", NUMBER_SEPARATORS)
_DECOMPOSED_AM = regex.compile("(\u0e4d(?=.?\u0e32)|\u0ecd(?=.?\u0eb2))([\u0e48-\u0e4b\u0ec8-\u0ecb]?)[\u0e32\u0eb2]")
_AM = {"\u0e4d": "\u0e33", "\u0ecd": "\u0eb3"}

_CHILLU = {0x0D7A: "ണ്", 0x0D7B: "ന്", 0x0D7C: "ര്", 0x0D7D: "ല്", 0x0D7E: "ള്", 0x0D7F: "ക്"}
_ARABIC = {"ى": "ي", "ی": "ي", "ک": "ك", "ڪ": "ك", "ة": "ه", "ہ": "ه", "ە": "ه", "ۃ": "ه", "ٱ": "ا"}
_LETTERS_WITH_MARKS = frozenset("ؤئѓќ")
_SIMPLIFIED = Path(__file__).with_name("simplified.tsv")
_WITH_ASH = frozenset({"da", "fo", "is", "nb", "nn", "no"})
"""Languages in which æ is a letter of its own."""
_ARABIC_KEPT = {"sd": "کڪ", "ug": "ىە", "ku": "ە", "kk": "ىە", "ky": "ىە", "ks": "ە"}


def _letter_forms(language: str) -> dict[int, str]:
    exceptions = _ARABIC_KEPT.get(language, "")
    forms: dict[int, str] = {ord(a): b for a, b in _ARABIC.items() if a not in exceptions}
    forms.update(_CHILLU)
    forms.update({ord(a): "'" for a in APOSTROPHES})
    forms[ord("œ")] = "oe"
    if language not in _WITH_ASH:
        forms[ord("æ")] = "ae"
    if language == "zh":
        forms.update(_simplified_characters())
    return forms


def _simplified_characters() -> dict[int, str]:
    """The simplified form of each traditional character: one character for one, so that offsets stay."""
    rows = (row for row in _SIMPLIFIED.read_text(encoding="utf-8").splitlines() if not row.startswith("#"))
    return {ord(traditional): simplified for traditional, simplified in (row.split("\t") for row in rows)}


def _without_separators(text: str) -> str:
    """Join the digit groups of numbers and the letters of dotted acronyms."""
    text = _GROUPED_NUMBER.sub(lambda m: str(m[0].translate(_SEPARATORS) if m[1] else m[0]), text)
    return str(_ACRONYM_DOTS.sub("", text))


def _decompose(text: str) -> str:
    """NFKD, in time that is linear in the text."""
    return unicodedata.normalize("NFKD", text if len(text) <= LONGEST_MARKS else _MARKS.sub(r"\1", text))


def without_marks(word: str) -> str:
    """A word without the marks above and below its letters."""
    letters = (character for character in unicodedata.normalize("NFD", word) if not unicodedata.combining(character))
    return unicodedata.normalize("NFC", "".join(letters))


class Folder:
    """Folds text of one language; :func:`fold` keeps one per language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._forms = _letter_forms(language)
        self._keeps_all = language in _KEEPING_MARKS

    def __call__(self, text: str) -> str:
        """The folded ``text``; idempotent, and equal for canonically equivalent texts."""
        text = _decompose(_without_separators(_IGNORED.sub("", text)))
        if self.language in _DOTLESS_I:
            text = text.replace("I\u0307", "i").replace("I\u0302", "i").replace("I", "ı")
        text = _decompose(_IGNORED.sub("", text.casefold())).translate(self._forms)
        if not text.isascii():
            text = self._without_marks(text)
        text = _without_separators(unicodedata.normalize("NFKC", _HEBREW_QUOTES.sub("", text)))
        return str(_DECOMPOSED_AM.sub(lambda m: m[2] + _AM[m[1]], text))

    def _without_marks(self, text: str) -> str:
        """Drop marks that are not part of a letter, and convert decimal digits to ASCII."""
        characters: list[str] = []
        letter = ""
        for character in text:
            if character.isascii():
                letter = character
            elif _STRIPPED.match(character):
                composed = self._with_mark(letter, character)
                if composed is None:
                    continue
                letter = composed
            else:
                if character.isdecimal():
                    character = str(unicodedata.decimal(character))
                if not _MARK.match(character):
                    letter = character
            characters.append(character)
        return "".join(characters)

    def _with_mark(self, letter: str, mark: str) -> str | None:
        """``letter`` with ``mark`` if the mark belongs to it; None if the mark is to be dropped."""
        if not letter:
            return None
        composed = unicodedata.normalize("NFC", letter + mark)
        if self._keeps_all or composed in _LETTERS_WITH_MARKS:
            return composed
        if _CYRILLIC.match(letter):
            return None if mark in "\u0300\u0301" or composed == "ё" else composed
        return None


_FOLDERS: dict[str, Folder] = {}
_FOLDED: dict[str, dict[str, str]] = {}
_CACHED_WORDS = 65_536
_CACHED_LENGTH = 64


def folded_words(language: str) -> dict[str, str]:
    """The bounded cache of folded words of one language, surface to folded."""
    return _FOLDED.setdefault(language, {})


def folder(language: str) -> Folder:
    """The :class:`Folder` of a language."""
    cached = _FOLDERS.get(language)
    if cached is None:
        cached = _FOLDERS[language] = Folder(language)
    return cached


def fold(text: str, language: str) -> str:
    """Return the folded form of ``text``.

    Compatibility forms (full-width, ligatures, presentation forms) and case are folded. Decimal digits become ASCII
    without grouping separators (``1.000`` and ``1,000`` give ``1000``). Dots between single letters are removed
    (``U.S.`` gives ``us.``). Diacritics depend on the script. Latin and Greek marks are removed, except in Vietnamese
    and Fon, where they distinguish most words. Cyrillic loses stress marks, and ё becomes е. Arabic script loses vowel
    signs and tatweel, and its alef, yeh, kaf and heh forms are unified. Hebrew loses points, geresh and gershayim.
    Vowel signs of Indic scripts, Thai, Lao, Khmer and Burmese are letters and stay. In Chinese, traditional characters
    become simplified. Joiners, bidirectional marks and soft hyphens are removed. ß becomes ss, œ oe, and æ ae where it
    is no letter of its own; ø, ł, đ stay.

    Idempotent; NFC and NFD texts have the same folded form.
    """
    if text.isascii() and text.isalnum() and language not in _DOTLESS_I:
        return text.lower()
    if len(text) > _CACHED_LENGTH:
        return folder(language)(text)
    cache = folded_words(language)
    folded = cache.get(text)
    if folded is None:
        if len(cache) >= _CACHED_WORDS:
            cache.clear()
        folded = cache[text] = folder(language)(text)
    return folded
