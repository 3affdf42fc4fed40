"""Function words of each language, as they are written: articles, pronouns, prepositions, conjunctions, auxiliaries.

The lists are in ``function_words.tsv``, a language a row. They hold closed classes alone. A word that is also a common
content word (Dutch ``haar``, Spanish ``estado``) is on no list.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from pathlib import Path

import regex

from dragoman.lexicon.text.folding import APOSTROPHES, IGNORABLE, fold
from dragoman.lexicon.text.languages import LANGUAGES, UnknownLanguage, check_language

_ROWS = Path(__file__).with_name("function_words.tsv")
_DOTTED_I = str.maketrans({"İ": "i", "I": "ı"})
_DOTTED_I_LANGUAGES = frozenset({"tr", "az"})
_LONGEST = 128
"""No function word is as long, with all its marks. Normalisation takes time that is quadratic in the marks."""
_IGNORED = regex.compile(f"[{IGNORABLE}]")
_MARKS = regex.compile(
    r"(?<=\p{Cyrillic}\p{M}*)[\u0300\u0301]"
    r"|(?<=\p{Hebrew}\p{M}*)[\p{Hebrew}&&\p{Mn}]"
    r"|(?<=\p{Arabic}\p{M}*)[[\p{Arabic}\p{Inherited}]&&\p{Mn}]",
    regex.V1,
)
"""Stress marks and vowel signs. A mark that makes another letter (й, أ) is one character with it in NFC."""
_VARIANTS = {
    "fa": {"ي": "ی", "ى": "ی", "ك": "ک"},
    "kk": {"ı": "i"},
    "ml": {"ൺ": "ണ്", "ൻ": "ന്", "ർ": "ര്", "ൽ": "ല്", "ൾ": "ള്", "ൿ": "ക്"},
    "ps": {"ك": "ک"},
    "ro": {"ş": "ș", "ţ": "ț"},
    "ru": {"ё": "е"},
    "ur": {"ي": "ی", "ى": "ی", "ك": "ک", "ه": "ہ"},
    "yi": {"ײ": "יי", "ױ": "וי", "װ": "וו"},
}
"""Letters for which others are typed, where no word is told apart by them. Arabic ى and ي are no such pair."""
_ALIKE = {
    language: str.maketrans({**dict.fromkeys(APOSTROPHES, "'"), **_VARIANTS.get(language, {})})
    for language in LANGUAGES
}


def _lower(word: str, language: str) -> str:
    """``word`` in lower case and NFC."""
    word = unicodedata.normalize("NFC", word)
    if language in _DOTTED_I_LANGUAGES:
        word = word.translate(_DOTTED_I)
    return unicodedata.normalize("NFC", word.lower())


def _plain(word: str, language: str) -> str:
    """The form in which a written word is held against the lists: without what a writer may leave out or add."""
    word = _lower(_IGNORED.sub("", word), language)
    return word if word.isascii() else str(_MARKS.sub("", word)).translate(_ALIKE[language])


def read_rows(text: str) -> dict[str, frozenset[str]]:
    """The words of each language in rows ``language TAB words separated by spaces``; a row that begins with # is none.

    Raises:
        ValueError: with the line's number, for a row without one tab or without words, and for a language that is
            unknown or has two rows. Also for a word that is twice in a row or not in NFC and lower case.
    """
    rows: dict[str, frozenset[str]] = {}
    for line_number, line in enumerate(text.split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        try:
            language, words = _row(line)
            if language in rows:
                raise ValueError(f"{language} has a row already")
        except ValueError as error:
            raise ValueError(f"function words, line {line_number}: {error}") from None
        rows[language] = words
    return rows


def _row(line: str) -> tuple[str, frozenset[str]]:
    language, *cells = line.split("\t")
    if len(cells) != 1:
        raise ValueError("a row is a language, a tab and words")
    if check_language(language) != language:
        raise ValueError(f"{language} is written under {check_language(language)}")
    listed = cells[0].split(" ")
    if "" in listed:
        raise ValueError("words are separated by single spaces")
    seen: set[str] = set()
    for word in listed:
        if word in seen:
            raise ValueError(f"{word} is twice in the row")
        if word != _lower(word, language):
            raise ValueError(f"{word} is not in lower case and NFC")
        seen.add(word)
    return language, frozenset(seen)


@lru_cache(maxsize=1)
def _rows() -> dict[str, frozenset[str]]:
    return read_rows(_ROWS.read_text(encoding="utf-8"))


@lru_cache(maxsize=256)
def function_words(language: str) -> frozenset[str]:
    """The function words of a language as they are written, in lower case and NFC; empty for one without a row.

    Raises:
        ValueError: if the file of the lists is malformed.
    """
    try:
        return _rows().get(check_language(language), frozenset())
    except UnknownLanguage:
        return frozenset()


@lru_cache(maxsize=256)
def folded_function_words(language: str) -> frozenset[str]:
    """The folded function words of a language. A folded word may be another's too: French ``sur`` is ``sûr``."""
    return frozenset(fold(word, language) for word in function_words(language)) - {""}


@lru_cache(maxsize=256)
def _plain_function_words(language: str) -> frozenset[str]:
    return frozenset(_plain(word, check_language(language)) for word in function_words(language))


def is_function_word(written: str, language: str) -> bool:
    """Whether a word of a text, as it is written there, is a function word of the language.

    Case, invisible characters, the kind of apostrophe, Arabic and Hebrew vowel signs and Cyrillic stress marks do not
    matter, nor do a few letters for which others are typed (Russian ё, Persian ی). Accents of Latin and Greek letters
    matter: French ``sur`` is a function word, ``sûr`` is not.

    Raises:
        ValueError: if the file of the lists is malformed.
    """
    listed = _plain_function_words(language)
    return bool(listed) and len(written) <= _LONGEST and _plain(written, language) in listed
