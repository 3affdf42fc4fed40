"""What a translation by the shipped bridge has to show beyond the check: most of its well-formed sentences are wrong.

The check is fitted on human translations, nearly all of which are right. Of a small translator's fluent sentences that
pass it most are wrong, so more is asked of these before they are called ``ok``.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.checking import Check, Knowledge, Reason, measure_cosines
from dragoman.checking.coverage import measure_coverage
from dragoman.checking.sentence import Pair
from dragoman.deadline import check_each

LEAST_MEANING = 0.77
"""Cosine of a sentence with its translation. With the coverage it is where none of the bridge's 200 translations of
news that passed was wrong by eye; few do, and a quarter of the human ones."""
LEAST_COVERAGE = 0.7
"""Share of the words that tables know, in each direction."""
LEAST_WORDS = 2
"""Words of each side that tables must know."""


def add_doubts(pairs: Sequence[tuple[str, str]], checks: Sequence[Check], knowledge: Knowledge) -> list[Check]:
    """The checks with those that are ``ok`` without enough to show for it as drafts."""
    places = [place for place, check in enumerate(checks) if check.status == "ok"]
    passed = [pairs[place] for place in places]
    cosines = measure_cosines(passed, knowledge)
    doubted = list(checks)
    for place, pair, cosine in check_each(zip(places, passed, cosines or [0.0] * len(places), strict=True)):
        reasons = [] if cosine >= LEAST_MEANING else [Reason("meaning")]
        if not _is_covered(Pair.read(*pair, knowledge), knowledge):
            reasons.append(Reason("coverage"))
        if reasons:
            doubted[place] = Check("draft", tuple(reasons))
    return doubted


def _is_covered(pair: Pair, knowledge: Knowledge) -> bool:
    """Whether tables have seen enough of both sides in the other."""
    if knowledge.forward is None or knowledge.backward is None:
        return False
    both = (
        measure_coverage(pair.source, pair.target, knowledge.forward),
        measure_coverage(pair.target, pair.source, knowledge.backward),
    )
    return all(side.looked_up >= LEAST_WORDS and side.share >= LEAST_COVERAGE for side in both)
