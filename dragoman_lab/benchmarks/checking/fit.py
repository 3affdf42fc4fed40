"""Fits the numbers of ``dragoman/checking/thresholds.json`` on tuning data.

``python -m dragoman_lab.benchmarks.checking.fit --data DATA`` reads news, health texts and the tuning articles of
XQuAD-R, without tables; of these only sentences that are as long as those of FLORES. Lengths: the mean and the spread
of Gale & Church. Meaning: what all but some translations are above, and what all but few of other sentences' are below.
Names: of the thresholds that reject the share of changed names that is asked for, those that accept the most human
translations and reject the most, as far as they are found one after the other.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.checking import Knowledge, measure_cosines
from dragoman.checking.naming.matching import NameScore, score_names, select_unmatched
from dragoman.checking.naming.names import CASED
from dragoman.checking.sentence import Pair as ReadPair
from dragoman.checking.thresholds import SHIPPED, NameFit
from dragoman_lab.benchmarks.checking.amounts import FILES, TEN, read_pairs, read_tuning_pairs, read_xquad_pairs
from dragoman_lab.benchmarks.checking.classifier import Pair, select_pairs
from dragoman_lab.benchmarks.checking.replacements import NameSwaps
from dragoman_lab.benchmarks.checking.resources import Encoding, resources_of

LOST_MEANING = 0.01
"""Of human translations that the closeness of meaning may make drafts."""
MOST_LOST_MEANING, REJECTED_MEANING = 0.04, 0.97
"""As many where less of other sentences' translations would be rejected otherwise."""
REJECTED_NAMES = 0.92
"""Of changed names: the aim of 90%, and what other sentences may differ by."""
MORE_REJECTED = 0.1
"""What a changed name that is rejected beyond that is worth, against a translation that is accepted."""
FEW = 100
"""Pairs with which nothing can be fitted: shorter sentences and other sources are added."""
SIMILAR = (70, 300)
"""Characters of an English sentence."""
GRIDS = (
    (0.6, 0.65, 0.7, 0.75, 0.8, 0.85),
    (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 2.0),
    (1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 2.0),
    (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 2.0),
)
"""Of the sound, the cosine, both and the whole."""
WEIGHTS = (0.3, 0.5, 0.8, 1.0, 1.2, 1.6, 2.0)
"""Of a rejected changed name against an accepted translation, in searches for thresholds."""
LIMITS = {"length_deviations": 4.0, "length_failed": 8.0, "coverage": 0.3, "coverage_words": 4}


def read_similar_pairs(data: Path, language: str, most: int) -> list[Pair]:
    """Sentences as long as those of FLORES: of XQuAD, of news and some of health texts, others if these are few."""
    pairs: list[Pair] = []
    sources = (read_xquad_pairs(data, language), *(read_pairs(data, name, language) for name in FILES[:2]))
    for source, share in zip(sources, (1.0, 1.0, 0.25), strict=True):
        fitting = [pair for pair in source if SIMILAR[0] <= len(pair[1]) <= SIMILAR[1]]
        random.Random(7).shuffle(fitting)
        pairs += fitting[: round(share * most)]
    if len(pairs) < FEW:
        pairs += select_pairs(read_tuning_pairs(data, language, 4 * most), most)
    return list(dict.fromkeys(pairs))


def fit_lengths(pairs: list[Pair]) -> dict[str, float]:
    """Characters of the language for one of English, and the spread for the root of a length."""
    ratio = sum(len(foreign) for foreign, _ in pairs) / sum(len(english) for _, english in pairs)
    squares = [(len(english) - len(foreign) / ratio) ** 2 / (20 + len(foreign) / ratio) for foreign, english in pairs]
    return {"ratio": round(ratio, 3), "spread": round(math.sqrt(float(np.mean(squares))), 3)}


def fit_meaning(pairs: list[Pair], knowledge: Knowledge) -> dict[str, float]:
    """The thresholds of closeness, and what they do, printed."""
    chance = random.Random(5)
    right = np.array(measure_cosines(pairs, knowledge))
    others = [(foreign, pairs[chance.randrange(len(pairs))][1]) for foreign, _ in pairs]
    following = [(foreign, pairs[(place + 1) % len(pairs)][1]) for place, (foreign, _) in enumerate(pairs)]
    wrong = np.array(measure_cosines([*others, *following], knowledge))
    wrong = wrong[wrong < 0.999]
    most = float(np.quantile(right, MOST_LOST_MEANING))
    least = max(float(np.quantile(right, LOST_MEANING)), min(most, float(np.quantile(wrong, REJECTED_MEANING))))
    elsewhere = float(min(np.quantile(wrong, 0.98), np.quantile(right, LOST_MEANING)))
    print(  # noqa: T201
        f"   meaning: least {least:.3f}, others below {np.mean(wrong < least):.1%}; elsewhere {elsewhere:.3f}, others"
        f" below {np.mean(wrong < elsewhere):.1%}, human {np.mean(right < elsewhere):.1%}"
    )
    return {"least": round(least, 3), "elsewhere": round(elsewhere, 3)}


