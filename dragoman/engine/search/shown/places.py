"""Finds where a long text may match a query, without analysing it: by the beginnings of the words that can match."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import regex

from dragoman.deadline import check_each
from dragoman.engine.indexing.stored_text import StoredText
from dragoman.engine.query.translation import Translated
from dragoman.engine.search.request import SNIPPET_LENGTH
from dragoman.lexicon.text.folding import OFTEN_WITHOUT_MARKS, fold, without_marks
from dragoman.lexicon.text.tokens import PART, REPEATED

PLACES = 6
"""How many places of a document are looked at closely."""

_KEYS = 32
_TRANSLATIONS = 10
_OCCURRENCES = 200
"""How many words of a document are noted that are the beginning itself, and how many that go on."""
_LONGER = 0.9
"""What a word that goes on is worth: it is more often another one."""
_EVERYWHERE = 0.1
"""What a word is worth of which no more occurrences are noted: it may stand near any other place as well."""
_NEAR = 64
"""How many words may make the value of a place."""
_PIECE = 32_768
_PART = 2_048
"""How much is folded at a time: in so much, folding moves a place by some hundred characters at most."""
_OVERLAP = 64
_SHORTEST_CUT = 5
"""The shortest word whose last letter may differ from that of its index term."""
_AFTER_SPACE = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{Armenian}\p{Georgian}\p{Hangul}\p{Nd}]")
"""Letters of scripts whose words begin after something else than a letter: no article or preposition is written
before them in one word."""


@dataclass(frozen=True, slots=True)
class Key:
    """The beginning of folded words that may match the term group of number ``group``."""

    text: str
    group: int
    worth: float
    """The probability of the match."""
    inside: bool = False
    """Whether it may stand within a word, too."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Where a key occurs, and whether it is a ``whole`` word there."""

    start: int
    end: int
    key: Key
    whole: bool


@dataclass(slots=True)
class Work:
    """What one search may still do to find what it shows, in code points."""

    analysed: int = 3_000_000
    scanned: int = 32_000_000

    def analyse(self, size: int) -> bool:
        """Whether a text of this size may be analysed; if so, it counts."""
        if size > self.analysed:
            return False
        self.analysed -= size
        return True

    def scan(self, size: int) -> bool:
        """Whether a text of this size may be scanned; if so, it counts."""
        if size > self.scanned:
            return False
        self.scanned -= size
        return True


@dataclass(slots=True)
class Places:
    """Where a document may match, the likeliest place first, and how much of its text was scanned for them."""

    starts: list[int] = field(default_factory=list)
    scanned: int = 0
    complete: bool = True


def keys_of(translated: Translated, frequencies: Mapping[str, int], importance: Sequence[float]) -> list[Key]:
    """The beginnings of the words that may match a query, for each group the most valuable first, in turn."""
    of_groups = []
    for index, group in enumerate(translated.query.groups):
        worth: dict[str, float] = {}
        within: set[str] = set()
        for alternative in group.alternatives:
            if frequencies.get(alternative.term, 0):
                beginning = _beginning(_as_in_text(alternative.term))
                worth[beginning] = max(worth.get(beginning, 0.0), alternative.weight)
                if alternative.term.startswith(PART):
                    within.add(beginning)
        if not worth:
            continue
        for word in _words(translated, group.query_word):
            beginning = _beginning(word)
            if not any(beginning.startswith(beginning_of_translation) for beginning_of_translation in worth):
                worth[beginning] = min(worth.values())
        ordered = sorted(worth.items(), key=lambda entry: (-entry[1], entry[0]))
        keys = [Key(text, index, probability, text in within) for text, probability in ordered]
        of_groups.append(list(enumerate(keys)))
    turns = sorted(
        (turn for keys in of_groups for turn in keys),
        key=lambda turn: (turn[0], -turn[1].worth * importance[turn[1].group]),
    )
    return [key for _, key in turns[:_KEYS]]


