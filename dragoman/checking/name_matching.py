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
from dragoman.checking.thresholds import NameFit, Thresholds
from dragoman.deadline import check_each

__all__ = ["NameMatching", "NameScore", "score_names", "select_unmatched"]

DOUBTFUL = 0.15
"""How much less alike a word must be that may be no name."""
MOST_WORDS = 64
"""Of a sentence that names are compared with."""


@dataclass(slots=True)
class NameScore:
    """How alike a word of a name and what is nearest to it on the other side are."""

    name: Name
    written: bool
    """Whether it stands there, or a table's translation of it."""
    sound: float = 0.0
    cosine: float = 0.0

    def holds(self, fit: NameFit) -> bool:
        """Whether the other side has it."""
        less = DOUBTFUL if self.name.doubtful else 0.0
        return self.written or self.sound >= fit.sound - less or self.cosine >= fit.cosine - less


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

    def _select_unmatched(self, pairs: Sequence[Pair], knowledge: Knowledge) -> list[list[str]]:
        scores = score_names(pairs, knowledge, self._fit.sound)
        return [
            select_unmatched(pair.source.text, of_pair, self._fit) for pair, of_pair in zip(pairs, scores, strict=True)
        ]


def select_unmatched(text: str, scores: Sequence[NameScore], fit: NameFit) -> list[str]:
    """The names, each of one or several words in a row, of which less than half of the words are on the other side."""
    unmatched = []
    for run in _split_into_runs(text, scores):
        if 2 * sum(score.holds(fit) for score in run) < len(run):
            unmatched.append(text[run[0].name.start : run[-1].name.end])
    return unmatched


def _split_into_runs(text: str, scores: Sequence[NameScore]) -> list[list[NameScore]]:
    runs: list[list[NameScore]] = []
    for score in scores:
        if runs and text[runs[-1][-1].name.end : score.name.start] in (" ", "-", ". "):
            runs[-1].append(score)
        else:
            runs.append([score])
    return runs


def score_names(pairs: Sequence[Pair], knowledge: Knowledge, alike: float = 1.0) -> list[list[NameScore]]:
    """The words of names in the sources, with how alike the nearest words of the translations are.

    Those that sound so ``alike`` are not compared by meaning.
    """
    scores: list[list[NameScore]] = []
    for pair in check_each(pairs):
        names = find_names(pair.source, knowledge.common(knowledge.source))
        of_pair = [NameScore(name, is_written(name, pair, knowledge.forward)) for name in names]
        for score in of_pair:
            score.sound = 0.0 if score.written else measure_sound(score.name.text, pair, knowledge)
        scores.append(of_pair)
    doubtful = [[score for score in of_pair if not score.written and score.sound < alike] for of_pair in scores]
    _add_cosines(pairs, doubtful, knowledge)
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
    words = list(dict.fromkeys(side.text[token.start : token.end] for token in side.tokens))[:MOST_WORDS]
    if side.language in UNSPACED:
        spans = [(token.start, token.end) for token in side.content]
        joined = [side.text[first[0] : second[1]] for first, second in pairwise(spans)]
        words = [*words, *(word for word in joined if len(word) <= 12)]
    return words[: 2 * MOST_WORDS]


def _pair_up(lost: Sequence[str], added: Sequence[str]) -> list[Reason]:
    """A reason a name; a lost one and an added one that stand in the same order are one reason."""
    reasons = [Reason("name", first, second) for first, second in zip(lost, added, strict=False)]
    reasons += [Reason("name", name, None) for name in lost[len(added) :]]
    return reasons + [Reason("name", None, name) for name in added[len(lost) :]]
