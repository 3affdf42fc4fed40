"""Contextual states of subwords in few bytes: product quantisation (Jégou, Douze & Schmid 2011) by faiss.

A codec belongs to one layer of one encoder. Its centroids were trained once on text in many languages, so codes of all
collections compare and a collection needs no training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from dragoman.files.atomic import atomic_file
from dragoman.indexes.dense.coded_maxima import largest_sums
from dragoman.installation import needed_for

__all__ = ["SHIPPED", "StateCodec", "shipped_codec"]

SHIPPED = Path(__file__).parent / "codebooks"
_BITS = 8
_TRAINING_ITERATIONS = 25
_LEAST_VARIANCE = 1e-9

Floats = NDArray[np.floating[Any]]
States = NDArray[np.float32]
Codes = NDArray[np.uint8]


class StateCodec:
    """Encodes unit states (subwords, width) of an encoder's ``layer`` as codes (subwords, size). Thread-safe.

    States are centred and rotated before they are cut into parts, each of which is coded by its nearest centroid.
    """

    def __init__(self, centroids: Floats, mean: Floats, rotation: Floats, layer: int) -> None:
        """``centroids`` is (size, 256, width / size), ``mean`` (width,), ``rotation`` (width, width) orthonormal.

        Raises:
            ValueError: if the shapes do not fit, or a value is not finite.
        """
        with needed_for("search by meaning"):
            import faiss

        if centroids.ndim != 3 or centroids.shape[1] != 2**_BITS:
            raise ValueError(f"centroids {centroids.shape} are not those of codes of {_BITS} bits")
        self.size, self.width, self.layer = centroids.shape[0], centroids.shape[0] * centroids.shape[2], layer
        if mean.shape != (self.width,) or rotation.shape != (self.width, self.width):
            raise ValueError(f"mean {mean.shape} and rotation {rotation.shape} do not fit the width {self.width}")
        if not all(np.isfinite(part).all() for part in (centroids, mean, rotation)):
            raise ValueError("a value is not finite")
        self.centroids, self._mean, self._rotation = (
            np.ascontiguousarray(part, np.float32) for part in (centroids, mean, rotation)
        )
        parts = (self.centroids, self._mean, self._rotation)
        self.checksum = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
        """Identifies the codec: codes of another one mean something else."""
        self._quantizer: Any = faiss.ProductQuantizer(self.width, self.size, _BITS)
        faiss.copy_array_to_vector(self.centroids.ravel(), self._quantizer.centroids)

    @classmethod
    def train(cls, states: States, size: int, layer: int, seed: int = 1) -> StateCodec:
        """A codec of ``size`` bytes a subword from ``states`` (subwords, width).

        Principal axes are shared out so that the variances of the parts have about the same product, the parametric
        form of optimised product quantisation (Ge et al. 2013); centroids are made by k-means.
        """
        import faiss

        mean = states.mean(0)
        rotation = _balanced_axes(states - mean, size)
        quantizer = faiss.ProductQuantizer(states.shape[1], size, _BITS)
        quantizer.cp.niter, quantizer.cp.seed = _TRAINING_ITERATIONS, seed
        quantizer.cp.max_points_per_centroid = len(states)
        quantizer.train(np.ascontiguousarray((states - mean) @ rotation.T, np.float32))
        centroids = faiss.vector_to_array(quantizer.centroids).reshape(size, 2**_BITS, -1)
        return cls(centroids, mean, rotation, layer)

    def encode(self, states: States) -> Codes:
        """The codes (subwords, size) of states (subwords, width)."""
        if not len(states):
            return np.zeros((0, self.size), np.uint8)
        import faiss

        faiss.omp_set_num_threads(1)  # per thread: the cores beside this one are others'
        rotated = np.ascontiguousarray((states - self._mean) @ self._rotation.T, np.float32)
        codes: Codes = self._quantizer.compute_codes(rotated)
        return codes

    def decode(self, codes: Codes) -> States:
        """The states (subwords, width) of codes (subwords, size), of about unit length."""
        if not len(codes):
            return np.zeros((0, self.width), np.float32)
        decoded: States = self._quantizer.decode(np.ascontiguousarray(codes)) @ self._rotation + self._mean
        return decoded

    def maxima(self, codes: Codes, lengths: Sequence[int], states: States) -> NDArray[np.float32]:
        """The largest inner product (documents, others) of each document's coded states with each of the other states.

        There is at least one document, and each has ``lengths`` subwords, at least 1; ``states`` is (others, width).
        The products of all centroids are looked up by the codes, and added up part by part (asymmetric distances, as in
        the paper): a document's are the same whatever others are beside it.
        """
        rotated = (states @ self._rotation.T).reshape(len(states), self.size, self.width // self.size)
        tables = self.centroids @ rotated.transpose(1, 2, 0)
        largest = largest_sums(tables, codes, lengths)
        return largest + states @ self._mean

    def save(self, path: Path) -> None:
        """Write the codec to ``path`` atomically, in 16 bits."""
        parts = {"centroids": self.centroids, "mean": self._mean, "rotation": self._rotation}
        with atomic_file(path) as unfinished:
            halves = {name: part.astype(np.float16) for name, part in parts.items()}
            save_file(halves, unfinished, {"layer": str(self.layer)})

    @classmethod
    def load(cls, path: Path) -> StateCodec:
        """Read a codec written by :meth:`save`.

        Raises:
            ValueError: if the file is damaged.
        """
        try:
            with safe_open(path, "np") as file:
                parts = {name: file.get_tensor(name) for name in ("centroids", "mean", "rotation")}
                return cls(**parts, layer=int(file.metadata()["layer"]))
        except (SafetensorError, KeyError, TypeError, ValueError) as fault:
            raise ValueError(f"{path} is not a codec: {fault}") from fault


def _balanced_axes(states: States, parts: int) -> NDArray[np.float32]:
    """The principal axes (width, width), in the order of the parts that they are shared out to."""
    variances, axes = np.linalg.eigh(np.cov(states.T))
    room = states.shape[1] // parts
    shared: list[list[int]] = [[] for _ in range(parts)]
    logs = np.zeros(parts)
    for axis in np.argsort(-variances).tolist():
        free = [part for part in range(parts) if len(shared[part]) < room]
        chosen = min(free, key=lambda part: logs[part])
        shared[chosen].append(axis)
        logs[chosen] += np.log(max(float(variances[axis]), _LEAST_VARIANCE))
    rotation: NDArray[np.float32] = axes[:, [axis for part in shared for axis in part]].T.astype(np.float32)
    return rotation


def shipped_codec(encoder: str) -> StateCodec | None:
    """The codec that comes with the package for an encoder; None if there is none."""
    paths = {path.stem: path for path in SHIPPED.glob("*.safetensors")}
    return StateCodec.load(paths[encoder]) if encoder in paths else None
