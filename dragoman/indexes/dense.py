"""A dense index: passage vectors of a collection, searched by inner product.

The search is exact (FAISS's ``IndexFlatIP``): every passage is compared with the query. A document's score is
that of its best passage. The file is derived data; a checksum tells a damaged one from a whole one.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from dragoman.files.atomic import atomic_file
from dragoman.indexes.errors import IndexCorrupt, IndexFault
from dragoman.indexes.passages import Span

__all__ = ["DenseHeader", "DenseHit", "DenseIndex", "Embedded", "OtherEncoder", "read_header"]

FORMAT = "1"
"""Version of the file and of the rule that makes passages; a file of another version is made anew."""

_SPARE = 1024
_FEW = 64

Vectors = NDArray[np.float32]


class OtherEncoder(IndexFault):
    """The vectors were made by another encoder, or for another collection."""


@dataclass(frozen=True, slots=True)
class DenseHeader:
    """What a file's vectors were made of: a collection up to a generation, by an encoder of a certain width."""

    collection: str
    encoder: str
    width: int
    generation: int


class Embedded(NamedTuple):
    """A document's passages: ``vectors`` is (passages, width), ``generation`` that of the text they stand for."""

    key: int
    generation: int
    spans: Sequence[Span]
    vectors: Vectors


class DenseHit(NamedTuple):
    """A document by its database key, with its best passage ``text[start:end]`` and that one's inner product."""

    key: int
    score: float
    generation: int
    start: int
    end: int


