"""Examples drawn from lists of candidates: a query, a document that answers it, and others that don't.

What is drawn is a function of the seed and a position alone, so that a training that resumes sees what it would have
seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.backbone.training.config import ConfigError
from dragoman.backbone.training.corpus import Position
from dragoman.backbone.training.loop import Source
from dragoman.backbone.training.vocabulary import smoothed
from dragoman.ranking.attention import Direction, Links
from dragoman.ranking.passages import Read
from dragoman.ranking.training.lists import CandidateList, Lists, checksum_of


@dataclass(frozen=True)
class Example:
    """A query and its documents, of which the first alone answers it, with the first stage's scores."""

    query: Read
    documents: list[Read]
    scores: list[float]
    links: list[Links]


@dataclass(frozen=True)
class Examples:
    """A batch."""

    examples: list[Example]

    @property
    def tokens(self) -> int:
        """Subwords of all queries and documents, each query counted once."""
        return sum(len(one.query.ids) + sum(len(text.ids) for text in one.documents) for one in self.examples)


def examples_of(
    sets: Mapping[str, Lists],
    shares: Mapping[str, float],
    *,
    queries: int,
    documents: int,
    direction: Direction,
    placebo: bool,
    unlinked: float,
    seed: int,
) -> Source[Examples]:
    """Batches of `queries` lists with `documents` candidates each; a list's set is drawn by `shares`.

    Each word of a query loses its links with the chance `unlinked`, as if the table did not know it.

    Raises:
        ConfigError: a set without a list that has a relevant candidate and another.
    """
    usable = {name: _usable(lists) for name, lists in sets.items()}
    for name, places in usable.items():
        if not len(places):
            raise ConfigError(f"{name}: no list has both a relevant candidate and another")
    names = sorted(sets)
    weights = np.asarray([shares[name] for name in names])
    weights = weights / weights.sum()

    def draw(start: Position) -> Iterator[tuple[Position, Examples]]:
        number = start.round
        while True:
            random = np.random.default_rng([seed, number])
            drawn = []
            for name in random.choice(names, queries, p=weights):
                place = int(random.choice(usable[name]))
                one = _example(sets[name], sets[name][place], documents, direction, placebo, random)
                drawn.append(replace(one, links=_without(one.links, unlinked, random)) if unlinked else one)
            number += 1
            yield Position(number), Examples(drawn)

    return Source(checksum_of([sets[name] for name in names]), draw)


def _usable(lists: Lists) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    answers = (([one.relevant for one in lists[number].candidates]) for number in range(len(lists)))
    return np.flatnonzero([any(found) and not all(found) for found in answers])


def _example(
    lists: Lists,
    one: CandidateList,
    documents: int,
    direction: Direction,
    placebo: bool,
    random: np.random.Generator,
) -> Example:
    right = [candidate for candidate in one.candidates if candidate.relevant]
    wrong = [candidate for candidate in one.candidates if not candidate.relevant]
    chosen = [right[random.integers(len(right))]]
    chosen += [wrong[place] for place in random.permutation(len(wrong))[: documents - 1]]
    return Example(
        lists.text(one.query),
        [lists.text(candidate.text) for candidate in chosen],
        [candidate.score for candidate in chosen],
        lists.links(one.query, [candidate.text for candidate in chosen], direction, placebo),
    )


def _without(links: Sequence[Links], share: float, random: np.random.Generator) -> list[Links]:
    """The links without those of query words chosen at random, the same in every document."""
    words = max((int(one.left.max()) + 1 for one in links if len(one.left)), default=0)
    lost = random.random(words) < share
    kept = [~lost[one.left] for one in links]
    return [
        Links(one.left[there], one.right[there], one.weights[there]) for one, there in zip(links, kept, strict=True)
    ]


def sizes(sets: Mapping[str, Lists]) -> dict[str, int]:
    """How many lists each set has."""
    return {name: len(lists) for name, lists in sets.items()}


def weighted_shares(
    counts: Mapping[str, int], smoothing: float, weights: Sequence[tuple[str, float]] = ()
) -> dict[str, float]:
    """Shares by count to the power of `smoothing`, those of sets whose name begins with a given text multiplied."""
    shares = smoothed(counts, smoothing)
    for beginning, weight in weights:
        shares |= {name: share * weight for name, share in shares.items() if name.startswith(beginning)}
    whole = sum(shares.values())
    return {name: share / whole for name, share in shares.items()}
