"""Finds for the names of many sentences what stands for them in the translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.checking.check import Reason
from dragoman.checking.knowledge import Knowledge, Vectors
from dragoman.checking.naming.designations import is_designation
from dragoman.checking.naming.hidden import add_hidden_names
from dragoman.checking.naming.names import CASED, Name, find_names, is_foreign, is_spelt_alike, is_written
from dragoman.checking.naming.places import find_places, is_placed
from dragoman.checking.naming.sounds import UNSPACED, measure_sound
from dragoman.checking.sentence import Pair, Side
from dragoman.checking.thresholds import NameFit, Thresholds
from dragoman.deadline import check_each

__all__ = ["NameMatching", "NameScore", "WordScore", "score_names", "select_unmatched"]

DOUBTFUL = 0.12
"""How much less alike a word must be that may be no name: a sentence's first one, or a German noun beside another."""
UNLISTED = 0.06
"""The same in English beside a language whose names have no capitals, so that English alone shows them.

Common words of English are listed: what is not among them is rather a name.
"""
DESIGNATION = 0.15
"""How much less alike a name must be that consists of designations alone, as *Congress*: it may be called otherwise.

Of several, as *Middle East*, the words in a row say more than each does."""
FOREIGN_SOUND = 0.85
"""How alike a name in Latin letters must sound that the sentence of another script kept, if it is not written so."""
ONE_SIDED = 0.06
"""How much less alike it must be where only one of two languages with capitals lacks a name."""
MOST_WORDS = 64
"""Of a sentence that names are compared with."""
PLACE_SOUND = 0.8
"""How alike a word must sound that is a place's name and none of those that are known: names of persons are alike."""
LETTERS = 2.0
"""Of this many letters of a name one must be of a word that is there by its sound or meaning: *Le* is not *Le Pen*."""
ROW = 2
"""Words in a row that may stand for one name."""
LONGEST_ROW = 40
"""Code points of them."""
_JOINTS = (" ", "-", ". ")
_POSSESSIVES = ("'s", "’s")


@dataclass(slots=True)
class WordScore:
    """How alike a word of a name and what is nearest to it on the other side are."""

    name: Name
    written: bool
    """Whether it stands there, or a table's translation of it."""
    sound: float = 0.0
    cosine: float = 0.0
    misplaced: bool = False
    """Whether it is of a place whose names are known, and the other side has none of them."""
    designation: bool = False
    """Whether it is an ordinary word with a capital, as the whole name is."""
    listed: bool = False
    """Whether it is in English, whose common words are listed, and English alone shows names."""
    placed: bool = False
    """Whether it is of a place that the other side names."""
    foreign: bool = False
    """Whether it is in Latin letters on a side that is not, and would be so on the other."""

    def holds(self, fit: NameFit, less: float = 0.0) -> bool:
        """Whether the other side has it, or something that is ``less`` alike than the fit asks for."""
        if self.misplaced:
            return self.written or self.sound >= max(fit.sound, PLACE_SOUND)
        if self.foreign:
            return self.written or self.sound >= max(fit.sound, FOREIGN_SOUND)
        less += (UNLISTED if self.listed else DOUBTFUL) if self.name.doubtful else 0.0
        less += DESIGNATION if self.designation else 0.0
        return (
            self.written
            or self.sound >= fit.sound - less
            or self.cosine >= fit.cosine - less
            or self.sound + self.cosine >= fit.both - less
        )


@dataclass(slots=True)
class NameScore:
    """A name of one or several words in a row."""

    text: str
    words: list[WordScore]
    cosine: float = 0.0
    """That of the whole name with the nearest words in a row."""

    def holds(self, fit: NameFit, less: float = 0.0) -> bool:
        """Whether the other side has the name, or at least half of its words; a place answers for itself alone."""
        if any(word.misplaced and not word.holds(fit, less) for word in self.words):
            return False
        words = self.list_asked()
        row = len(words) > 1 and all(word.designation for word in words)
        holding = [word for word in words if word.holds(fit, less - DESIGNATION if row else less)]
        if 2 * len(holding) >= len(words) and (any(word.written for word in holding) or _are_most(holding, words)):
            return True
        return len(self.words) > 1 and self.cosine >= fit.whole - less

    def list_asked(self) -> list[WordScore]:
        """The words but for places that are there, if there are others: *Australian Labor* is not *Australian Sky*."""
        rest = [word for word in self.words if not word.placed]
        return self.words if all(word.name.noun for word in rest) else rest


