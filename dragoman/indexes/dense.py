"""A dense index: passage vectors of a collection, searched by inner product.

The search is exact (FAISS's ``IndexFlatIP``): every passage is compared with the query. A document has
the score of its best passage. The file is derived data and carries a checksum.
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
"""Version of the file format and of the passage splitting; a file of another version is rebuilt."""

_SPARE_SLOTS = 1024
_MIN_FETCHED = 64

Vectors = NDArray[np.float32]


class OtherEncoder(IndexFault):
    """The vectors come from another encoder or another collection."""


@dataclass(frozen=True, slots=True)
class DenseHeader:
    """What a file's vectors represent: a collection up to a generation, encoded by ``encoder`` at ``width``."""

    collection: str
    encoder: str
    width: int
    generation: int


class Embedded(NamedTuple):
    """A document's passages: ``vectors`` is (passages, width), ``generation`` is that of the encoded text."""

    key: int
    generation: int
    spans: Sequence[Span]
    vectors: Vectors


class DenseHit(NamedTuple):
    """A document by its database key, its best passage ``text[start:end]`` and that passage's inner product."""

    key: int
    score: float
    generation: int
    start: int
    end: int


class DenseIndex:
    """The vectors of one collection, in memory. Thread-safe."""

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
        """The number of passages."""
        return int(self._index.ntotal)

    @property
    def generations(self) -> Mapping[int, int]:
        """The generation of each document by its key, including documents without passages."""
        with self._lock:
            return {key: generation for key, (generation, _) in self._documents.items()}

    def generation(self, key: int) -> int | None:
        """The generation of one document; None if it is not in the index."""
        with self._lock:
            found = self._documents.get(key)
        return None if found is None else found[0]

    @property
    def documents(self) -> int:
        """The number of documents, including those without passages."""
        return len(self._documents)

    def put(self, documents: Sequence[Embedded]) -> None:
        """Add documents. A document with a known key is replaced; of a repeated key the last one counts.

        Raises:
            ValueError: if vectors have the wrong shape or a non-finite value; the index is then unchanged.
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
        """Delete documents; unknown keys are ignored."""
        import faiss

        with self._lock:
            ranges = [self._documents.pop(key)[1] for key in keys if key in self._documents]
            passages = [np.arange(ids.start, ids.stop, dtype=np.int64) for ids in ranges if ids]
            if passages:
                self._index.remove_ids(faiss.IDSelectorBatch(np.concatenate(passages)))
            if len(self._keys) > 2 * len(self) + _SPARE_SLOTS:
                self._compact()

    def search(self, vector: Vectors, k: int) -> list[DenseHit]:
        """The ``k`` documents whose best passage has the largest inner product with ``vector`` (width,), best
        first, ties by ascending key.

        Raises:
            ValueError: if ``k`` is below 1 or the vector has another width.
        """
        if k < 1:
            raise ValueError(f"k is {k}; it must be at least 1")
        if vector.shape != (self.width,):
            raise ValueError(f"the query vector has shape {vector.shape}, not ({self.width},)")
        import faiss

        faiss.omp_set_num_threads(1)  # per thread; one query does not repay a thread pool
        query = np.ascontiguousarray(vector, dtype=np.float32)[None]
        with self._lock:
            total, fetched = len(self), min(len(self), max(4 * k, _MIN_FETCHED))
            while True:
                if not fetched:
                    return []
                scores, ids = self._index.search(query, fetched)
                best = self._best(scores[0].tolist(), ids[0].tolist())
                # documents tied with the last one may follow the fetched passages
                if fetched == total or (len(best) >= k and best[k - 1][1] > scores[0, -1]):
                    return [
                        DenseHit(key, score, self._documents[key][0], self._starts[id], self._ends[id])
                        for key, score, id in best[:k]
                    ]
                fetched = min(total, 4 * fetched)

    def _best(self, scores: Iterable[float], ids: Iterable[int]) -> list[tuple[int, float, int]]:
        """Each document's key with the score and id of its best passage, best first."""
        found: dict[int, tuple[float, int]] = {}
        for score, id in zip(scores, ids, strict=True):
            key = self._keys[id]
            known = found.get(key)
            if known is None or (score == known[0] and id < known[1]):
                found[key] = (score, id)
        return sorted(((key, score, id) for key, (score, id) in found.items()), key=lambda hit: (-hit[1], hit[0]))

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
            stacked = np.ascontiguousarray(np.concatenate(vectors), dtype=np.float32)
            self._index.add_with_ids(stacked, np.arange(first, len(self._keys), dtype=np.int64))

    def _compact(self) -> None:
        """Renumber the passages, which frees the ids of replaced documents."""
        tensors = self._tensors()
        self._clear()
        self._fill(tensors)

    def _tensors(self) -> dict[str, NDArray[Any]]:
        """The index as arrays: documents in the order of their passages, with ``counts`` passages each."""
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
                "counts": np.array([len(ids) for _, (_, ids) in ordered], dtype=np.int64),
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
        """Write the index to ``path`` atomically: readers see the complete old file or the complete new one.

        Raises:
            OSError: if the file cannot be written, for example on a full disk.
        """
        tensors = self._tensors()
        metadata = _metadata(header)
        metadata["checksum"] = _checksum(metadata, tensors)
        try:
            with atomic_file(path) as unfinished:
                save_file(tensors, unfinished, metadata)
        except SafetensorError as fault:  # how the library reports an operating-system error
            raise OSError(str(fault)) from fault

    @classmethod
    def load(cls, path: Path, collection: str, encoder: str) -> tuple[DenseIndex, DenseHeader]:
        """Read a file written by :meth:`save`.

        Raises:
            IndexCorrupt: if the file is damaged, truncated, or of another format.
            OtherEncoder: if the vectors belong to another encoder or collection.
            FileNotFoundError: if there is no file.
        """
        header, tensors = _read(path, collection, encoder)
        index = cls(header.width)
        index._fill(tensors)
        return index, header


def read_header(path: Path) -> DenseHeader:
    """Read only the header of a file. The vectors are not checked.

    Raises:
        IndexCorrupt: if it cannot be read.
        FileNotFoundError: if there is no file.
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
        raise IndexCorrupt(path, "the checksum does not match")
    if tensors["vectors"].shape[1:] != (header.width,):
        raise IndexCorrupt(path, "the vectors have another width than the header says")
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
        raise IndexCorrupt(path, f"the header is damaged: {fault}") from fault


def _checksum(metadata: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.data)
    return digest.hexdigest()