def fit_names(pairs: list[Pair], knowledge: Knowledge) -> dict[str, float]:
    """The thresholds of names, and what they do, printed."""
    chance = random.Random(5)
    swaps = NameSwaps([english for _, english in pairs])
    changed = [
        (foreign, text)
        for foreign, english in pairs
        for text in sorted({swaps.swap(english, chance) or "", swaps.swap(english, chance) or ""})
        if text
    ]
    human, swapped = _score(pairs, knowledge), _score(changed, knowledge)
    two_sided = knowledge.source in CASED
    fits: dict[tuple[float, ...], tuple[float, float]] = {}

    def measure(place: tuple[float, ...]) -> tuple[float, float]:
        if place not in fits:
            fit = NameFit(*place)
            fits[place] = _accept(human, fit, two_sided), 1 - _accept(swapped, fit, two_sided)
        return fits[place]

    for weight in WEIGHTS:
        _climb(lambda place, weight=weight: measure(place)[0] + weight * measure(place)[1])  # type: ignore[misc]
    enough = {place: shares for place, shares in fits.items() if shares[1] >= REJECTED_NAMES}
    best = max(enough or fits, key=lambda place: fits[place][0] + (MORE_REJECTED if enough else 1) * fits[place][1])
    print(f"   names: {best}: accepts {fits[best][0]:.1%}, rejects {fits[best][1]:.1%} of {len(changed)}")  # noqa: T201
    for least in (0.8, 0.85, 0.9, 0.95, 0.97):
        reachable = [shares for shares in fits.values() if shares[1] >= least]
        print(f"      at {least:.0%} rejected: {max(reachable, default=(0.0, 0.0))[0]:.1%} accepted")  # noqa: T201
    return dict(zip(("sound", "cosine", "both", "whole"), best, strict=True))


def _climb(measure: Callable[[tuple[float, ...]], float]) -> None:
    """Improve one threshold after the other, twice."""
    place: tuple[float, ...] = (0.8, 0.55, 1.15, 0.6)
    for _ in range(2):
        for part, grid in enumerate(GRIDS):
            place = max(((*place[:part], step, *place[part + 1 :]) for step in grid), key=measure)


Scored = list[tuple[list[NameScore], list[NameScore]]]


def _score(pairs: list[Pair], knowledge: Knowledge) -> Scored:
    """The names of both sides of each pair."""
    read = [ReadPair.read(foreign, english, knowledge) for foreign, english in pairs]
    there = score_names(read, knowledge)
    back = score_names([pair.invert() for pair in read], knowledge.invert())
    return list(zip(there, back, strict=True))


def _accept(scored: Scored, fit: NameFit, two_sided: bool) -> float:
    return float(np.mean([not any(select_unmatched(*names, fit, two_sided)) for names in scored]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--languages", nargs="*", default=TEN)
    parser.add_argument("--most", type=int, default=150, help="pairs a language of each source")
    parser.add_argument("--cache", type=Path, help="a file (.npz) that keeps vectors")
    parser.add_argument("--output", type=Path, default=SHIPPED)
    parser.add_argument("--names-of", nargs="*", help="fit only the names of these languages anew, and keep the rest")
    arguments = parser.parse_args()
    encoding = Encoding(arguments.cache)
    fitted: dict[str, Any] = {"limits": LIMITS, "lengths": {"en": {"ratio": 1.0, "spread": 0.0}}}
    fitted |= {"meanings": {}, "names": {}}
    if arguments.names_of is not None:
        fitted = json.loads(SHIPPED.read_text(encoding="utf-8"))
        arguments.languages = arguments.names_of
    for language in arguments.languages:
        pairs = read_similar_pairs(arguments.data, language, arguments.most)
        print(f"{language}: {len(pairs)} pairs", flush=True)  # noqa: T201
        knowledge = resources_of(arguments.data, language, encoding, tables=False)
        if arguments.names_of is None:
            fitted["lengths"][language] = fit_lengths(pairs)
            fitted["meanings"][language] = fit_meaning(pairs, knowledge)
        fitted["names"][language] = fit_names(pairs, knowledge)
        encoding.save()
    for part, loosest in (("lengths", max), ("meanings", min), ("names", min)):
        fits = [fit for language, fit in fitted[part].items() if language not in ("en", "*")]
        fitted[part]["*"] = {name: loosest(fit[name] for fit in fits) for name in fits[0]}
    fitted["lengths"]["*"]["ratio"] = 1.0
    arguments.output.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
