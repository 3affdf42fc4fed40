"""Dictionary forms of inflected words, where a stemmer leaves much of the inflection alone.

Lucene's light stemmers do not touch short words (*treni* is not *treno*), nor irregular forms (*uomini*, *uomo*).
Rules of endings, learned from simplemma's dictionaries by ``scripts/dictionary_forms.py``, and words with a rule of
their own have both, for folded words and for words in no dictionary.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path
from zlib import crc32

from dragoman.indexes.analysis.endings import WITH_ENDINGS, Endings, endings_version
from dragoman.lexicon.text.folding import OFTEN_WITHOUT_MARKS, without_marks

__all__ = ["INFLECTED", "DictionaryForms", "dictionary_form", "dictionary_form_version"]

_FOLDER = Path(__file__).with_name("forms")
_SUFFIX = ".tsv.gz"
_WHOLE = "^"
"""Begins an ending that is a whole word."""
_VERSION = "1"
"""Increase it whenever a change of code may change the form of any word."""

_LONGEST_CHAIN = 8
_LEAST_WITHOUT_CLITICS = 3
"""The least number of letters of a word whose clitics are cut."""

_SAME = {"bs": "hr", "sr": "hr"}
"""Languages that have the rules of another."""

INFLECTED: frozenset[str] = frozenset(
    {path.name.removesuffix(_SUFFIX) for path in _FOLDER.glob(f"*{_SUFFIX}")} | set(_SAME)
)
"""Languages with learned rules."""

_CYRILLIC = "абвгдђежзијклљмнњопрстћуфхцчџш"
_LATIN_LETTERS = "a,b,v,g,d,đ,e,z,z,i,j,k,l,lj,m,n,nj,o,p,r,s,t,c,u,f,h,c,c,dz,s"
_TRANSLITERATED = str.maketrans(dict(zip(_CYRILLIC, _LATIN_LETTERS.split(","), strict=True)))
_LATIN = {"bs": _TRANSLITERATED, "sr": _TRANSLITERATED}
"""Cyrillic letters as folded Latin ones, where a language has both scripts and rules for the Latin one."""

_Rules = dict[str, tuple[int, str]]


class DictionaryForms:
    """The dictionary forms of one language; the first loads its rules: a tenth of a second and 20 MB at most."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._latin = _LATIN.get(language)
        self._rules, self._beginnings = _rules(language)
        self._longest = max((len(ending) for ending in self._rules if not ending.startswith(_WHOLE)), default=0)
        self._longest_beginning = max(map(len, self._beginnings), default=0)

    @staticmethod
    def version(language: str) -> str:
        """A string that changes with the rules of the language."""
        return f"forms {_VERSION} {crc32(_content(language)):08x}"

    def __call__(self, word: str) -> str:
        """The folded dictionary form of a folded word, or the word itself if no rule applies.

        A form that has a dictionary form of its own (*porte*, *porta*, *porto*) leads on to that, so that a word and
        its dictionary form always have one result. Of forms in a circle it is the first in code point order.
        """
        form = self._form(word)
        if form == word:
            return word
        path = [word, form]
        while (form := self._form(form)) != path[-1]:
            if form in path:
                return min(path[path.index(form) :])
            if len(path) == _LONGEST_CHAIN:
                return word
            path.append(form)
        return form

    def _form(self, word: str) -> str:
        if self._latin is not None:
            word = word.translate(self._latin)
        if len(word) == 1:  # a letter (*vitamina D*)
            return word
        rules = self._rules
        rule = rules.get(_WHOLE + word)
        if rule is None:
            if self._beginnings:
                word = self._without_clitics(word)
                rule = rules.get(_WHOLE + word)
            start = max(0, len(word) - self._longest)
            while rule is None and start < len(word):
                rule = rules.get(word[start:])
                start += 1
            if rule is None:
                return word
        cut, append = rule
        if cut > len(word) or not (word.isalpha() or not any(map(str.isdigit, word))):
            return word
        return word[: len(word) - cut] + append or word

    def _without_clitics(self, word: str) -> str:
        for length in range(min(self._longest_beginning, len(word)), 0, -1):
            cut = self._beginnings.get(word[:length])
            if cut is not None:
                return word[cut:] if len(word) - cut >= _LEAST_WITHOUT_CLITICS else word
        return word


def _content(language: str) -> bytes:
    return (_FOLDER / f"{_SAME.get(language, language)}{_SUFFIX}").read_bytes()


@cache
def _rules(language: str) -> tuple[_Rules, dict[str, int]]:
    """The rule of each ending, and how many characters are cut from each beginning; loaded once for the process.

    A line is how many characters are cut TAB what is appended TAB the endings, with a space between two. With a
    number below zero it is so many characters at the beginning, and beginnings instead of endings.
    """
    rules: _Rules = {}
    beginnings: dict[str, int] = {}
    for line in gzip.decompress(_content(language)).decode().splitlines():
        cut, append, affixes = line.split("\t")
        if cut.startswith("-"):
            beginnings.update(dict.fromkeys(affixes.split(" "), -int(cut)))
        else:
            rules.update(dict.fromkeys(affixes.split(" "), (int(cut), append)))
    return rules, beginnings


@cache
def dictionary_form(language: str) -> Callable[[str], str] | None:
    """The folded dictionary form of a folded word of a language, idempotent; None if the language has no rules.

    It is the word without its marks where these are often left out. Elsewhere clitics and endings of ``endings.tsv``
    are removed, and learned rules applied.
    """
    if language in OFTEN_WITHOUT_MARKS:
        return without_marks
    forms = DictionaryForms(language) if language in INFLECTED else None
    endings = Endings(language) if language in WITH_ENDINGS else None
    if forms is None or endings is None:
        return forms or endings
    learned, declared = forms, endings

    def both(word: str) -> str:
        path = [word]
        while (form := learned(declared(path[-1]))) not in path:
            path.append(form)
        return min(path[path.index(form) :])

    return both


def dictionary_form_version(language: str) -> str:
    """A string that changes with what :func:`dictionary_form` gives for any word; empty if that is None."""
    parts = [DictionaryForms.version(language)] if language in INFLECTED else []
    if language in OFTEN_WITHOUT_MARKS:
        parts.append(f"without marks {_VERSION}")
    if language in WITH_ENDINGS:
        parts.append(endings_version())
    return ":".join(parts)
