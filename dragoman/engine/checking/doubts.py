"""What a translation by the shipped bridge has to show beyond the check: most of its well-formed sentences are wrong.

The check is fitted on human translations, nearly all of which are right. Of a small translator's fluent sentences that
pass it most are wrong, so more is asked of these before they are called ``ok``.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from dragoman.checking import Check, Knowledge, Reason, measure_cosines
from dragoman.checking.coverage import measure_coverage
from dragoman.checking.naming.names import find_names, is_written
from dragoman.checking.sentence import Pair
from dragoman.deadline import check_each

LEAST_MEANING = 0.77
"""Cosine of a sentence with its translation. With the coverage it was chosen so that none of the bridge's 200
translations of news is ``ok`` and wrong; 4 are ``ok``, and 32 of as many human ones."""
LEAST_COVERAGE = 0.7
"""Share of the words that tables know, in each direction."""
LEAST_WORDS = 2
"""Words of each side that tables must know."""
_LATIN = regex.compile(r"^\P{L}*(?:\p{Latin}\P{L}*)+$")


def add_doubts(pairs: Sequence[tuple[str, str]], checks: Sequence[Check], knowledge: Knowledge) -> list[Check]:
    """The checks: ``ok`` without enough to show for it becomes a draft, and names of the translation alone fail."""
    places = [place for place, check in enumerate(checks) if check.status != "failed"]
    cosines = measure_cosines([pairs[place] for place in places], knowledge) or [0.0] * len(places)
    doubted = list(checks)
    for place, cosine in check_each(zip(places, cosines, strict=True)):
        pair = Pair.read(*pairs[place], knowledge)
        reasons = list(checks[place].reasons)
        if cosine < LEAST_MEANING:
            reasons.append(Reason("meaning"))
        if not _is_covered(pair, knowledge):
            reasons.append(Reason("coverage"))
        names = list_invented(pair, knowledge)
        if names or reasons:
            distinct = {reason.code: reason for reason in reversed(reasons)}
            doubted[place] = Check("failed" if names else "draft", (*names, *distinct.values()))
    return doubted


def list_invented(pair: Pair, knowledge: Knowledge) -> list[Reason]:
    """Names of a translation that its source in Latin letters does not have, nor a table for it."""
    if not _LATIN.search(pair.source.text):
        return []
    back = pair.invert()
    names = find_names(back.source, knowledge.common(back.source.language))
    return [
        Reason("name", None, name.text)
        for name in names
        if not name.doubtful and not is_written(name, back, knowledge.backward)
    ]


def _is_covered(pair: Pair, knowledge: Knowledge) -> bool:
    """Whether tables have seen enough of both sides in the other."""
    if knowledge.forward is None or knowledge.backward is None:
        return False
    both = (
        measure_coverage(pair.source, pair.target, knowledge.forward),
        measure_coverage(pair.target, pair.source, knowledge.backward),
    )
    return all(side.looked_up >= LEAST_WORDS and side.share >= LEAST_COVERAGE for side in both)
