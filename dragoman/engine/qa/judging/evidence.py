"""What the encoder's states say of a statement and the sentences of a text, in a few figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from dragoman.checking.amounts import compare_amounts
from dragoman.checking.negation import count_negations
from dragoman.deadline import check_each
from dragoman.engine.models.encoding import EncodedQuery
from dragoman.engine.qa.judging.rules import Ruling, read_copy
from dragoman.engine.qa.judging.words import AnalysedText, Linker
from dragoman.ranking.maxsim import inside

__all__ = ["Candidate", "Features", "choose_best", "describe", "rule_amounts"]

Floats = NDArray[np.float64]
_UNLIKE = 0.6
"""Similarity below which a word is no other word for the same."""
_RAREST = 40.0
"""In nats; a word is no rarer."""
_LEAST_LINKED, _LEAST_WORDS = 0.7, 3
"""The share of a statement's words that a sentence in another language needs, and how many these are, to deny it."""
_MOST = 2
"""Of amounts, more than so many count as so many."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, and what the encoder makes of it; ``text`` and ``index`` say where it stands."""

    sentence: AnalysedText
    encoded: EncodedQuery
    text: int
    index: int


@dataclass(frozen=True, slots=True)
class Features:
    """A statement beside the sentence that is most like it, and beside that with its two neighbours (``near``)."""

    cosine: float
    mean_similarity: float
    """Of the statement's words: each subword's largest cosine with the sentence's subwords, in the mean of a word."""
    least_similarity: float
    second_least: float
    linked: float
    """The share of the statement's words that the sentence has, as they are or by the tables."""
    least_unlinked: float
    """The least similarity of a word that it does not have; 1 if there is none."""
    near_least: float
    near_mean: float
    near_linked: float
    amounts_missing: float
    amounts_missing_near: float
    amounts_shared: float
    linked_back: float
    """The share of the sentence's words that the statement has."""
    margin: float
    """By how much the sentence is more like the statement than the next best one."""
    words: float
    """The logarithm of their count."""
    denies: float
    """Whether one of both has a word that denies, and the other has none."""
    weighted_similarity: float
    """The mean similarity, of each word by how rare its subwords are."""
    unlike: float
    """How rare a word is that the sentence does not have, times how unlike it the sentence is: the most of any word."""
    unlike_near: float
    least_name: float
    """The least similarity of a name that the sentence does not have; 1 if there is none."""
    least_name_near: float
    copied: float
    """How much of the statement is the sentence's words in their order; 0 in two languages."""
    replaced: float
    """1 if one run of words stands for another, and is not like the sentence, where all else is copied."""

    def array(self) -> Floats:
        """The figures in the order of the fields."""
        return np.array([getattr(self, field.name) for field in fields(self)], np.float64)


def similarities(statement: AnalysedText, encoded: EncodedQuery, states: NDArray[np.float32]) -> Floats:
    """Of each word of a statement, how alike the nearest subwords of some states are; NaN where none is compared."""
    if not len(encoded.weights) or not len(statement.words):
        return np.full(len(statement.words), np.nan)
    largest = (encoded.states @ states.T).max(1) if len(states) else np.zeros(len(encoded.weights))
    belongs = inside(encoded.offsets, [(word.start, word.end) for word in statement.words])
    weights = belongs * encoded.weights[:, None]
    total = weights.sum(0)
    similar: Floats = np.where(total > 0, largest @ weights / np.where(total > 0, total, 1.0), np.nan)
    return similar


def rule_amounts(features: Features) -> Ruling | None:
    """False in two languages: a sentence has the statement's words, and nothing near it has one of its amounts."""
    has_words = features.linked >= _LEAST_LINKED and features.words >= np.log1p(_LEAST_WORDS)
    if has_words and features.amounts_missing and features.amounts_missing_near and not features.denies:
        return Ruling("false", "translated_amount")
    return None


def _rarity(statement: AnalysedText, encoded: EncodedQuery) -> Floats:
    """How rare the subwords of each word are, together."""
    if not len(encoded.weights) or not len(statement.words):
        return np.zeros(len(statement.words))
    belongs = inside(encoded.offsets, [(word.start, word.end) for word in statement.words])
    rarity: Floats = (belongs * encoded.weights[:, None]).sum(0)
    return rarity


