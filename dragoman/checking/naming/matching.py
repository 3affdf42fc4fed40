"""Finds for the names of many sentences what stands for them in the translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import regex

from dragoman.checking.check import Reason
from dragoman.checking.knowledge import Knowledge, Vectors
from dragoman.checking.naming.acronyms import are_other_acronyms
from dragoman.checking.naming.designations import has_office, is_designation
from dragoman.checking.naming.folding import fold_name
from dragoman.checking.naming.hidden import add_hidden_names
from dragoman.checking.naming.names import (
    CAPITALISED_NOUNS,
    CASED,
    Name,
    find_names,
    is_foreign,
    is_spelt_alike,
    is_written,
)
from dragoman.checking.naming.places import find_katakana, find_places, is_placed
from dragoman.checking.naming.sounds import UNSPACED, measure_sound, sounds_like
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
SPOKEN = 0.5
"""How alike a word in katakana must sound that is near to a name by its meaning: katakana is how a name sounds."""
LISTED = 0.1
"""How much more alike a word must be that is a name of the other language, in none of the forms that are listed."""
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
_KATAKANA = regex.compile(r"[\p{Hiragana}ー・＝]*[\p{Katakana}ー・＝]{2,}[\p{Hiragana}ー・＝]*")
_KATAKANA_FORM = regex.compile(r"[\p{Katakana}ー]{2,}")
_HAN = regex.compile(r"\p{Han}")
_HONORIFIC = "(?:さん|氏|選手|様|君)"
_ELSEWHERE = regex.compile("oo|ee|[-xq]|zh|ng$")
"""What a Korean or Chinese name may have and a Japanese one has not: *Moon Jae-in*."""
_HIRAGANA = regex.compile(r"[\p{Hiragana}ー]+")
_ACRONYM = regex.compile(r"(?:\p{Lu}\.?){2,6}")
_NOUN_AFTER = regex.compile(r"[-‑]\p{L}{4}")
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
    listed_otherwise: bool = False
    """Whether the other side may write it in forms that are known, and has none of them."""
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
        less -= LISTED if self.listed_otherwise else 0.0
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
    """That of the whole name, without designations, with the nearest words in a row."""
    aside: bool = False
    """Whether a translator may leave it out: see :func:`_is_aside`."""

    @property
    def whole(self) -> str:
        """The words that are compared as one; *President Smith* is no president."""
        return " ".join(word.name.text for word in self.words)

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
    side lacks must be less alike to count: it may be written without a capital. An acronym that stands aside may
    then be left out.
    """
    unmatched = tuple([name for name in names if not name.holds(fit)] for names in (there, back))
    if two_sided and not all(unmatched):
        unmatched = tuple([name for name in names if not name.holds(fit, ONE_SIDED)] for names in unmatched)
    if not all(unmatched):
        unmatched = tuple([name for name in names if not name.aside] for names in unmatched)
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
            text = pair.source.text[row[0].start : row[-1].end]
            scores.append(NameScore(text, words, aside=_is_aside(text, row[0].start, pair)))
    return scores


def _is_aside(name: str, start: int, pair: Pair) -> bool:
    """Whether a name is an acronym in brackets, or before a German noun: *US-Armee* is the army.

    That counts where both sides have capitals: another name in its place is then seen on the other side.
    """
    if (
        _ACRONYM.fullmatch(name) is None
        or not {pair.source.language, pair.target.language} <= CASED | CAPITALISED_NOUNS
    ):
        return False
    side, end = pair.source, start + len(name)
    if side.text[start - 1 : start] == "(" and side.text[end : end + 2].lstrip(".").startswith(")"):
        return True
    return side.language in CAPITALISED_NOUNS and _NOUN_AFTER.match(side.text, end) is not None


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
    named = len(row) > 1 and has_office(row[-1].text, pair.source.language, pair.target.text)
    if all(designations) and (row[0].doubtful or named):
        return []
    has_form = _has_form(written_words, pair.target, knowledge)
    foreign = is_foreign(row[0].text, pair.source) and not is_foreign(row[0].text, pair.target)
    for name, place, designation in zip(row, places, designations, strict=True):
        placed = None if place is None else is_placed(place, pair.target.text, pair.target.language)
        if designation and not all(designations):
            continue
        written = is_spelt_alike(name, pair) if placed is False else is_written(name, pair, knowledge.forward)
        word = WordScore(name, written or placed is True or has_form is True)
        word.listed = pair.source.language == "en" and pair.target.language not in CASED
        word.misplaced, word.placed = placed is False, placed is True
        word.designation, word.foreign = designation, foreign and place is None
        if not word.written:
            # a people has no capital in most languages, and what a sentence begins with may be no name
            word.sound = measure_sound(name.text, pair, knowledge, small=place is not None or name.doubtful)
            form = _has_form([name.text], pair.target, knowledge)
            word.written, word.listed_otherwise = form is True, form is False and not designation
        words.append(word)
    return words


