"""Checks sentences against their translations, whoever made these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dragoman.checking.amounts import compare_amounts
from dragoman.checking.check import Check, Reason, Status
from dragoman.checking.coverage import Coverage, check_glossary, measure_coverage
from dragoman.checking.garbage import check_garbage
from dragoman.checking.knowledge import Knowledge, Vectors
from dragoman.checking.lengths import measure_length
from dragoman.checking.naming.matching import NameMatching
from dragoman.checking.negation import compare_negations
from dragoman.checking.sentence import Pair
from dragoman.checking.thresholds import Thresholds, shipped_thresholds
from dragoman.deadline import check_each

__all__ = ["check_sentence", "check_sentences", "measure_cosines"]

MOST_NAMED = 8
"""Words that the reason of a low coverage names."""
_FAILING = frozenset({"number", "date", "unit", "name", "glossary"})


def check_sentence(source: str, translation: str, knowledge: Knowledge, thresholds: Thresholds | None = None) -> Check:
    """The check of one sentence; see :func:`check_sentences`."""
    return check_sentences([(source, translation)], knowledge, thresholds)[0]


def check_sentences(
    pairs: Sequence[tuple[str, str]],
    knowledge: Knowledge,
    thresholds: Thresholds | None = None,
    cosines: Sequence[float] | None = None,
) -> list[Check]:
    """The checks of sentences, each a source and its translation.

    ``cosines`` are those of :func:`measure_cosines`, for callers that have them already.

    Raises:
        DeadlinePassed, WorkCancelled: as the deadline of the caller says.
    """
    fit = thresholds or shipped_thresholds()
    read = [Pair.read(source, translation, knowledge) for source, translation in check_each(pairs)]
    if cosines is None and knowledge.encode is not None:
        cosines = measure_cosines(pairs, knowledge)
    names = NameMatching(knowledge, fit).compare(read)
    closeness: Iterable[float | None] = [None] * len(read) if cosines is None else cosines
    return [
        _judge(pair, list(of_names), cosine, knowledge, fit)
        for pair, of_names, cosine in check_each(zip(read, names, closeness, strict=True))
    ]


def measure_cosines(pairs: Sequence[tuple[str, str]], knowledge: Knowledge) -> list[float]:
    """How close each translation is to its source in meaning."""
    if knowledge.encode is None or not pairs:
        return []
    sources: Vectors = knowledge.encode([source for source, _ in pairs], knowledge.source)
    targets: Vectors = knowledge.encode([translation for _, translation in pairs], knowledge.target)
    return [knowledge.scale(cosine) for cosine in np.einsum("nd,nd->n", sources, targets).tolist()]


def _judge(pair: Pair, names: list[Reason], cosine: float | None, knowledge: Knowledge, fit: Thresholds) -> Check:
    if not pair.source.text.strip() and not pair.target.text.strip():
        return Check("ok")
    if (garbage := check_garbage(pair)) is not None:
        return Check("failed", (garbage,))
    failed = False
    reasons = _compare_amounts(pair) + names
    length = abs(
        measure_length(len(pair.source.text), len(pair.target.text), pair.source.language, pair.target.language, fit)
    )
    if length > fit.length_deviations or not pair.source.text.strip() or not pair.target.text.strip():
        reasons.append(Reason("length"))
        failed = length > fit.length_failed
    if (coverage := _check_coverage(pair, knowledge, fit)) is not None:
        reasons.append(coverage)
    meaning = fit.meaning(pair.source.language, pair.target.language)
    if cosine is None or cosine < meaning.least:
        reasons.append(Reason("meaning"))
        failed |= cosine is not None and cosine < meaning.elsewhere
    if (denial := compare_negations(pair)) is not None:
        reasons.append(denial)
    if knowledge.forward is not None:
        reasons += check_glossary(pair.source, pair.target, knowledge.forward, knowledge.backward)
    return Check(_decide(reasons, failed), tuple(reasons))


def _decide(reasons: Sequence[Reason], failed: bool) -> Status:
    if failed or any(reason.code in _FAILING for reason in reasons):
        return "failed"
    return "draft" if reasons else "ok"


def _compare_amounts(pair: Pair) -> list[Reason]:
    source, target = pair.source, pair.target
    mismatches = compare_amounts(source.text, source.language, target.text, target.language)
    return [Reason(mismatch.code, mismatch.source, mismatch.text) for mismatch in mismatches]


def _check_coverage(pair: Pair, knowledge: Knowledge, fit: Thresholds) -> Reason | None:
    """The reason for a low coverage: in both directions, or in the only one that tables know."""
    there = measure_coverage(pair.source, pair.target, knowledge.forward) if knowledge.forward is not None else None
    back = measure_coverage(pair.target, pair.source, knowledge.backward) if knowledge.backward is not None else None
    measured: list[Coverage] = [
        coverage for coverage in (there, back) if coverage is not None and coverage.looked_up >= fit.coverage_words
    ]
    if not measured or max(coverage.share for coverage in measured) >= fit.coverage:
        return None
    missing = ", ".join(there.missing[:MOST_NAMED]) if there is not None else ""
    added = ", ".join(back.missing[:MOST_NAMED]) if back is not None else ""
    return Reason("coverage", missing or None, added or None)
