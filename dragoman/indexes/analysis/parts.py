"""The shorter words inside a word: 大学 in 北京大学, *Versicherung* in *Krankenversicherung*.

In scripts without spaces a word is split in two where both sides are words of a dictionary, and so are the sides. What
leaves a rest that is no word is no part: กา is not in การ, nor 华人 in 中华人民共和国. Germanic and Finnic compounds
are split by :mod:`dragoman.indexes.analysis.compounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import regex

from dragoman.indexes.analysis.compounds import COMPOUNDING, Compounds, list_version
from dragoman.indexes.analysis.segmenters import icu_words
from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import java_class
from dragoman.lexicon.text.folding import fold

__all__ = ["LONGEST", "parts", "parts_version"]

PARTS_VERSION = "2"
"""Increase it whenever a code change may change the parts of any word."""
LONGEST = 40
"""Characters of a word; a longer one has no parts. That bounds the work for a word."""

Parts = Callable[[str], tuple[str, ...]]
WordTest = Callable[[str], bool]

_LEADING = "\u0e40-\u0e44\u0ec0-\u0ec4\u17d2\u1039"
"""Thai and Lao vowels written before their consonant, and signs that join the next consonant to this one."""
_TRAILING = r"\p{M}\u0e30\u0e32\u0e33\u0e45\u0e46\u0eb0\u0eb2\u0eb3\u0ebd\u0ec6"
_CUT = regex.compile(rf"(?<=[^{_LEADING}])(?=[^{_TRAILING}])(?![\u1000-\u102a\u103f]\u1037?[\u1039\u103a])", regex.V1)
"""The places where a word can begin: not between a consonant and its vowels, nor before a Burmese final."""


def parts(language: str) -> Parts | None:
    """What gives the parts of a folded word: distinct, in order of their place; none of them is the whole word.

    None for a language whose words have none. The first call of a function loads its dictionary.
    """
    if language in COMPOUNDING:
        return _compounds(language)
    make = _PARTS.get(language)
    return make() if make is not None else None


def parts_version(language: str) -> str:
    """A string that changes with the parts of any word of the language."""
    if language in COMPOUNDING:
        return f"parts {PARTS_VERSION} {list_version(language)}"
    return f"parts {PARTS_VERSION} icu4py {version('icu4py')}"


def _dictionary_parts(
    words_in: Callable[[str], WordTest], accepted: WordTest, cut: Parts, word: str
) -> tuple[str, ...]:
    """The sides of all splits of a word into two dictionary words, and of those; and the words that ``cut`` gives."""
    if not 1 < len(word) <= LONGEST:
        return ()
    is_word = words_in(word)
    spans: dict[tuple[int, int], None] = {}
    places = [match.start() for match in _CUT.finditer(word)]
    pending = [(0, len(word))]
    seen = set(pending)
    while pending:
        first, last = pending.pop()
        for place in places:
            if first < place < last and is_word(word[first:place]) and is_word(word[place:last]):
                for side in ((first, place), (place, last)):
                    spans[side] = None
                    if side not in seen:
                        seen.add(side)
                        pending.append(side)
    pieces = cut(word)
    if len(pieces) > 2 and all(is_word(piece) for piece in pieces):
        spans.update((span, None) for span in _spans(pieces) if span[1] - span[0] > 1)
    ordered = (word[first:last] for first, last in sorted(spans, key=lambda span: (span[0], -span[1])))
    return tuple(dict.fromkeys(part for part in ordered if part != word and accepted(part)))


def _spans(pieces: Iterable[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for piece in pieces:
        yield start, start + len(piece)
        start += len(piece)


@cache
def _chinese() -> Parts:
    """Words of jieba's dictionary, which has most characters as words too."""
    import rjieba

    def words_in(word: str) -> WordTest:
        return set(rjieba.cut_all(word)).__contains__

    return partial(_dictionary_parts, words_in, _any, partial(icu_words, "zh"))


