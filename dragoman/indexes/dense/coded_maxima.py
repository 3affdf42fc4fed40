"""The largest sums of looked-up products for each document, by Java where it runs: one call instead of hundreds.

Each product of numpy lets Python's lock go and waits for it again, which beside other searches takes longer than the
product. Both ways add the same numbers in the same order, so that they make the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import JavaError, JvmUnavailable, java_class

__all__ = ["largest_sums"]

Codes = NDArray[np.uint8]
Floats = NDArray[np.float32]

_ADDED_AT_ONCE = 2_048
"""Subwords whose products stay in a processor's cache while they are added up."""
_COLUMNS = 4
"""Java adds so many columns at a time, or twice as many."""
_MOST_BUFFERS = 4
"""About as many as compute at a time. Java lets go of the memory of others late, so the rest is done by numpy."""


class _Buffers(NamedTuple):
    """Memory of numpy that Java reads where it is, without copies: for codes and for tables."""

    codes: NDArray[np.int8]
    tables: Floats
    codes_in_java: Any
    tables_in_java: Any


_FREE: list[_Buffers | None] = [None] * _MOST_BUFFERS
"""Those that nobody uses; None is one that is not made yet."""


def largest_sums(tables: Floats, codes: Codes, lengths: Sequence[int]) -> Floats:
    """For each document and column the largest of its rows' sums ``sum_p tables[p, codes[row, p]]``.

    ``tables`` is (parts, 256, columns), ``codes`` (rows, parts) the rows of all documents, ``lengths`` of each, at
    least 1.
    """
    if jvm.is_running() and codes.size:
        try:
            free = _FREE.pop()
        except IndexError:
            return _by_numpy(tables, codes, lengths)
        try:
            free = _with_room(free, tables, codes)
            return jvm.run(_by_java, free, tables, codes, lengths)
        except (JavaError, JvmUnavailable):
            pass  # it ran out of memory, or this process is about to end
        finally:
            _FREE.append(free)
    return _by_numpy(tables, codes, lengths)


def _by_java(buffers: _Buffers, tables: Floats, codes: Codes, lengths: Sequence[int]) -> Floats:
    parts, values, columns = tables.shape
    wide = _widen(columns)
    buffers.codes[: codes.size] = codes.reshape(-1).view(np.int8)
    room = buffers.tables[: parts * values * wide].reshape(parts, values, wide)
    room[:, :, :columns] = tables
    maxima = java_class("dragoman.Codes").maxima
    answer = np.array(maxima(buffers.codes_in_java, buffers.tables_in_java, np.array(lengths, np.int32), parts, wide))
    largest: Floats = answer.reshape(len(lengths), wide)[:, :columns]
    return largest


def _by_numpy(tables: Floats, codes: Codes, lengths: Sequence[int]) -> Floats:
    products = np.zeros((len(codes), tables.shape[2]), np.float32)
    part = np.empty((min(len(codes), _ADDED_AT_ONCE), tables.shape[2]), np.float32)
    for start in range(0, len(codes), _ADDED_AT_ONCE):
        some = products[start : start + _ADDED_AT_ONCE]
        looked_up = part[: len(some)]
        for table, column in zip(tables, codes[start : start + _ADDED_AT_ONCE].T.astype(np.intp), strict=True):
            np.take(table, column, axis=0, out=looked_up, mode="clip")  # which does not copy ``out``
            some += looked_up
    ends = np.cumsum(lengths, dtype=np.int64)
    largest: Floats = np.maximum.reduceat(products, ends - np.array(lengths, np.int64))
    return largest


def _widen(columns: int) -> int:
    return -(-columns // _COLUMNS) * _COLUMNS


def _with_room(buffers: _Buffers | None, tables: Floats, codes: Codes) -> _Buffers:
    """Memory for these codes and tables; it is kept for the next search, as it takes long to show it to Java."""
    parts, values, columns = tables.shape
    numbers = parts * values * _widen(columns)
    if buffers is None or len(buffers.codes) < codes.size or len(buffers.tables) < numbers:
        return jvm.run(_make_buffers, codes.size, numbers)
    return buffers


def _make_buffers(codes: int, numbers: int) -> _Buffers:
    """Memory with some room for larger searches."""
    import jpype.nio

    of_codes, of_tables = np.zeros(codes + codes // 2, np.int8), np.zeros(numbers + numbers // 2, np.float32)
    in_java = [jpype.nio.convertToDirectBuffer(array) for array in (of_codes, of_tables)]
    return _Buffers(of_codes, of_tables, *in_java)
