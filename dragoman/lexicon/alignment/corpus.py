"""Parallel text for the aligner: integer ids, sentence pairs grouped by shape, ids of co-occurring pairs.

A *cell* is one (target token, source token) combination inside a sentence pair. Sentence pairs of the same
shape (target length, source length) are stacked, so that every model works on dense arrays without padding.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

Progress = Callable[[str, int, int], None]
"""Called as (phase, completed, total), from any thread; total is 0 while it is unknown."""

CHUNK_CELLS = 1 << 17
"""Large enough to hide numpy's overhead per call; small enough for the CPU cache, and for BLAS to run matrix products
(B, n) by (n, n) on one thread.
"""
GROUP_CELLS = 1 << 22


class AlignmentToken(Protocol):
    """The part of a token that the aligner uses: `term` is aligned, `word` is counted.

    A token with an empty term (a stop word) is aligned by its word, separately from all terms.
    """

    @property
    def word(self) -> str: ...

    @property
    def term(self) -> str: ...


class SentencePair(NamedTuple):
    """Two token lists that are translations of each other; `weight` multiplies their counts."""

    source: Sequence[AlignmentToken]
    target: Sequence[AlignmentToken]
    weight: float = 1.0


class Inventory:
    """The distinct tokens of one language, each with a word id and an alignment class id."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], int] = {}
        self._words: dict[str, int] = {}
        self._classes: dict[tuple[bool, str], int] = {}
        self._word_of = array("i")
        self._class_of = array("i")
        self._stop = bytearray()

    def token_id(self, token: AlignmentToken) -> int:
        key = (token.word, token.term)
        existing_id = self._tokens.get(key)
        return self._add(key) if existing_id is None else existing_id

    def _add(self, key: tuple[str, str]) -> int:
        word, term = key
        stop = not term
        self._word_of.append(self._words.setdefault(word, len(self._words)))
        self._class_of.append(self._classes.setdefault((stop, term or word), len(self._classes)))
        self._stop.append(stop)
        return self._tokens.setdefault(key, len(self._tokens))

    @property
    def words(self) -> list[str]:
        return list(self._words)

    @property
    def class_count(self) -> int:
        return len(self._classes)

    def arrays(self) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
        """For each token id: word id, class id, whether it is a stop word."""
        return (
            np.array(self._word_of, dtype=np.int32),
            np.array(self._class_of, dtype=np.int32),
            np.frombuffer(bytes(self._stop), dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """Sentence pairs of one shape. B pairs, m target tokens, n source tokens."""

    source: Ints
    """(B, n) source token ids."""
    target: Ints
    """(B, m) target token ids."""
    weights: Floats
    """(B,)"""
    pairs: Ints
    """(B, m, n) ids of the co-occurring class pairs (see `Corpus.pair_source`)."""


@dataclass(slots=True)
class CorpusCounts:
    """Counts of read, kept and skipped sentence pairs."""

    read: int = 0
    kept: int = 0
    empty: int = 0
    too_long: int = 0
    length_ratio: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    cells: int = 0


@dataclass(frozen=True)
class Corpus:
    """All sentence pairs, plus the distinct (source class, target class) pairs in ascending order."""

    sources: Inventory
    targets: Inventory
    chunks: list[Chunk]
    pair_source: Ints
    pair_target: Ints
    counts: CorpusCounts


@dataclass
class _Flat:
    sources: Inventory = field(default_factory=Inventory)
    targets: Inventory = field(default_factory=Inventory)
    source_ids: array[int] = field(default_factory=lambda: array("i"))
    target_ids: array[int] = field(default_factory=lambda: array("i"))
    source_lengths: array[int] = field(default_factory=lambda: array("i"))
    target_lengths: array[int] = field(default_factory=lambda: array("i"))
    weights: array[float] = field(default_factory=lambda: array("f"))
    counts: CorpusCounts = field(default_factory=CorpusCounts)


def read_corpus(
    pairs: Iterable[SentencePair],
    max_length: int,
    max_ratio: float,
    progress: Progress,
    executor: Executor,
) -> Corpus:
    """Assign ids to the tokens of `pairs`, and arrange them for training.

    A pair is skipped and counted if a side is empty or has more than `max_length` tokens, or if the lengths of the
    sides differ by more than a factor of `max_ratio`.
    """
    flat = _flatten(pairs, max_length, max_ratio, progress)
    shapes = _stack(flat)
    sources = flat.sources.arrays()[1]
    targets = flat.targets.arrays()[1]
    chunks, pair_keys = _number_pairs(shapes, sources, targets, progress, executor)
    width = max(flat.targets.class_count, 1)
    flat.counts.cells = sum(chunk.pairs.size for chunk in chunks)
    return Corpus(
        flat.sources,
        flat.targets,
        chunks,
        (pair_keys // width).astype(np.int32),
        (pair_keys % width).astype(np.int32),
        flat.counts,
    )


def _flatten(pairs: Iterable[SentencePair], max_length: int, max_ratio: float, progress: Progress) -> _Flat:
    flat = _Flat()
    counts = flat.counts
    source_id, target_id = flat.sources.token_id, flat.targets.token_id
    for source, target, weight in pairs:
        counts.read += 1
        if counts.read % 1000 == 0:
            progress("read", counts.read, 0)
        n, m = len(source), len(target)
        if not n or not m:
            counts.empty += 1
        elif n > max_length or m > max_length:
            counts.too_long += 1
        elif n > max_ratio * m or m > max_ratio * n:
            counts.length_ratio += 1
        else:
            flat.source_ids.extend(map(source_id, source))
            flat.target_ids.extend(map(target_id, target))
            flat.source_lengths.append(n)
            flat.target_lengths.append(m)
            flat.weights.append(weight)
    counts.kept = len(flat.weights)
    counts.source_tokens, counts.target_tokens = len(flat.source_ids), len(flat.target_ids)
    progress("read", counts.read, counts.read)
    return flat


def _stack(flat: _Flat) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Chunks of sentence pairs of equal shape as (B, n) and (B, m) token ids, with their weights."""
    source_ids = np.array(flat.source_ids, dtype=np.int32)
    target_ids = np.array(flat.target_ids, dtype=np.int32)
    n, m = np.array(flat.source_lengths, dtype=np.int64), np.array(flat.target_lengths, dtype=np.int64)
    weights = np.array(flat.weights, dtype=np.float32)
    source_starts, target_starts = np.cumsum(n) - n, np.cumsum(m) - m
    order = np.lexsort((n, m))
    changes = np.flatnonzero((np.diff(n[order]) != 0) | (np.diff(m[order]) != 0)) + 1
    for members in np.split(order, changes) if len(order) else []:
        rows, columns = int(m[members[0]]), int(n[members[0]])
        size = max(1, CHUNK_CELLS // max(rows, columns) ** 2)
        for begin in range(0, len(members), size):
            part = members[begin : begin + size]
            yield (
                source_ids[source_starts[part, None] + np.arange(columns)],
                target_ids[target_starts[part, None] + np.arange(rows)],
                weights[part],
            )


def _number_pairs(
    shapes: Iterable[tuple[Ints, Ints, Floats]],
    source_classes: Ints,
    target_classes: Ints,
    progress: Progress,
    executor: Executor,
) -> tuple[list[Chunk], Longs]:
    """Assign ids to the distinct class pairs: first within each group, then over all groups."""
    width = int(target_classes.max(initial=0)) + 1

    def local(group: list[tuple[Ints, Ints, Floats]]) -> tuple[Longs, Ints]:
        keys = [
            source_classes[s][:, None, :].astype(np.int64) * width + target_classes[t][:, :, None] for s, t, _ in group
        ]
        return _unique(np.concatenate([part.ravel() for part in keys]))

    groups = list(_groups(shapes))
    numbered: list[tuple[Longs, Ints]] = []
    for done, result in enumerate(executor.map(local, groups), 1):
        numbered.append(result)
        progress("index", done, len(groups))
    if not groups:
        return [], np.empty(0, dtype=np.int64)
    pair_keys = _unique_sorted(np.sort(np.concatenate([keys for keys, _ in numbered])))
    chunks: list[Chunk] = []
    for group_index, group in enumerate(groups):
        keys, inverse = numbered[group_index]
        numbered[group_index] = (keys[:0], inverse[:0])
        numbers = np.searchsorted(pair_keys, keys).astype(np.int32)[inverse]
        position = 0
        for source, target, weights in group:
            shape = (len(weights), target.shape[1], source.shape[1])
            cells = shape[0] * shape[1] * shape[2]
            part = numbers[position : position + cells].reshape(shape)
            chunks.append(Chunk(source, target, weights, part))
            position += cells
    return chunks, pair_keys


def _groups(shapes: Iterable[tuple[Ints, Ints, Floats]]) -> Iterator[list[tuple[Ints, Ints, Floats]]]:
    group: list[tuple[Ints, Ints, Floats]] = []
    cells = 0
    for shape in shapes:
        group.append(shape)
        cells += shape[0].size * shape[1].shape[1]
        if cells >= GROUP_CELLS:
            yield group
            group, cells = [], 0
    if group:
        yield group


def _unique(keys: Longs) -> tuple[Longs, Ints]:
    order = np.argsort(keys)
    ordered = keys[order]
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    inverse = np.empty(len(keys), dtype=np.int32)
    inverse[order] = np.cumsum(first, dtype=np.int32) - 1
    return ordered[first], inverse


def _unique_sorted(keys: Longs) -> Longs:
    first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]