class DenseIndex:
    """The vectors of one collection, in memory. Safe from any thread."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lock = RLock()
        self._documents: dict[int, tuple[int, range]] = {}
        self._clear()

    def _clear(self) -> None:
        import faiss

        self._flat = faiss.IndexFlatIP(self.width)
        self._index = faiss.IndexIDMap(self._flat)
        self._keys = array("q")
        self._starts = array("q")
        self._ends = array("q")

    def __len__(self) -> int:
        """How many passages there are."""
        return int(self._index.ntotal)

    @property
    def generations(self) -> Mapping[int, int]:
        """The generation of each document by its key, those without any passage included."""
        with self._lock:
            return {key: generation for key, (generation, _) in self._documents.items()}

    def generation(self, key: int) -> int | None:
        """The generation of one document; None for one that is not there."""
        with self._lock:
            found = self._documents.get(key)
        return None if found is None else found[0]

    @property
    def documents(self) -> int:
        """How many documents there are, those without any passage included."""
        return len(self._documents)

    def put(self, documents: Sequence[Embedded]) -> None:
        """Add documents; a key that is there is replaced, as is one that comes twice.

        Raises:
            ValueError: vectors of another shape, or with a value that is not finite; nothing is changed then.
        """
        latest = {document.key: document for document in documents}
        for document in latest.values():
            if document.vectors.shape != (len(document.spans), self.width):
                raise ValueError(
                    f"document {document.key}: vectors {document.vectors.shape} for {len(document.spans)} passages"
                    f" of width {self.width}"
                )
            if not np.isfinite(document.vectors).all():
                raise ValueError(f"document {document.key}: a vector is not finite")
        with self._lock:
            self.delete(latest)
            self._add(latest.values())

    def delete(self, keys: Collection[int]) -> None:
        """Forget documents; keys that are not there are ignored."""
        import faiss

        with self._lock:
            places = [self._documents.pop(key)[1] for key in keys if key in self._documents]
            passages = [np.arange(place.start, place.stop, dtype=np.int64) for place in places if place]
            if passages:
                self._index.remove_ids(faiss.IDSelectorBatch(np.concatenate(passages)))
            if len(self._keys) > 2 * len(self) + _SPARE:
                self._compact()

    def search(self, vector: Vectors, k: int) -> list[DenseHit]:
        """The ``k`` documents whose best passage has the largest inner product with ``vector`` (width,), best
        first, ties by ascending key.

        Raises:
            ValueError: for a ``k`` below 1, or a vector of another width.
        """
        if k < 1:
            raise ValueError(f"k is {k}; it must be at least 1")
        if vector.shape != (self.width,):
            raise ValueError(f"the query's vector is {vector.shape}, not ({self.width},)")
        import faiss

        faiss.omp_set_num_threads(1)  # of this thread: one query is not worth a team of them
        query = np.ascontiguousarray(vector, dtype=np.float32)[None]
        with self._lock:
            total, wanted = len(self), min(len(self), max(4 * k, _FEW))
            while True:
                if not wanted:
                    return []
                scores, ids = self._index.search(query, wanted)
                best = self._best(scores[0].tolist(), ids[0].tolist())
                # ties of the last place may go on after what was fetched
                if wanted == total or (len(best) >= k and best[k - 1][1] > scores[0, -1]):
                    return [
                        DenseHit(key, score, self._documents[key][0], self._starts[id], self._ends[id])
                        for key, score, id in best[:k]
                    ]
                wanted = min(total, 4 * wanted)

    def _best(self, scores: Iterable[float], ids: Iterable[int]) -> list[tuple[int, float, int]]:
        """Each document's key with the score and the number of its best passage, best first."""
        found: dict[int, tuple[float, int]] = {}
        for score, id in zip(scores, ids, strict=True):
            key = self._keys[id]
            known = found.get(key)
            if known is None or (score == known[0] and id < known[1]):
                found[key] = (score, id)
        return sorted(((key, score, id) for key, (score, id) in found.items()), key=lambda one: (-one[1], one[0]))

    def _add(self, documents: Iterable[Embedded]) -> None:
        vectors: list[Vectors] = []
        first = len(self._keys)
        for document in documents:
            start = len(self._keys)
            for low, high in document.spans:
                self._keys.append(document.key)
                self._starts.append(low)
                self._ends.append(high)
            self._documents[document.key] = (document.generation, range(start, len(self._keys)))
            vectors.append(document.vectors)
        if len(self._keys) > first:
            together = np.ascontiguousarray(np.concatenate(vectors), dtype=np.float32)
            self._index.add_with_ids(together, np.arange(first, len(self._keys), dtype=np.int64))

    def _compact(self) -> None:
        """Number the passages anew, so that those of replaced documents take no place."""
        tensors = self._tensors()
        self._clear()
        self._fill(tensors)

    def _tensors(self) -> dict[str, NDArray[Any]]:
        """Documents in the order of their passages; ``counts`` says how many passages each has."""
        import faiss

        with self._lock:
            ids = faiss.vector_to_array(self._index.id_map)
            size = len(ids) * self.width
            flat = faiss.rev_swig_ptr(self._flat.get_xb(), size) if size else np.zeros(0, np.float32)
            ordered = sorted(self._documents.items(), key=lambda item: item[1][1].start)
            return {
                "vectors": np.array(flat, dtype=np.float32).reshape(-1, self.width),
                "spans": np.array([(self._starts[id], self._ends[id]) for id in ids.tolist()], dtype=np.int64).reshape(
                    -1, 2
                ),
                "keys": np.array([key for key, _ in ordered], dtype=np.int64),
                "generations": np.array([generation for _, (generation, _) in ordered], dtype=np.int64),
                "counts": np.array([len(place) for _, (_, place) in ordered], dtype=np.int64),
            }

    def _fill(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        spans = [(low, high) for low, high in tensors["spans"].tolist()]
        ends = np.cumsum(tensors["counts"]).tolist()
        rows = zip(tensors["keys"].tolist(), tensors["generations"].tolist(), [0, *ends], ends, strict=False)
        self._documents = {}
        self._add(
            Embedded(key, generation, spans[low:high], tensors["vectors"][low:high])
            for key, generation, low, high in rows
        )

    def save(self, path: Path, header: DenseHeader) -> None:
        """Write everything to ``path`` in one step: a reader finds the old file or the new one, whole.

        Raises:
            OSError: it cannot be written, as on a full disk.
        """
        tensors = self._tensors()
        metadata = _metadata(header)
        metadata["checksum"] = _checksum(metadata, tensors)
        try:
            with atomic_file(path) as unfinished:
                save_file(tensors, unfinished, metadata)
        except SafetensorError as fault:  # what the library makes of an error of the system's
            raise OSError(str(fault)) from fault

    @classmethod
    def load(cls, path: Path, collection: str, encoder: str) -> tuple[DenseIndex, DenseHeader]:
        """Read what :meth:`save` wrote.

        Raises:
            IndexCorrupt: the file is damaged, cut off, or of another format.
            OtherEncoder: the vectors are of another encoder or collection.
            FileNotFoundError: there is none.
        """
        header, tensors = _read(path, collection, encoder)
        index = cls(header.width)
        index._fill(tensors)
        return index, header


def read_header(path: Path) -> DenseHeader:
    """The header of a file alone, which costs little; its vectors may still turn out to be damaged.

    Raises:
        IndexCorrupt: it cannot be read.
        FileNotFoundError: there is none.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        with safe_open(path, "np") as file:
            return _header(path, file.metadata() or {})
    except (SafetensorError, OSError) as fault:
        raise IndexCorrupt(path, f"cannot be read: {fault}") from fault


def _read(path: Path, collection: str, encoder: str) -> tuple[DenseHeader, dict[str, NDArray[Any]]]:
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        with safe_open(path, "np") as file:
            metadata = dict(file.metadata() or {})
            header = _header(path, metadata)
            if header.collection != collection or header.encoder != encoder:
                raise OtherEncoder(path, f"holds vectors of {header.encoder} for collection {header.collection}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as fault:
        raise IndexCorrupt(path, f"cannot be read: {fault}") from fault
    if metadata.pop("checksum", "") != _checksum(metadata, tensors):
        raise IndexCorrupt(path, "its checksum is wrong")
    if tensors["vectors"].shape[1:] != (header.width,):
        raise IndexCorrupt(path, "its vectors have another width")
    return header, tensors


def _metadata(header: DenseHeader) -> dict[str, str]:
    return {
        "format": FORMAT,
        "collection": header.collection,
        "encoder": header.encoder,
        "width": str(header.width),
        "generation": str(header.generation),
    }


def _header(path: Path, metadata: Mapping[str, str]) -> DenseHeader:
    if metadata.get("format") != FORMAT:
        raise IndexCorrupt(path, f"is of format {metadata.get('format')!r}, not {FORMAT!r}")
    try:
        return DenseHeader(
            metadata["collection"], metadata["encoder"], int(metadata["width"]), int(metadata["generation"])
        )
    except (KeyError, ValueError) as fault:
        raise IndexCorrupt(path, f"its header is damaged: {fault}") from fault


def _checksum(metadata: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.data)
    return digest.hexdigest()