def likely_places(
    document: StoredText,
    keys: Sequence[Key],
    importance: Sequence[float],
    work: Work,
    length: int = SNIPPET_LENGTH,
    several: bool = False,
) -> Places:
    """The places of a text where the most valuable words of a query seem to stand together, within ``length``.

    The text is scanned to its end, unless a place with all of them was come by and ``several`` are not wanted, or
    ``work`` allows no more.
    """
    places = Places()
    groups = {key.group for key in keys}
    noted = Counter({(key, whole): 0 for key in keys for whole in (True, False)})
    occurrences: set[Occurrence] = set()
    before = ""
    for start, piece in document.pieces(_PIECE):
        if not work.scan(len(piece)):
            places.complete = False
            break
        text = before + piece
        near = sorted(
            _occurrences(text, start - len(before), document.language, noted), key=lambda occurrence: occurrence.start
        )
        occurrences.update(near)
        places.scanned = start + len(piece)
        if len(groups) > 1 and not several and _together(near, groups, length):
            break
        before = text[-_OVERLAP:]
    worth = {
        (key, whole): importance[key.group]
        * key.worth
        * (1.0 if whole else _LONGER)
        * (1.0 if count < _OCCURRENCES else _EVERYWHERE)
        for (key, whole), count in noted.items()
    }
    places.starts = _best(sorted(occurrences, key=lambda occurrence: occurrence.start), worth, length)
    return places


def _best(occurrences: Sequence[Occurrence], worth: Mapping[tuple[Key, bool], float], length: int) -> list[int]:
    """Where the most valuable windows start, apart from each other, at most :data:`PLACES`, the best first.

    Each group counts once: of a frequent word not all occurrences are known.
    """
    values = []
    for index, first in enumerate(check_each(occurrences, 100)):
        best: dict[int, float] = {}
        for occurrence in occurrences[index : index + _NEAR]:
            if occurrence.end - first.start <= length:
                best[occurrence.key.group] = max(
                    best.get(occurrence.key.group, 0.0), worth[occurrence.key, occurrence.whole]
                )
        values.append((-sum(best.values()), first.start))
    starts: list[int] = []
    for _, start in sorted(values):
        if all(abs(start - other) > length for other in starts):
            starts.append(start)
            if len(starts) == PLACES:
                break
    return starts


def _together(occurrences: Sequence[Occurrence], groups: set[int], length: int) -> bool:
    """Whether all groups match within one snippet."""
    last: dict[int, int] = {}
    for occurrence in occurrences:
        last[occurrence.key.group] = occurrence.start
        if len(last) == len(groups) and occurrence.end - min(last.values()) <= length:
            return True
    return False


def _occurrences(text: str, offset: int, language: str, noted: Counter[tuple[Key, bool]]) -> Iterator[Occurrence]:
    """Where the keys occur, about."""
    keys = {key: not key.inside and _AFTER_SPACE.match(key.text) is not None for key, _ in noted}
    for start in check_each(range(0, len(text), _PART), 10):
        part = text[start : start + _PART + _OVERLAP]
        folded = unicodedata.normalize("NFC", part).translate(_folding(language))
        scale = len(part) / max(1, len(folded))
        for key, apart in keys.items():
            length = len(key.text)
            at = folded.find(key.text)
            while at >= 0:
                whole = not folded[at + length : at + length + 1].isalnum()
                if noted[key, whole] < _OCCURRENCES and not (apart and at and folded[at - 1].isalnum()):
                    noted[key, whole] += 1
                    place = offset + start + int(at * scale)
                    yield Occurrence(place, place + length, key, whole)
                at = folded.find(key.text, at + length)


def _as_in_text(term: str) -> str:
    """How texts have an index term: without what marks it, and a sequence with the spaces of its script."""
    term = term[1:] if term.startswith((PART, *REPEATED)) else term
    return term if _AFTER_SPACE.match(term) else term.replace(" ", "")


def _beginning(word: str) -> str:
    return word[:-1] if len(word) >= _SHORTEST_CUT and _AFTER_SPACE.match(word) else word


def _words(translated: Translated, query_word: str) -> Iterable[str]:
    """The words that the tables have for a query word, or the word itself."""
    if translated.view is None:
        return [query_word]
    entries = translated.view.surface.translations(query_word, best=_TRANSLATIONS)
    return [entry.term for entry in entries if " " not in entry.term]


class _Folding(dict[int, str]):
    """The folded form of each character, as :meth:`str.translate` takes it."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, character: int) -> str:
        folded = fold(chr(character), self._language)
        if self._language in OFTEN_WITHOUT_MARKS:
            folded = without_marks(folded)
        if not chr(character).isalnum() and folded:
            folded = chr(character)
        elif not folded and not regex.match(r"\p{M}|\p{Cf}", chr(character)):
            folded = " "
        if character < 0x10000:
            self[character] = folded
        return folded


@lru_cache(maxsize=16)
def _folding(language: str) -> _Folding:
    return _Folding(language)
