"""The forms in which vectors are sent: cut to a size, as numbers, as bytes, or quantised."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.models.encoding import EncoderInfo

Vectors = NDArray[np.float32]

_DECIMALS = 8
"""Of numbers in JSON: more than 32 bits hold of the numbers of a unit vector."""


def cut(vectors: Vectors, info: EncoderInfo, size: int | None, field: str) -> Vectors:
    """The first ``size`` numbers of each vector, of length 1 again where the encoder's vectors have it.

    Raises:
        InvalidRequest: the encoder was not trained to be cut to this size.
    """
    width = vectors.shape[1]
    if size is None or size == width:
        return vectors
    if size not in info.sizes:
        sizes = ", ".join(map(str, (*info.sizes, width)))
        raise InvalidRequest(f"{field}: the encoder was not trained to have its vectors cut to {size}; it has {sizes}")
    shorter = vectors[:, :size]
    return scale_to_unit(shorter) if info.normalized else shorter


def scale_to_unit(vectors: Vectors) -> Vectors:
    """The vectors, of length 1."""
    scaled: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled


def list_numbers(vectors: Vectors) -> list[list[float]]:
    """The vectors as lists."""
    rows: list[list[float]] = vectors.astype(np.float64).round(_DECIMALS).tolist()
    return rows


def pack_floats(vectors: Vectors) -> list[str]:
    """Each vector as little-endian 32-bit floats in base64."""
    return [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]


def _int8(vectors: Vectors) -> list[list[int]]:
    greatest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    rows: list[list[int]] = np.rint(127 * vectors / greatest).astype(np.int64).tolist()
    return rows


def _uint8(vectors: Vectors) -> list[list[int]]:
    return [[figure + 128 for figure in row] for row in _int8(vectors)]


def _ubinary(vectors: Vectors) -> list[list[int]]:
    rows: list[list[int]] = np.packbits(vectors > 0, axis=1).astype(np.int64).tolist()
    return rows


def _binary(vectors: Vectors) -> list[list[int]]:
    return [[figure - 128 for figure in row] for row in _ubinary(vectors)]


FORMS: dict[str, Callable[[Vectors], Any]] = {
    "float": list_numbers,
    "int8": _int8,
    "uint8": _uint8,
    "binary": _binary,
    "ubinary": _ubinary,
    "base64": pack_floats,
}
"""Cohere's types. In 8 bits each vector is scaled by its greatest number, which keeps cosines; a bit is a sign."""
