"""Training examples sampled from lists of candidates: a query, a relevant document and other documents.

A sample depends only on the seed and the position, so a resumed training sees the same examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dragoman.ranking.attention import Direction, Links
from dragoman.ranking.passages import TokenizedText
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.backbone.loop import Source
from dragoman_lab.backbone.vocabulary import smooth_shares
from dragoman_lab.ranking.lists import CandidateList, Lists, checksum_of


@dataclass(frozen=True)
class Example:
    """A query with its documents, of which only the first is relevant, and their first-stage scores."""

    query: TokenizedText
    documents: list[TokenizedText]
    scores: list[float]
    links: list[Links]


@dataclass(frozen=True)
class Examples:
    """A batch."""

    examples: list[Example]

    @property
    def tokens(self) -> int:
        """Number of subwords of all queries and documents; each query counts once."""
        return sum(
            len(example.query.ids) + sum(len(text.ids) for text in example.documents) for example in self.examples
        )


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
    """Batches of `queries` lists with `documents` candidates each; the set of a list is sampled by `shares`.

    Each query word loses its links with probability `unlinked`, as if the table did not have it.

    Raises:
        ConfigError: if no list of a set has both a relevant candidate and another.
    """
    usable = {name: _usable(lists) for name, lists in sets.items()}
    for name, numbers in usable.items():
        if not len(numbers):
            raise ConfigError(f"{name}: no list has both a relevant candidate and another")
    names = sorted(sets)
    weights = np.asarray([shares[name] for name in names])
    weights = weights / weights.sum()

    def draw(start: Position) -> Iterator[tuple[Position, Examples]]:
        turn = start.round
        while True:
            random = np.random.default_rng([seed, turn])
            drawn = []
            for name in random.choice(names, queries, p=weights):
                candidates = sets[name][int(random.choice(usable[name]))]
                example = _example(sets[name], candidates, documents, direction, placebo, random)
                if unlinked:
                    example = replace(example, links=_drop_links(example.links, unlinked, random))
                drawn.append(example)
            turn += 1
            yield Position(turn), Examples(drawn)

    return Source(checksum_of([sets[name] for name in names]), draw)


def _usable(lists: Lists) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    answers = (([candidate.relevant for candidate in lists[index].candidates]) for index in range(len(lists)))
    return np.flatnonzero([any(relevances) and not all(relevances) for relevances in answers])


def _example(
    lists: Lists,
    query_list: CandidateList,
    documents: int,
    direction: Direction,
    placebo: bool,
    random: np.random.Generator,
) -> Example:
    relevant = [candidate for candidate in query_list.candidates if candidate.relevant]
    others = [candidate for candidate in query_list.candidates if not candidate.relevant]
    chosen = [relevant[random.integers(len(relevant))]]
    chosen += [others[index] for index in random.permutation(len(others))[: documents - 1]]
    return Example(
        lists.text(query_list.query),
        [lists.text(candidate.text) for candidate in chosen],
        [candidate.score for candidate in chosen],
        lists.links(query_list.query, [candidate.text for candidate in chosen], direction, placebo),
    )


def _drop_links(links: Sequence[Links], share: float, random: np.random.Generator) -> list[Links]:
    """Remove the links of randomly chosen query words, the same in every document."""
    words = max((int(link.left.max()) + 1 for link in links if len(link.left)), default=0)
    dropped = random.random(words) < share
    masks = [~dropped[link.left] for link in links]
    return [
        Links(link.left[mask], link.right[mask], link.weights[mask]) for link, mask in zip(links, masks, strict=True)
    ]


def sizes(sets: Mapping[str, Lists]) -> dict[str, int]:
    """The number of lists of each set."""
    return {name: len(lists) for name, lists in sets.items()}


def weighted_shares(
    counts: Mapping[str, int], smoothing: float, weights: Sequence[tuple[str, float]] = ()
) -> dict[str, float]:
    """Shares by count to the power of `smoothing`; `weights` multiply those of sets whose name has a given prefix."""
    shares = smooth_shares(counts, smoothing)
    for prefix, weight in weights:
        shares |= {name: share * weight for name, share in shares.items() if name.startswith(prefix)}
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}