def _has_form(words: Sequence[str], target: Side, knowledge: Knowledge) -> bool | None:
    """Whether the other side has one of the forms that its language may write a name in.

    None where it has none and none in kanji is known, or the name is Korean or Chinese by its letters: others may be
    written as they sound, and 文在寅 is not listed. A form of one sign, as 森 of *Mori*, vouches only before さん and
    the like.
    """
    bare = tuple(word.removesuffix("'s").removesuffix("’s") for word in words)
    forms = knowledge.name_forms(bare, target.language)
    in_kanji = [form for form in forms if _HAN.search(form)]
    if any(_find_form(form, target.text) for form in in_kanji):
        return True
    spoken = (form for form in forms if _KATAKANA_FORM.fullmatch(form))
    if any(find_katakana(form).search(target.text) for form in spoken):
        return True
    return False if in_kanji and not any(map(_ELSEWHERE.search, map(fold_name, bare))) else None


def _find_form(form: str, text: str) -> bool:
    return form in text if len(form) > 1 else regex.search(rf"(?<!\p{{Han}}){form}{_HONORIFIC}", text) is not None


def _add_cosines(pairs: Sequence[Pair], names: Sequence[Sequence[NameScore]], knowledge: Knowledge) -> None:
    """Compare the names with all words of the other side by the encoder's vectors."""
    if knowledge.encode is None or not any(names):
        return
    candidates = [_list_candidates(pair.target, of_pair) for pair, of_pair in zip(pairs, names, strict=True)]
    texts = [text for of_pair in names for name in of_pair for text in _list_asked(name)]
    words = list(dict.fromkeys(word for of_pair in candidates for word in of_pair))
    if not words:
        return
    distinct = list(dict.fromkeys(texts))
    of_names = dict(zip(distinct, knowledge.encode(distinct, knowledge.source), strict=True))
    of_words = dict(zip(words, knowledge.encode(words, knowledge.target), strict=True))
    for of_pair, nearby in zip(names, candidates, strict=True):
        if not of_pair or not nearby:
            continue
        matrix: Vectors = np.stack([of_words[word] for word in nearby])
        lexical = [_is_lexical(word, knowledge) for word in nearby]
        for name in of_pair:
            if len(name.words) > 1:
                cosines = matrix @ of_names[name.whole]
                name.cosine = _find_nearest(name.whole, nearby, cosines, knowledge, lexical)
            for word in name.words:
                if not word.written:
                    text = word.name.text
                    may_be_any = word.name.doubtful or word.designation
                    cosines = matrix @ of_names[text]
                    word.cosine = _find_nearest(text, nearby, cosines, knowledge, None if may_be_any else lexical)


def _find_nearest(
    name: str, nearby: Sequence[str], cosines: Vectors, knowledge: Knowledge, lexical: Sequence[bool] | None
) -> float:
    """The highest of the cosines, of words in katakana only of those that sound like the name, if little.

    Another acronym is near to each, and stands for none. With ``lexical`` a word of grammar stands for no name.
    """
    for place in np.argsort(-cosines):
        candidate = nearby[place]
        if (lexical is not None and not lexical[place]) or are_other_acronyms(name, candidate):
            continue
        if _KATAKANA.fullmatch(candidate) is None or sounds_like(name, candidate, knowledge) >= SPOKEN:
            return knowledge.scale(float(cosines[place]))
    return 0.0


def _list_asked(name: NameScore) -> list[str]:
    """The texts of a name that are compared: its words and, of several, the whole."""
    words = [word.name.text for word in name.words if not word.written]
    return [name.whole, *words] if len(name.words) > 1 else words


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


def _is_lexical(written: str, knowledge: Knowledge) -> bool:
    """Whether words may be a name: no common ones but for acronyms, and in Japanese none in hiragana alone."""
    if knowledge.target == "ja":
        return _HIRAGANA.fullmatch(written) is None
    common = knowledge.common(knowledge.target)
    return any(fold_name(word) not in common or _ACRONYM.fullmatch(word) for word in written.split())


def _pair_up(lost: Sequence[str], added: Sequence[str]) -> list[Reason]:
    """A reason a name; a lost one and an added one that stand in the same order are one reason."""
    reasons = [Reason("name", first, second) for first, second in zip(lost, added, strict=False)]
    reasons += [Reason("name", name, None) for name in lost[len(added) :]]
    return reasons + [Reason("name", None, name) for name in added[len(lost) :]]