@cache
def _thai_words() -> frozenset[str]:
    """Words of PyThaiNLP's dictionary; a single letter is none, though it is an abbreviation."""
    from pythainlp.corpus import thai_words

    folded = fold("\n".join(thai_words()), "th")  # one text, as folding each of 62,000 takes twice as long
    return frozenset(word for word in folded.split("\n") if len(word) > 1)


@cache
def _thai() -> Parts:
    return partial(_dictionary_parts, lambda word: _thai_words().__contains__, _any, partial(icu_words, "th"))


_IDEOGRAPH = regex.compile(r"\p{Han}")
_KATAKANA = regex.compile(r"[\p{Katakana}ー]{3,}", regex.V1)
_POLITE = frozenset("おご")
"""Prefixes in hiragana that may stand beside a part. Other rests in hiragana are endings: 言 is no part of 言っ."""


def _japanese_word(word: str) -> bool:
    """Whether a dictionary entry may be a part: entries of kana alone are often endings or parts of names."""
    return _IDEOGRAPH.search(word) is not None or _KATAKANA.fullmatch(word) is not None


@cache
def _japanese() -> Parts:
    """Words of the IPA dictionary, found by walking kuromoji's automaton; a character beside one is a word (習)."""
    dictionary = jvm.run(_ipa_dictionary)

    def words_in(word: str) -> WordTest:
        entries = {entry for entry in jvm.run(_entries, dictionary, word) if _japanese_word(entry) or entry in _POLITE}
        beside = {word[: -len(entry)] for entry in entries if word.endswith(entry)}
        beside |= {word[len(entry) :] for entry in entries if word.startswith(entry)}
        return entries.union(
            fragment for fragment in beside if len(fragment) == 1 and _IDEOGRAPH.match(fragment)
        ).__contains__

    split = partial(_dictionary_parts, words_in, _japanese_word, partial(icu_words, "ja"))
    return lambda word: split(word) if _japanese_word(word) else ()


def _ipa_dictionary() -> tuple[Any, Any]:
    dictionary = java_class("org.apache.lucene.analysis.ja.dict.TokenInfoDictionary").getInstance()
    return dictionary.getFST(), java_class("org.apache.lucene.util.fst.FST$Arc")


def _entries(dictionary: tuple[Any, Any], word: str) -> list[str]:
    """All entries of the dictionary that are substrings of the word."""
    automaton, arc_class = dictionary
    reader = automaton.getBytesReader()
    entries: list[str] = []
    for start in range(len(word)):
        arc = automaton.getFirstArc(arc_class())
        for end in range(start, len(word)):
            follow = automaton.findTargetArc(ord(word[end]), arc, arc, end == start, reader)
            if follow is None:
                break
            if arc.isFinal():
                entries.append(word[start : end + 1])
    return entries


@cache
def _compounds(language: str) -> Parts:
    return Compounds(language)


_NO_WORD = {"km": "\u17a3" * 4, "lo": "\u0edf" * 4, "my": "\u1050" * 4}
"""Letters that stand in no word of ICU's dictionary."""
_ICU_LONG = 3
"""Characters of a word that ICU joins with nothing after it."""


@cache
def _by_icu(language: str) -> Parts:
    """Words of ICU's dictionary, which it does not show: a word is one if ICU cuts it out of what is no word.

    A short word is joined with letters after it that begin no word; so a longer one must be cut from such letters, too.
    """
    no_word = _NO_WORD[language]

    def is_word(word: str) -> bool:
        if icu_words(language, no_word + word) != (no_word, word):
            return False
        return len(word) < _ICU_LONG or len(icu_words(language, word + no_word)[0]) <= len(word)

    return partial(_dictionary_parts, lambda word: cache(is_word), _any, lambda word: (word,))


def _any(word: str) -> bool:
    return True


_PARTS: dict[str, Callable[[], Parts]] = {
    "ja": _japanese,
    "km": partial(_by_icu, "km"),
    "lo": partial(_by_icu, "lo"),
    "my": partial(_by_icu, "my"),
    "th": _thai,
    "zh": _chinese,
}
