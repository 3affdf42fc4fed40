"""A dense index in several parts, which are searched at once and answer as one: a vector's score is its own.

A part that fails or is late is left out of the answer, which says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.dense.index import DenseHit, DenseIndex, Embedded, StateCodes
from dragoman.indexes.dense.nearest import NONE, Keys, Nearest, Vectors
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.shard_group import ShardGroup, Unsearched, shard_of

__all__ = ["CodesOfShards", "DenseHits", "PassageHits", "ShardedDenseIndex", "join"]

_FAULTS = (IndexFault, OSError, RuntimeError, MemoryError)
"""What a part may raise by itself; FAISS raises RuntimeError."""


class DenseHits(NamedTuple):
    """The best documents, further ones that were asked for, and the parts that did not answer."""

    best: Nearest
    others: Nearest
    unsearched: tuple[Unsearched, ...] = ()


class PassageHits(NamedTuple):
    """Documents with their best passages, and the parts that did not answer."""

    hits: list[DenseHit]
    unsearched: tuple[Unsearched, ...] = ()


class CodesOfShards(NamedTuple):
    """The states of some documents, and the parts that did not answer."""

    states: StateCodes
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
    def mean_subwords(self) -> float | None:
        """The mean number of a document's subwords; None where their states are not kept."""
        subwords = sum(shard.subwords for shard in self._group.shards)
        return subwords / self.documents if subwords else None

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

    def search(self, vector: Vectors, k: int, others: Keys = NONE.keys, accepted: Keys | None = None) -> DenseHits:
        """The ``k`` best documents, and those with the keys ``others``, as :meth:`DenseIndex.nearest`.

        Raises:
            ValueError: if ``k`` is below 1 or the vector has another width.
            IndexFault, OSError, RuntimeError, MemoryError: no part can be searched.
        """
        answers, faults = self._group.ask(lambda shard, position: shard.nearest(vector, k, others, accepted))
        unsearched = self._group.list_unsearched(faults)
        if len(answers) == 1:
            return DenseHits(*next(iter(answers.values())), unsearched)
        nearest = join([best for best, _ in answers.values()])
        order = np.lexsort((nearest.keys, -nearest.scores))
        further = order[k:][np.isin(nearest.keys[order[k:]], others)]
        more = join([nearest.at(further), *(more for _, more in answers.values())])
        return DenseHits(nearest.at(order[:k]), more, unsearched)

    def score(self, vector: Vectors, keys: Sequence[int]) -> PassageHits:
        """Documents by their keys, best first, as :meth:`DenseIndex.score`.

        Raises:
            IndexFault, OSError, RuntimeError, MemoryError: no part can be searched.
        """
        spread = self._group.spread(keys, lambda key: key)
        answers, faults = self._group.ask(lambda shard, position: shard.score(vector, spread[position]), spread)
        hits = sorted(chain.from_iterable(answers.values()), key=lambda hit: (-hit.score, hit.key))
        return PassageHits(hits, self._group.list_unsearched(faults))

    def state_codes(self, vector: Vectors, keys: Sequence[int]) -> CodesOfShards | None:
        """The coded states of documents, as :meth:`DenseIndex.state_codes`, and the parts that did not answer.

        None if states are not kept.
        """
        places = self._group.spread(range(len(keys)), lambda row: keys[row])
        answers, faults = self._group.ask(
            lambda shard, position: shard.state_codes(vector, [keys[row] for row in places[position]]), places
        )
        rows: list[int] = []
        lengths: list[int] = []
        codes: list[NDArray[np.uint8]] = []
        for position, answer in answers.items():
            if answer is None:
                return None
            rows += [places[position][row] for row in answer.rows]
            lengths += answer.lengths
            codes.append(answer.codes)
        joined = np.concatenate(codes) if len(codes) > 1 else codes[0]
        return CodesOfShards(StateCodes(rows, lengths, joined), self._group.list_unsearched(faults))


def join(parts: Sequence[Nearest]) -> Nearest:
    """The documents of all, one after the other."""
    return Nearest(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