def choose_best(encoded: EncodedQuery, candidates: Sequence[Candidate]) -> tuple[int, float]:
    """The place of the candidate that is most like a statement, and by how much more than the next."""
    scores = np.array([_likeness(encoded, candidate.encoded) for candidate in check_each(candidates)])
    order = np.argsort(-scores, kind="stable")
    margin = float(scores[order[0]] - scores[order[1]]) if len(order) > 1 else 0.0
    return int(order[0]), margin


def describe(
    statement: AnalysedText,
    encoded: EncodedQuery,
    candidates: Sequence[Candidate],
    best: int,
    margin: float,
    by: Linker,
) -> Features:
    """The figures of a statement and its best candidate."""
    chosen = candidates[best]
    near = [
        candidate
        for candidate in candidates
        if candidate.text == chosen.text and abs(candidate.index - chosen.index) <= 1
    ]
    similar = similarities(statement, encoded, chosen.encoded.states)
    near_similar = similarities(statement, encoded, np.concatenate([candidate.encoded.states for candidate in near]))
    linked = np.array(by.links(statement, chosen.sentence), bool)
    near_linked = np.array(
        [any(of) for of in zip(*(by.links(statement, each.sentence) for each in near), strict=True)], bool
    )
    back = by.links(chosen.sentence, statement)
    missing = _missing(statement, [chosen])
    ordered = np.sort(similar[~np.isnan(similar)])
    rarity = _rarity(statement, encoded)
    names = np.array([word.name for word in statement.words], bool)
    copied, is_replaced = read_copy(statement, chosen.sentence)
    denials = [bool(count_negations(text.text, text.language)) for text in (statement, chosen.sentence)]
    return Features(
        cosine=float(encoded.vector @ chosen.encoded.vector),
        mean_similarity=_mean(similar),
        least_similarity=float(ordered[0]) if len(ordered) else 1.0,
        second_least=float(ordered[min(1, len(ordered) - 1)]) if len(ordered) else 1.0,
        linked=_share(linked),
        least_unlinked=_least(similar, ~linked),
        near_least=_least(near_similar, ~near_linked),
        near_mean=_mean(near_similar),
        near_linked=_share(near_linked),
        amounts_missing=min(missing, _MOST),
        amounts_missing_near=min(_missing(statement, near), _MOST),
        amounts_shared=min(len(statement.amounts) - min(missing, len(statement.amounts)), _MOST),
        linked_back=_share(np.array(back, bool)),
        margin=margin,
        words=float(np.log1p(len(statement.words))),
        denies=float(denials[0] != denials[1]),
        weighted_similarity=_weigh(similar, rarity),
        unlike=_unlike(similar, rarity, ~linked),
        unlike_near=_unlike(near_similar, rarity, ~near_linked),
        least_name=_least(similar, ~linked & names),
        least_name_near=_least(near_similar, ~near_linked & names),
        copied=copied,
        replaced=float(is_replaced and bool(len(ordered)) and float(ordered[0]) < _UNLIKE),
    )


def _likeness(statement: EncodedQuery, sentence: EncodedQuery) -> float:
    cosine = float(statement.vector @ sentence.vector)
    if not len(statement.weights) or not len(sentence.weights):
        return cosine
    largest = (statement.states @ sentence.states.T).max(1)
    return cosine + float(largest @ statement.weights / max(float(statement.weights.sum()), 1e-9))


def _missing(statement: AnalysedText, candidates: Sequence[Candidate]) -> int:
    """How many amounts of a statement some sentences lack, all together."""
    if not statement.amounts:
        return 0
    text, language = " ".join(candidate.sentence.text for candidate in candidates), candidates[0].sentence.language
    mismatches = compare_amounts(text, language, statement.text, statement.language)
    return sum(mismatch.text is not None for mismatch in mismatches)


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if (~np.isnan(values)).any() else 1.0


def _least(values: Floats, chosen: NDArray[np.bool_]) -> float:
    compared = values[chosen & ~np.isnan(values)]
    return float(compared.min()) if len(compared) else 1.0


def _weigh(values: Floats, weights: Floats) -> float:
    compared = ~np.isnan(values)
    total = float(weights[compared].sum())
    return float(values[compared] @ weights[compared]) / total if total else 1.0


def _unlike(values: Floats, rarity: Floats, chosen: NDArray[np.bool_]) -> float:
    compared = chosen & ~np.isnan(values)
    return float(((1 - values[compared]) * np.minimum(rarity[compared], _RAREST)).max()) if compared.any() else 0.0


def _share(linked: NDArray[np.bool_]) -> float:
    return float(linked.mean()) if len(linked) else 1.0
