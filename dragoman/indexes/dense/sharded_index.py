"""A dense index in several parts, which are searched at once and answer as one: a vector's score is its own.

A part that fails or is late is left out of the answer, which says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from itertools import chain
from typing import NamedTuple

import numpy as np

from dragoman.indexes.dense.index import DenseHit, DenseIndex, Embedded, Vectors
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.shard_group import ShardGroup, Unsearched, shard_of

__all__ = ["DenseHits", "MaxSim", "ShardedDenseIndex"]

_FAULTS = (IndexFault, OSError, RuntimeError, MemoryError)
"""What a part may raise by itself; FAISS raises RuntimeError."""


class DenseHits(NamedTuple):
    """Documents, best first, ties by ascending key, and the parts that did not answer."""

    hits: list[DenseHit]
    unsearched: tuple[Unsearched, ...] = ()


class MaxSim(NamedTuple):
    """MaxSim (documents, subwords), NaN where it is not known, and the parts that did not answer."""

    similarities: Vectors
    unsearched: tuple[Unsearched, ...] = ()


class ShardedDenseIndex:
    """The vectors of one collection, spread over parts by the documents' keys. Thread-safe."""

    def __init__(self, shards: int, pool: Executor, width: int, codec: StateCodec | None = None) -> None:
        """``pool`` searches the parts; ``width`` and ``codec`` as for :class:`DenseIndex`."""
        self.width = width
        self._group = ShardGroup([DenseIndex(width, codec) for _ in range(shards)], pool, _FAULTS)
        self.keeps_states = codec is not None

    def __len__(self) -> int:
        """The number of passages."""
        return sum(map(len, self._group.shards))

    @property
    def shards(self) -> int:
        """The number of parts."""
        return len(self._group.shards)

    @property
    def documents(self) -> int:
        """The number of documents, including those without passages."""
        return sum(shard.documents for shard in self._group.shards)

    @property
    def generations(self) -> Mapping[int, int]:
        """The generation of each document by its key."""
        return {key: generation for shard in self._group.shards for key, generation in shard.generations.items()}

    def generation(self, key: int) -> int | None:
        """The generation of one document; None if it is not there."""
        return self._group.shards[shard_of(key, self.shards)].generation(key)

    @property
    def state_bytes(self) -> int:
        """The size of the states of all documents."""
        return sum(shard.state_bytes for shard in self._group.shards)

    def drop_states(self) -> None:
        """Keep no states from now on."""
        self.keeps_states = False
        for shard in self._group.shards:
            shard.drop_states()

    def put(self, documents: Sequence[Embedded]) -> None:
        """Add documents, as :meth:`DenseIndex.put`; where one is invalid, some of the others may be added."""
        for position, chosen in self._group.spread(documents, lambda document: document.key).items():
            self._group.shards[position].put(chosen)

    def delete(self, keys: Collection[int]) -> None:
        """Delete documents; unknown keys are ignored."""
        for position, chosen in self._group.spread(keys, lambda key: key).items():
            self._group.shards[position].delete(chosen)

    def get(self, keys: Collection[int]) -> list[Embedded]:
        """Copies of documents by their keys; those that are not there are left out."""
        spread = self._group.spread(keys, lambda key: key)
        return list(chain.from_iterable(self._group.shards[place].get(chosen) for place, chosen in spread.items()))

    def search(self, vector: Vectors, k: int) -> DenseHits:
        """The ``k`` best documents, as :meth:`DenseIndex.search`.

        Raises:
            ValueError: if ``k`` is below 1 or the vector has another width.
            IndexFault, OSError, RuntimeError, MemoryError: no part can be searched.
        """
        hits = self._hits(lambda shard, position: shard.search(vector, k), None)
        return hits._replace(hits=hits.hits[:k])

    def score(self, vector: Vectors, keys: Sequence[int]) -> DenseHits:
        """Documents by their keys, as :meth:`DenseIndex.score`; raises what :meth:`search` does."""
        spread = self._group.spread(keys, lambda key: key)
        return self._hits(lambda shard, position: shard.score(vector, spread[position]), spread)

    def maxsim(self, vector: Vectors, states: Vectors, keys: Sequence[int]) -> MaxSim | None:
        """MaxSim (keys, subwords), as :meth:`DenseIndex.maxsim`; None if states are not kept."""
        rows = self._group.spread(range(len(keys)), lambda row: keys[row])
        answers, faults = self._group.ask(
            lambda shard, position: shard.maxsim(vector, states, [keys[row] for row in rows[position]]), rows
        )
        similarities = np.full((len(keys), len(states)), np.nan, np.float32)
        for position, part in answers.items():
            if part is None:
                return None
            similarities[rows[position]] = part
        return MaxSim(similarities, self._group.list_unsearched(faults))

    def _hits(self, ask: Callable[[DenseIndex, int], list[DenseHit]], positions: Collection[int] | None) -> DenseHits:
        answers, faults = self._group.ask(ask, positions)
        hits = list(chain.from_iterable(answers.values()))
        if len(answers) > 1:
            hits.sort(key=lambda hit: (-hit.score, hit.key))
        return DenseHits(hits, self._group.list_unsearched(faults))
