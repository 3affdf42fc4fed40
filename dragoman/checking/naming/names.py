"""Names of a sentence that its translation must have: written alike, by tables, by sound, or by what they mean.

Names are words with a capital in languages that write no other nouns so, and words of another script than their
sentence's. A language without capitals has its names found from the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import regex

from dragoman.checking.amounts import read_amounts
from dragoman.checking.knowledge import TableView
from dragoman.checking.naming.acronyms import ACRONYM, are_other_acronyms, are_same_acronyms
from dragoman.checking.naming.folding import fold_name
from dragoman.checking.naming.places import UNSPACED
from dragoman.checking.naming.small_words import is_small
from dragoman.checking.sentence import Pair, Side
from dragoman.deadline import check_each
from dragoman.lexicon.text.function_words import is_function_word

__all__ = [
    "CAPITALISED_NOUNS",
    "CASED",
    "TITLES",
    "WORD",
    "Name",
    "begins_sentence",
    "compare_writing",
    "find_names",
    "is_foreign",
    "is_spelt_alike",
    "is_written",
]

MOST_NAMES = 64
"""Of one sentence; a longer list is none of names."""
CAPITALISED_NOUNS = frozenset({"de", "lb"})
CASED = frozenset(
    {"en", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "nb", "nn", "fi", "et", "lv", "lt", "pl", "cs", "sk", "sl"}
    | {"hr", "hu", "ro", "tr", "az", "id", "ms", "sw", "so", "ca", "gl", "ru", "uk", "bg", "sr", "be", "mk", "el"}
)
"""Languages that write names with capitals, and nouns without."""
_ORDINARY = {"en": ("ing", "ed", "ly", "ness", "ment", "tion"), "de": ("ung", "heit", "keit", "lich")}
"""Endings of words that are no names, by language."""
TITLES = frozenset(
    {"Mr", "Mrs", "Ms", "Miss", "Sir", "Dr", "Prof", "Frau", "Herr", "Herrn", "Präsident", "Präsidentin", "Kanzler"}
    | {"Kanzlerin", "Bundeskanzler", "Bundeskanzlerin", "Ministerpräsident", "Ministerpräsidentin", "Professorin"}
    | {"Co", "Corp", "Inc", "Ltd"}
)
"""What stands beside the names of persons and of companies."""
WORD = regex.compile(r"\p{L}[\p{L}\p{M}\p{Nd}]*(?:['’.][\p{L}\p{M}\p{Nd}]+)*")
_LATIN_WORD = regex.compile(r"\p{Latin}[\p{Latin}\p{M}\p{Nd}]*(?:['’.][\p{Latin}\p{M}\p{Nd}]+)*")
"""Of a script without spaces, whose words may follow at once."""
_BEGINNING = regex.compile(r"(?:(?:^|[.!?…:;\n]|[-–—] )[\s\"“”„«»‘'(\[¿¡-]*|[\"“”„«»‘'(\[¿¡])$")
"""What stands before a sentence, or part of one, that may begin with a capital; a quotation that ends is none."""
_INFLECTED = 0.75
_COMPOUNDING = frozenset({"de", "nl", "da", "sv", "nb", "nn", "is", "fi", "et", "hu"})
"""Languages that write a name and a noun as one word: *Muslimbruderschaft*."""
_LEAST_IN_COMPOUND = 5
"""Letters of a name that begins a longer word."""
_SHORT = 3
"""Letters of a word that its other forms have all."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name at ``text[start:end]`` of its side."""

    text: str
    start: int
    end: int
    doubtful: bool = False
    """Whether its capital may be that of a sentence's first word alone."""
    noun: bool = False
    """Whether it may be that of a German noun."""


def find_names(side: Side, common: frozenset[str] = frozenset()) -> list[Name]:
    """The names of a sentence, word by word; ``common`` words are none where a sentence begins.

    What is read as an amount, as the name of a month, is none.
    """
    pattern = _LATIN_WORD if side.language in UNSPACED else WORD
    words = list(check_each(pattern.finditer(side.text), 100))
    amounts = [(amount.start, amount.end) for amount in read_amounts(side.text, side.language)]
    script = _main_script(side.text)
    capitals = side.language not in CAPITALISED_NOUNS and not side.text.isupper()
    names = []
    for place, match in enumerate(words):
        written = match.group()
        if len(written) < 2 or any(start < match.end() and match.start() < end for start, end in amounts):
            continue
        foreign = script != "Latin" and _main_script(written) == "Latin"
        if foreign or (capitals and _is_capitalised(written, side.language)):
            begins = begins_sentence(side.text, match.start())
            doubtful = begins and not foreign and not _has_name_after(side, words, place)
            if not (doubtful and _is_common(written, side.language, common)):
                names.append(Name(written, match.start(), match.end(), doubtful))
    return names if len(names) <= MOST_NAMES else []


