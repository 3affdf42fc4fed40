"""Compounds of Germanic and Finnic languages: *Krankenversicherung* is *Kranke* and *Versicherung*.

A word is split where all of its parts are words of the language's list, which has only words that make compounds
(``scripts/compound_words.py``). The last part may be inflected; between parts may stand what the language links them
by.
"""

from __future__ import annotations

import gzip
from collections.abc import Container, Iterator, Mapping, Set
from dataclasses import dataclass
from importlib.resources import files
from zlib import crc32

__all__ = ["COMPOUNDING", "Compounds", "Grammar", "lemma_by_ending", "list_version"]

_SHORTEST = 4
_LONGEST = 40
Words = tuple[Set[str], Set[str], Mapping[str, str], Set[str]]
"""The words that begin compounds, those that end them, irregular forms of these, and words that are not split."""
_MOST = 4
"""Parts that a compound is split into at most."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language makes compounds; everything is folded."""

    links: tuple[str, ...]
    """What may stand between two parts."""
    endings: tuple[str, ...]
    """Usual endings of inflected nouns."""
    suffixes: frozenset[str] = frozenset()
    """Words that are more often a suffix, as *schaft* in *Mannschaft*."""
    prefixes: frozenset[str] = frozenset()
    """Words that are more often a prefix, as *vers* in *Verstand*."""
    linked: tuple[str, ...] = ()
    """Ends of words that a link must follow: *Bildungs|orte*, not *Bildung|sorte*."""

    def beginnings(self, text: str) -> Iterator[str]:
        """What the text may be as the beginning of a compound: a word, or a word and a link."""
        if not text.endswith(self.linked):
            yield text
        for link in self.links:
            if text.endswith(link) and len(text) - len(link) >= _SHORTEST:
                yield text[: -len(link)]


def lemma_by_ending(form: str, words: Container[str], grammar: Grammar) -> str | None:
    """The word that a form is, with or without one of the usual endings."""
    if form in words:
        return form
    for ending in grammar.endings:
        if form.endswith(ending) and len(form) - len(ending) >= _SHORTEST and form[: -len(ending)] in words:
            return form[: -len(ending)]
    return None


class Compounds:
    """The compounds of one language; making it loads the list."""

    def __init__(self, language: str, words: Words | None = None) -> None:
        self._grammar = COMPOUNDING[language]
        self._first, self._last, self._forms, self._whole_words = words or _read_dictionary(language, self._grammar)

    def __call__(self, word: str) -> tuple[str, ...]:
        """The dictionary forms of a compound's parts, and what two and more of them make; empty for other words."""
        if not 2 * _SHORTEST <= len(word) <= _LONGEST or word in self._whole_words:
            return ()
        spans = self._split_word(word)
        if len(spans) < 2:
            return ()
        parts: dict[str, None] = {}
        for first in range(len(spans)):
            for last in range(first, len(spans)):
                begin = spans[first][0]
                start_of_last, part = spans[last]
                parts[word[begin:start_of_last] + part] = None
        return tuple(part for part in parts if part != word and part != self._whole(word, spans))

    @staticmethod
    def _whole(word: str, spans: list[tuple[int, str]]) -> str:
        return word[: spans[-1][0]] + spans[-1][1]

    def _split_word(self, word: str) -> list[tuple[int, str]]:
        """The parts with their places: as few as possible, and of those the one with the longest last part."""
        best: dict[int, list[tuple[int, str]]] = {0: []}
        result: list[tuple[int, str]] = []
        for place in range(_SHORTEST, len(word) - _SHORTEST + 1):
            for start in [start for start in best if place - start >= _SHORTEST]:
                if len(best[start]) < _MOST - 1 and (part := self._beginning(word[start:place])) is not None:
                    parts = [*best[start], (start, part)]
                    if place not in best or len(parts) < len(best[place]):
                        best[place] = parts
            if place in best and (not result or len(best[place]) + 1 < len(result)):
                part = self._end(word[place:])
                if part is not None:
                    result = [*best[place], (place, part)]
        return result

    def _beginning(self, text: str) -> str | None:
        return next((part for part in self._grammar.beginnings(text) if part in self._first), None)

    def _end(self, text: str) -> str | None:
        return self._forms.get(text) or lemma_by_ending(text, self._last, self._grammar)


