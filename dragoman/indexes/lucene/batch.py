"""Queries over several indexes of this process in one call of Java, which takes as long as a small search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import cores
from dragoman.deadline import remaining
from dragoman.indexes.bm25 import Parts
from dragoman.indexes.java.jvm import java_class
from dragoman.indexes.lucene.queries import MOST_HITS, PreparedQuery, Scored, read_parts, read_scored

__all__ = ["score_batch", "score_documents_batch"]

_LONGEST_SECONDS = 30.0
_SHARE_OF_TIME = 0.5
"""Of the time that is left, what the call may take where an index has several parts: they are then asked one by one,
and a late one is left out."""
_PROCESSORS = cores.available()
_CALLERS = 0
"""Threads that ask now; those that wait for Python's lock to go on count as well."""
_LOCK = Lock()


class _Batch(NamedTuple):
    """What the Java class ``dragoman.Batch`` takes first."""

    searchers: list[Any]
    shapes: NDArray[np.int32]
    parameters: NDArray[np.float64]
    fields: str
    terms: str
    weights: NDArray[np.float64]
    groups: NDArray[np.float64]


def score_batch(
    searchers: Sequence[Sequence[Any]], queries: Sequence[PreparedQuery], k: int, linked: bool = False
) -> list[Scored]:
    """The ``k`` best documents of each query; ``searchers`` are those of the parts of its index.

    If ``linked``, with the scores of these documents for each group of it.

    Call it where Java runs.
    """
    batch = _join(searchers, queries, [0] * len(queries))
    with _free_processors() as processors:
        filters = "\n".join([query.filter for query in queries])
        limits = filters, min(k, MOST_HITS), linked, processors, _milliseconds(searchers)
        answer = np.array(java_class("dragoman.Batch").search(*batch, *limits))
    answers: list[Scored] = []
    start = 0
    for query in queries:
        size = answer[start].item()
        scored = read_scored(answer[start + 1 : start + 1 + size], query)
        start += 1 + size
        if linked:
            size = (len(scored.keys) + 1) * (len(query.groups) // 2 + 1)
            scored = scored._replace(parts=read_parts(answer[start : start + size].view(np.float64), query))
            start += size
        answers.append(scored)
    return answers


def score_documents_batch(
    searchers: Sequence[Sequence[Any]], queries: Sequence[PreparedQuery], keys: Sequence[NDArray[np.int64]]
) -> list[Parts]:
    """The scores of the documents with the ``keys`` of each query; ``searchers`` as for :func:`score_batch`."""
    batch = _join(searchers, queries, list(map(len, keys)))
    joined = np.concatenate(keys) if keys else np.zeros(0, np.int64)
    with _free_processors() as processors:
        answer = np.array(java_class("dragoman.Batch").parts(*batch, joined, processors, _milliseconds(searchers)))
    sizes = [(len(of_query) + 1) * (len(query.groups) // 2 + 1) for query, of_query in zip(queries, keys, strict=True)]
    starts = list(accumulate(sizes, initial=0))
    return [
        read_parts(answer[start:end], query) for query, start, end in zip(queries, starts, starts[1:], strict=False)
    ]


def _join(searchers: Sequence[Sequence[Any]], queries: Sequence[PreparedQuery], keys: Sequence[int]) -> _Batch:
    shapes = [
        (len(parts), len(query.terms), len(query.groups) // 2, count)
        for parts, query, count in zip(searchers, queries, keys, strict=True)
    ]
    return _Batch(
        [searcher for parts in searchers for searcher in parts],
        np.array(shapes, np.int32).ravel(),
        np.array([(query.structured, query.k1, query.b) for query in queries], np.float64).ravel(),
        "\n".join([query.field for query in queries]),
        "\n".join([query.lines for query in queries if query.terms]),
        np.concatenate([query.weights for query in queries]),
        np.concatenate([query.groups for query in queries]),
    )


@contextmanager
def _free_processors() -> Iterator[int]:
    """How many processors are free for the parts of an index, beside other callers' searches.

    Where there is none, whoever asks searches all parts: threads that wake each other would cost more than they save.
    """
    global _CALLERS
    with _LOCK:
        _CALLERS += 1
        free = max(0, _PROCESSORS + 1 - _CALLERS)
    try:
        yield free
    finally:
        with _LOCK:
            _CALLERS -= 1


def _milliseconds(searchers: Sequence[Sequence[Any]]) -> int:
    share = _SHARE_OF_TIME if max(map(len, searchers)) > 1 else 1.0
    return math.ceil(1000 * share * remaining(_LONGEST_SECONDS))