def _are_most(words: Sequence[WordScore], of: Sequence[WordScore]) -> bool:
    """Whether the words, which are there by their sound or meaning, have enough of the letters of all."""
    letters = sum(len(word.name.text) for word in words)
    return LETTERS * letters >= sum(len(word.name.text) for word in of)


class NameMatching:
    """Compares the names of sentences, both ways."""

    def __init__(self, knowledge: Knowledge, thresholds: Thresholds) -> None:
        self._knowledge = knowledge
        self._fit = thresholds.name(knowledge.source, knowledge.target)

    def compare(self, pairs: Sequence[Pair]) -> list[list[Reason]]:
        """For each pair the names that the translation lacks, and those that it adds."""
        knowledge, fit = self._knowledge, self._fit
        there = score_names(pairs, knowledge, fit.sound)
        back = score_names([pair.invert() for pair in pairs], knowledge.invert(), fit.sound)
        two_sided = knowledge.source in CASED and knowledge.target in CASED
        return [
            _pair_up(*select_unmatched(first, second, fit, two_sided))
            for first, second in zip(there, back, strict=True)
        ]


def select_unmatched(
    there: Sequence[NameScore], back: Sequence[NameScore], fit: NameFit, two_sided: bool
) -> tuple[list[str], list[str]]:
    """The names of the source that the translation lacks, and those that it adds.

    Where names of both sides are recognised, ``two_sided``, one that was changed is missing on both; one that only one
    side lacks must be less alike to count: it may be written without a capital.
    """
    unmatched = tuple([name for name in names if not name.holds(fit)] for names in (there, back))
    if two_sided and not all(unmatched):
        unmatched = tuple([name for name in names if not name.holds(fit, ONE_SIDED)] for names in unmatched)
    first, second = ([name.text for name in names] for names in unmatched)
    return first, second


def score_names(pairs: Sequence[Pair], knowledge: Knowledge, alike: float = 2.0) -> list[list[NameScore]]:
    """The names in the sources, with how alike the nearest words of the translations are.

    Words that sound so ``alike`` are not compared by meaning.
    """
    scores = [_score_writing(pair, knowledge) for pair in check_each(pairs)]
    doubtful = [[name for name in names if _is_doubtful(name, alike)] for names in scores]
    _add_cosines(pairs, doubtful, knowledge)
    return scores


def _is_doubtful(name: NameScore, alike: float) -> bool:
    words = name.list_asked()
    return 2 * sum(word.written or word.sound >= alike for word in words) < len(words)


def _score_writing(pair: Pair, knowledge: Knowledge) -> list[NameScore]:
    scores = []
    common = knowledge.common(knowledge.source)
    names = add_hidden_names(pair.source, find_names(pair.source, common), common)
    for row in _join_names(names, pair.source.text):
        words = _score_words(row, pair, knowledge)
        if words:
            scores.append(NameScore(pair.source.text[row[0].start : row[-1].end], words))
    return scores


def _join_names(names: Sequence[Name], text: str) -> list[list[Name]]:
    """Names that are words in a row."""
    rows: list[list[Name]] = []
    for name in names:
        before = rows[-1][-1] if rows else None
        if before is not None and text[before.end : name.start] in _JOINTS and not before.text.endswith(_POSSESSIVES):
            rows[-1].append(name)
        else:
            rows.append([name])
    return rows


