"""What a translation by the shipped bridge has to show beyond the check: most of its well-formed sentences are wrong.

The check is fitted on human translations, nearly all of which are right. Of a small translator's fluent sentences that
pass it most are wrong, so more is asked of these before they are called ``ok``, and something before they are shown at
all: closeness and coverage together, of which a sentence may have less of one if it has more of the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from dragoman.checking import Check, Knowledge, Reason, measure_cosines
from dragoman.checking.coverage import Coverage, measure_coverage
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
FLOORS = ((4, 1.0), (10, 1.22))
"""Of :func:`weigh_evidence`: for a source of at most so many words, and of at least so many. With less a draft is not
shown. They were chosen on drafts of news, encyclopedia articles and short sentences that were read by eye."""
COVERAGE_WEIGHT = 0.5
EXPECTED_COVERAGE = 0.8
"""It is as if tables had one more word of each side, covered so far: few words say little."""
_LATIN = regex.compile(r"^\P{L}*(?:\p{Latin}\P{L}*)+$")


def add_doubts(pairs: Sequence[tuple[str, str]], checks: Sequence[Check], knowledge: Knowledge) -> list[Check]:
    """The checks: ``ok`` without enough to show for it becomes a draft, and a draft with too little fails.

    Names of the translation alone fail as well.
    """
    places = [place for place, check in enumerate(checks) if check.status != "failed"]
    cosines = measure_cosines([pairs[place] for place in places], knowledge) or [0.0] * len(places)
    doubted = list(checks)
    for place, cosine in check_each(zip(places, cosines, strict=True)):
        pair = Pair.read(*pairs[place], knowledge)
        reasons = list(checks[place].reasons)
        coverages = measure_coverages(pair, knowledge)
        unproven = weigh_evidence(cosine, coverages) < find_floor(len(pair.source.tokens))
        if cosine < LEAST_MEANING or unproven:
            reasons.append(Reason("meaning"))
        if not _is_covered(coverages):
            reasons.append(Reason("coverage"))
        names = list_invented(pair, knowledge)
        if names or reasons:
            distinct = {reason.code: reason for reason in reversed(reasons)}
            if unproven and distinct["meaning"] != Reason("meaning"):  # what denies is not what it is withheld for
                names.append(Reason("meaning"))
            doubted[place] = Check("failed" if names or unproven else "draft", (*names, *distinct.values()))
    return doubted


def weigh_evidence(cosine: float, coverages: Sequence[Coverage]) -> float:
    """What speaks for a translation having at least the gist of its source; ``coverages`` are of both directions."""
    shares = [(side.covered + EXPECTED_COVERAGE) / (side.looked_up + 1) for side in coverages]
    return cosine + COVERAGE_WEIGHT * (sum(shares) / len(shares) if shares else EXPECTED_COVERAGE)


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


def find_floor(words: int) -> float:
    """What :func:`weigh_evidence` must be for a source of so many words; cosines of short sentences are lower."""
    (least, low), (most, high) = FLOORS
    return low + (high - low) * min(1.0, max(0.0, (words - least) / (most - least)))


def measure_coverages(pair: Pair, knowledge: Knowledge) -> list[Coverage]:
    """Those of both directions, or of the one that has a table."""
    coverages = []
    if knowledge.forward is not None:
        coverages.append(measure_coverage(pair.source, pair.target, knowledge.forward))
    if knowledge.backward is not None:
        coverages.append(measure_coverage(pair.target, pair.source, knowledge.backward))
    return coverages


def _is_covered(coverages: Sequence[Coverage]) -> bool:
    """Whether tables have seen enough of both sides in the other."""
    return len(coverages) == 2 and all(
        side.looked_up >= LEAST_WORDS and side.share >= LEAST_COVERAGE for side in coverages
    )