def begins_sentence(text: str, start: int) -> bool:
    """Whether a word at ``start`` may have its capital for its place alone."""
    return _BEGINNING.search(text[max(0, start - 8) : start]) is not None


def _is_capitalised(written: str, language: str) -> bool:
    if not written[0].isupper() or written in TITLES:
        return False
    return written.isupper() or not is_function_word(written, language)


def _is_common(written: str, language: str, common: frozenset[str]) -> bool:
    """Whether a sentence's first word is an ordinary word, by lists and by its ending."""
    beginning = written.replace("’", "'").partition("'")[0]
    if fold_name(written) in common or fold_name(beginning) in common or is_function_word(beginning, language):
        return True
    return written.endswith(_ORDINARY.get(language, ())) or (
        not written.isupper() and is_small(beginning.lower(), language)
    )


def _has_name_after(side: Side, words: Sequence[regex.Match[str]], place: int) -> bool:
    if place + 1 == len(words):
        return False
    following = words[place + 1]
    between = side.text[words[place].end() : following.start()]
    return between == " " and len(following.group()) > 1 and _is_capitalised(following.group(), side.language)


def is_written(name: Name, pair: Pair, view: TableView | None) -> bool:
    """Whether the other side has the name: as it is, with another ending, or as a table translates it."""
    if is_spelt_alike(name, pair):
        return True
    folded, others = fold_name(name.text), _fold_words(pair.target)
    if any(
        not are_other_acronyms(name.text, other) and compare_writing(folded, fold_name(other)) >= _INFLECTED
        for other in _list_words(pair.target)
    ):
        return True
    if any(are_same_acronyms(name.text, other) for other in _list_words(pair.target)):
        return True
    if ACRONYM.fullmatch(name.text) and any(
        ACRONYM.fullmatch(other) and not are_other_acronyms(name.text, other) for other in _list_words(pair.target)
    ):
        return True
    compounding = pair.target.language in _COMPOUNDING and len(folded) >= _LEAST_IN_COMPOUND
    if compounding and any(other.startswith(folded) for other in others):
        return True
    return view is not None and any(_is_translated(term, pair.target, view) for term in _terms(name, pair.source))


def is_spelt_alike(name: Name, pair: Pair) -> bool:
    """Whether the other side has the name as it is."""
    folded = fold_name(name.text)
    return folded in _fold_words(pair.target) or folded in fold_name(pair.target.text).split()


def _fold_words(side: Side) -> set[str]:
    return {fold_name(word) for word in _list_words(side)}


def _list_words(side: Side) -> set[str]:
    return {*side.words, *WORD.findall(side.text)}


def _terms(name: Name, side: Side) -> list[str]:
    return [token.term for token in side.tokens if token.term and name.start <= token.start < name.end]


def _is_translated(term: str, target: Side, view: TableView) -> bool:
    entries = view.analysed.translations(term, best=50)
    return any(target.terms.issuperset(entry.term.split(" ")) for entry in entries)


def compare_writing(first: str, second: str) -> float:
    """How much of two folded words of one script is the same, if they begin alike: *Davis* is no *das*."""
    shorter, longer = sorted((first, second), key=len)
    if first[:2] != second[:2] or (len(shorter) <= _SHORT and not longer.startswith(shorter)):
        return 0.0
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def is_foreign(written: str, side: Side) -> bool:
    """Whether a word is in Latin letters, and the sentence is not."""
    return _main_script(written) == "Latin" and _main_script(side.text) != "Latin"


def _main_script(text: str) -> str:
    latin = len(regex.findall(r"\p{Latin}", text))
    return "Latin" if latin * 2 > len(regex.findall(r"\p{L}", text)) else "other"