def _score_words(row: Sequence[Name], pair: Pair, knowledge: Knowledge) -> list[WordScore]:
    """The words of a name with what is spelt or sounds alike, without designations."""
    words = []
    written_words = [name.text for name in row]
    places = find_places(written_words, pair.source.language)
    designations = [
        place is None and is_designation(name.text, pair.source.language)
        for name, place in zip(row, places, strict=True)
    ]
    if all(designations) and row[0].doubtful:
        return []
    has_form = _has_form(tuple(written_words), pair.target, knowledge)
    foreign = is_foreign(row[0].text, pair.source) and not is_foreign(row[0].text, pair.target)
    for name, place, designation in zip(row, places, designations, strict=True):
        placed = None if place is None else is_placed(place, pair.target.text, pair.target.language)
        if designation and not all(designations):
            continue
        written = is_spelt_alike(name, pair) if placed is False else is_written(name, pair, knowledge.forward)
        word = WordScore(name, written or placed is True or has_form)
        word.listed = pair.source.language == "en" and pair.target.language not in CASED
        word.misplaced, word.placed = placed is False, placed is True
        word.designation, word.foreign = designation, foreign and place is None
        if not word.written:
            # a people has no capital in most languages, and what a sentence begins with may be no name
            word.sound = measure_sound(name.text, pair, knowledge, small=place is not None or name.doubtful)
            word.written = _has_form((name.text,), pair.target, knowledge)
        words.append(word)
    return words


def _has_form(words: tuple[str, ...], target: Side, knowledge: Knowledge) -> bool:
    return any(form in target.text for form in knowledge.name_forms(words, target.language))


def _add_cosines(pairs: Sequence[Pair], names: Sequence[Sequence[NameScore]], knowledge: Knowledge) -> None:
    """Compare the names with all words of the other side by the encoder's vectors."""
    if knowledge.encode is None or not any(names):
        return
    candidates = [_list_candidates(pair.target, of_pair) for pair, of_pair in zip(pairs, names, strict=True)]
    asked = [text for of_pair in names for name in of_pair for text in _list_asked(name)]
    words = list(dict.fromkeys(word for of_pair in candidates for word in of_pair))
    if not words:
        return
    distinct = list(dict.fromkeys(asked))
    of_names = dict(zip(distinct, knowledge.encode(distinct, knowledge.source), strict=True))
    of_words = dict(zip(words, knowledge.encode(words, knowledge.target), strict=True))
    for of_pair, nearby in zip(names, candidates, strict=True):
        if not of_pair or not nearby:
            continue
        matrix: Vectors = np.stack([of_words[word] for word in nearby])
        for name in of_pair:
            if len(name.words) > 1:
                name.cosine = knowledge.scale(float((matrix @ of_names[name.text]).max()))
            for word in name.words:
                if not word.written:
                    word.cosine = knowledge.scale(float((matrix @ of_names[word.name.text]).max()))


def _list_asked(name: NameScore) -> list[str]:
    """The texts of a name that are compared: its words and, of several, the whole."""
    words = [word.name.text for word in name.words if not word.written]
    return [name.text, *words] if len(name.words) > 1 else words


def _list_candidates(side: Side, names: Sequence[NameScore]) -> list[str]:
    """The words that may stand for names; for names of several words, and in scripts without spaces, words in a row."""
    if not names:
        return []
    tokens = [token for token in side.tokens if token.term][:MOST_WORDS]
    longest = ROW if any(len(name.words) > 1 for name in names) else 1
    if side.language in UNSPACED:
        longest = max(2, longest)
    return list(
        dict.fromkeys(
            side.text[first.start : last.end]
            for length in range(1, longest + 1)
            for first, last in zip(tokens, tokens[length - 1 :], strict=False)
            if last.end - first.start <= LONGEST_ROW
        )
    )


def _pair_up(lost: Sequence[str], added: Sequence[str]) -> list[Reason]:
    """A reason a name; a lost one and an added one that stand in the same order are one reason."""
    reasons = [Reason("name", first, second) for first, second in zip(lost, added, strict=False)]
    reasons += [Reason("name", name, None) for name in lost[len(added) :]]
    return reasons + [Reason("name", None, name) for name in added[len(lost) :]]
