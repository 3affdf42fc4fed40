"""Finds for the names of many sentences what stands for them in the translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dragoman.checking.check import Reason
from dragoman.checking.knowledge import Knowledge, Vectors
from dragoman.checking.names import UNSPACED, Name, find_names, is_written, measure_sound
from dragoman.checking.sentence import Pair, Side
from dragoman.checking.thresholds import Thresholds
from dragoman.deadline import check_each

__all__ = ["NameMatching", "NameScore"]

MOST_WORDS = 64
"""Of a sentence that names are compared with."""


@dataclass(slots=True)
class NameScore:
    """How alike a name and what is nearest to it on the other side are."""

    name: Name
    sound: float
    cosine: float = 0.0


class NameMatching:
    """Compares the names of sentences, both ways."""

    def __init__(self, knowledge: Knowledge, thresholds: Thresholds) -> None:
        self._knowledge = knowledge
        self._fit = thresholds.name(knowledge.source, knowledge.target)

    def compare(self, pairs: Sequence[Pair]) -> list[list[Reason]]:
        """For each pair the names that the translation lacks, and those that it adds."""
        lost = self._select_unmatched(pairs, self._knowledge)
        added = self._select_unmatched([pair.invert() for pair in pairs], self._knowledge.invert())
        return [_pair_up(first, second) for first, second in zip(lost, added, strict=True)]

    def _select_unmatched(self, pairs: Sequence[Pair], knowledge: Knowledge) -> list[list[Name]]:
        fit = self._fit
        return [
            [score.name for score in scores if score.sound < fit.sound and score.cosine < fit.cosine]
            for scores in score_names(pairs, knowledge, fit.sound)
        ]


def score_names(pairs: Sequence[Pair], knowledge: Knowledge, alike: float = 1.0) -> list[list[NameScore]]:
    """The names of the sources that are not written in the translations, with how alike the nearest words are.

    Names that sound so ``alike`` are not compared by meaning.
    """
    scores: list[list[NameScore]] = []
    for pair in check_each(pairs):
        names = [name for name in find_names(pair.source) if not is_written(name, pair, knowledge.forward)]
        scores.append([NameScore(name, measure_sound(name.text, pair, knowledge)) for name in names])
    _add_cosines(pairs, [[score for score in of_pair if score.sound < alike] for of_pair in scores], knowledge)
    return scores


def _add_cosines(pairs: Sequence[Pair], scores: Sequence[Sequence[NameScore]], knowledge: Knowledge) -> None:
    """Compare the names with all words of the other side by the encoder's vectors."""
    if knowledge.encode is None or not any(scores):
        return
    candidates = [_list_candidates(pair.target) if of_pair else [] for pair, of_pair in zip(pairs, scores, strict=True)]
    names = list(dict.fromkeys(score.name.text for of_pair in scores for score in of_pair))
    words = list(dict.fromkeys(word for of_pair in candidates for word in of_pair))
    if not words:
        return
    of_names = dict(zip(names, knowledge.encode(names, knowledge.source), strict=True))
    of_words = dict(zip(words, knowledge.encode(words, knowledge.target), strict=True))
    for of_pair, nearby in zip(scores, candidates, strict=True):
        if not of_pair or not nearby:
            continue
        matrix: Vectors = np.stack([of_words[word] for word in nearby])
        for score in of_pair:
            score.cosine = float((matrix @ of_names[score.name.text]).max())


def _list_candidates(side: Side) -> list[str]:
    """The words that may stand for a name; in scripts without spaces two in a row, too."""
    words = side.words[:MOST_WORDS]
    if side.language in UNSPACED:
        spans = [(token.start, token.end) for token in side.content]
        joined = [side.text[first[0] : second[1]] for first, second in pairwise(spans)]
        words = [*words, *(word for word in joined if len(word) <= 12)]
    return words[: 2 * MOST_WORDS]


def _pair_up(lost: Sequence[Name], added: Sequence[Name]) -> list[Reason]:
    """A reason a name; a lost one and an added one that stand in the same order are one reason."""
    reasons = [Reason("name", first.text, second.text) for first, second in zip(lost, added, strict=False)]
    reasons += [Reason("name", name.text, None) for name in lost[len(added) :]]
    return reasons + [Reason("name", None, name.text) for name in added[len(lost) :]]