def list_version(language: str) -> str:
    """A string that changes with the list of words of a language."""
    return f"{crc32(_read_packed(language)):08x}"


def _read_packed(language: str) -> bytes:
    return (files(__name__) / f"{language}.txt.gz").read_bytes()


def _read_dictionary(language: str, grammar: Grammar) -> Words:
    content = gzip.decompress(_read_packed(language)).decode()
    first: set[str] = set()
    last: set[str] = set()
    forms: dict[str, str] = {}
    whole: set[str] = set()
    for line in content.splitlines():
        form, _, word = line.partition(" ")
        if line.startswith("!"):
            whole.add(line[1:])
        elif word in grammar.suffixes:
            continue
        elif word:
            forms[form] = word
        else:
            if not line.startswith("-"):
                first.add(line.rstrip("-"))
            if not line.endswith("-"):
                last.add(line.lstrip("-"))
    return first - grammar.prefixes, last - grammar.suffixes, forms, whole


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DANISH_ENDINGS = ("en", "et", "er", "e", "erne", "ene", "ne", "n", "r", "t", "s", "ens", "ets")
_NORDIC_SUFFIXES = _words(
    "ning ling skap else ende inge ande isme dom het hed skab iske iska ingen anda arande lara aker domare tagen"
)
_NORDIC_PREFIXES = _words("over under etter efter mellan inter mellem mellom mot fore kont narv uttal gall")
_GERMAN_SUFFIXES = (
    "schaft heit keit tion tionen ismus ling linge lein chen isch lich haft ungen nisse tum eren erer eres ische ischer"
    " ischen isches nische sten ster stes tische tischer liche lichen nden enden ende stag"
)
_DUTCH_SUFFIXES = "heid heden ling ster isme baar loos schap chap achtig ingen ende eren isch ische sing ring aars onde"

COMPOUNDING: dict[str, Grammar] = {
    "da": Grammar(("s", "e"), _DANISH_ENDINGS, _NORDIC_SUFFIXES, _NORDIC_PREFIXES),
    "de": Grammar(
        ("s", "n", "en", "es", "er", "e"),
        ("e", "en", "er", "ern", "es", "n", "s", "nen", "se", "sen"),
        _words(_GERMAN_SUFFIXES),
        _words("vers wied wieder uber unter gegen mehr wohl zwischen"),
        ("ung", "heit", "keit", "schaft", "ion", "tat", "ling"),
    ),
    "fi": Grammar(
        ("n", "en", "s"),
        ("n", "t", "a", "ta", "ssa", "sta", "lla", "lta", "lle", "ksi", "na", "ja", "jen", "en", "in", "ita", "issa"),
        _words("lainen uksi laita"),
    ),
    "nb": Grammar(("s", "e"), _DANISH_ENDINGS, _NORDIC_SUFFIXES, _NORDIC_PREFIXES),
    "nl": Grammar(
        ("s", "en", "n", "e", "er"),
        ("en", "s", "je", "jes", "tje", "tjes", "n", "eren"),
        _words(_DUTCH_SUFFIXES),
        _words("voor over onder mede tegen achter boven binnen buiten beha tran vers best"),
        ("heid",),
    ),
    "nn": Grammar(
        ("s", "e"), ("en", "et", "ar", "er", "ane", "ene", "a", "i", "n", "r", "s"), _NORDIC_SUFFIXES, _NORDIC_PREFIXES
    ),
    "sv": Grammar(
        ("s", "e", "o", "u"),
        ("en", "et", "ar", "er", "or", "arna", "erna", "orna", "na", "n", "t", "s", "ens", "ets"),
        _NORDIC_SUFFIXES,
        _NORDIC_PREFIXES,
        ("het", "tion", "skap"),
    ),
}
