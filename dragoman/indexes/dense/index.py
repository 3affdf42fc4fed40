"""A dense index: passage vectors of a collection, searched by inner product.

The search is exact (FAISS's ``IndexFlatIP``): every passage is compared with the query. A document has
the score of its best passage. Vectors of a passage's sentences, in 8 bits, tell which of them matched.
The states of its subwords, quantised, are kept for late interaction, as long as they take little memory.
The file is derived data and carries a checksum.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.dense.file import DenseHeader, read, write
from dragoman.indexes.dense.parts import PassageRows, Sentences
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.installation import needed_for
from dragoman.lexicon.text.passages import Span

__all__ = ["DenseHit", "DenseIndex", "Embedded"]

logger = logging.getLogger("dragoman")

_SPARE_SLOTS = 1024
_MIN_FETCHED = 64
_COMPARED_PASSAGES = 2
"""The best passages of a document, by their vectors, whose subwords are compared with the query's."""
_COMPARED_SUBWORDS = 200
"""The second one is compared only if the two have at most so many."""

Vectors = NDArray[np.float32]


class Embedded(NamedTuple):
    """A document's passages: ``vectors`` is (passages, width), ``generation`` is that of the encoded text.

    ``sentences`` has the sentences of all passages with several, as indices of passages and spans in the text, and
    ``sentence_vectors`` (sentences, width) their vectors.
    """

    key: int
    generation: int
    spans: Sequence[Span]
    vectors: Vectors
    sentences: Sequence[tuple[int, int, int]] = ()
    sentence_vectors: Vectors | None = None
    state_counts: Sequence[int] = ()
    """The number of subwords of each passage; empty where no states are given."""
    state_codes: NDArray[np.uint8] | None = None
    """The quantised states (subwords, size) of all passages."""


class DenseHit(NamedTuple):
    """A document by its database key, its best passage ``text[start:end]`` and that passage's inner product.

    ``sentence`` is the span of the passage's best sentence; that of the passage if it is a single one.
    """

    key: int
    score: float
    generation: int
    start: int
    end: int
    sentence: Span


class DenseIndex:
    """The vectors of one collection, in memory. Thread-safe."""

    def __init__(self, width: int, codec: StateCodec | None = None, most_state_bytes: float = 0.0) -> None:
        """``codec`` is that of the documents' states, which are kept while they take ``most_state_bytes``."""
        self.width = width
        self.codec = codec
        self._most_state_bytes = most_state_bytes
        self._lock = RLock()
        self._documents: dict[int, tuple[int, range]] = {}
        self._clear()

    def _clear(self) -> None:
        with needed_for("search by meaning"):
            import faiss

        self._flat = faiss.IndexFlatIP(self.width)
        self._index = faiss.IndexIDMap(self._flat)
        self._keys = array("q")
        self._starts = array("q")
        self._ends = array("q")
        self._sentences = Sentences(self.width)
        self._states = PassageRows(self.codec.size) if self.codec and self._most_state_bytes > 0 else None
        self._positions: NDArray[np.int64] | None = None
        """The ids of the passages in FAISS's order, which is ascending; None if they have changed."""

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
            entry = self._documents.get(key)
        return None if entry is None else entry[0]

    @property
    def documents(self) -> int:
        """The number of documents, including those without passages."""
        return len(self._documents)

    @property
    def keeps_states(self) -> bool:
        """Whether the states of all documents are kept. Once they take too much memory, none are."""
        return self._states is not None

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
            vector_count = 0 if document.sentence_vectors is None else len(document.sentence_vectors)
            if vector_count != len(document.sentences):
                raise ValueError(
                    f"document {document.key}: {vector_count} vectors for {len(document.sentences)} sentences"
                )
            coded = document.state_codes
            if coded is not None and (
                self.codec is None
                or len(document.state_counts) != len(document.spans)
                or coded.shape != (sum(document.state_counts), self.codec.size)
            ):
                raise ValueError(f"document {document.key}: codes {coded.shape} of states do not fit its passages")
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
                self._positions = None
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
                    return [self._hit(vector, *entry) for entry in best[:k]]
                fetched = min(total, 4 * fetched)

    def score(self, vector: Vectors, keys: Iterable[int]) -> list[DenseHit]:
        """Documents by their keys, with the inner products of their best passages; without those that have none."""
        with self._lock:
            present = [(key, self._documents[key][1]) for key in keys if key in self._documents]
            ids = np.array([id for _, passages in present for id in passages], np.int64)
            if not len(ids):
                return []
            scores = _inner_products(self._rows()[np.searchsorted(self._ids(), ids)], vector)
            order = np.argsort(-scores, kind="stable")
            best = self._best(scores[order].tolist(), ids[order].tolist())
            return [self._hit(vector, *entry) for entry in best]

    def maxsim(self, vector: Vectors, states: Vectors, keys: Sequence[int]) -> Vectors | None:
        """MaxSim (keys, subwords): the largest inner product of a query's unit ``states`` with a document's coded ones.

        The states are (subwords, width). Of a document with many passages, the best ones by the query's ``vector``
        (width,) are compared. A row is NaN for a document that is not there or has no subwords. None if states are
        not kept.
        """
        maxima = np.full((len(keys), len(states)), np.nan, np.float32)
        with self._lock:
            if self._states is None or self.codec is None:
                return None
            chosen = [self._passages_to_compare(vector, key) for key in keys]
            codes = self._states.rows([passage for passages in chosen for passage in passages])
            lengths = [int(self._states.counts(passages).sum()) for passages in chosen]
        rows = [row for row, length in enumerate(lengths) if length]
        if rows and len(states):
            starts = np.cumsum([0, *(lengths[row] for row in rows)])[:-1]
            cosines = self.codec.cosines(codes, states)
            maxima[rows] = np.maximum.reduceat(cosines, starts, axis=0)
        return maxima

    def _passages_to_compare(self, vector: Vectors, key: int) -> Sequence[int]:
        """The passages of a document that are compared subword by subword."""
        ids = self._documents[key][1] if key in self._documents else range(0)
        if len(ids) <= 1 or self._states is None:
            return ids
        rows = self._rows()[np.searchsorted(self._ids(), np.arange(ids.start, ids.stop))]
        scores = _inner_products(rows, vector)
        best = [ids.start + int(place) for place in np.argsort(-scores, kind="stable")[:_COMPARED_PASSAGES]]
        return best if self._states.counts(best).sum() <= _COMPARED_SUBWORDS else best[:1]

    def _hit(self, vector: Vectors, key: int, score: float, id: int) -> DenseHit:
        span = (self._starts[id], self._ends[id])
        sentence = self._sentences.best(id, vector) or span
        return DenseHit(key, score, self._documents[key][0], *span, sentence)

    def _ids(self) -> NDArray[np.int64]:
        import faiss

        if self._positions is None:
            self._positions = faiss.vector_to_array(self._index.id_map)
        return self._positions

    def _rows(self) -> Vectors:
        """The vectors (passages, width) in FAISS's memory."""
        import faiss

        size = len(self) * self.width
        flat: Vectors = faiss.rev_swig_ptr(self._flat.get_xb(), size) if size else np.zeros(0, np.float32)
        return flat.reshape(-1, self.width)

    def _best(self, scores: Iterable[float], ids: Iterable[int]) -> list[tuple[int, float, int]]:
        """Each document's key with the score and id of its best passage, best first, of ``scores`` best first."""
        best: dict[int, tuple[float, int]] = {}
        for score, id in zip(scores, ids, strict=True):
            key = self._keys[id]
            previous = best.get(key)
            if previous is None or (score == previous[0] and id < previous[1]):
                best[key] = (score, id)
        return sorted(((key, score, id) for key, (score, id) in best.items()), key=lambda hit: (-hit[1], hit[0]))

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
            ids = range(start, len(self._keys))
            if document.sentence_vectors is not None and len(document.sentences):
                counts = np.bincount([passage for passage, _, _ in document.sentences], minlength=len(ids)).tolist()
                spans = [(low, high) for _, low, high in document.sentences]
                self._sentences.add(ids, counts, spans, document.sentence_vectors)
            self._add_states(ids, document.state_counts, document.state_codes)
        if len(self._keys) > first:
            stacked = np.ascontiguousarray(np.concatenate(vectors), dtype=np.float32)
            self._index.add_with_ids(stacked, np.arange(first, len(self._keys), dtype=np.int64))
            self._positions = None

    def _add_states(self, ids: range, counts: Sequence[int], codes: NDArray[np.uint8] | None) -> None:
        if self._states is None or not ids:
            return
        if codes is None:
            self._states = None
            return
        self._states.add(ids, counts, codes)
        if self._states.nbytes > self._most_state_bytes:
            self._states = self._compact_states(self._states)

    def _compact_states(self, states: PassageRows) -> PassageRows | None:
        """The states without those of deleted passages; None if they still take too much memory."""
        present = [id for _, ids in self._documents.values() for id in ids]
        if int(states.counts(present).sum()) * states.size > self._most_state_bytes:
            logger.warning("states of subwords take more than %.0f bytes and are dropped", self._most_state_bytes)
            return None
        compacted = PassageRows(states.size)
        compacted.add(present, states.counts(present).tolist(), states.rows(present))
        return compacted

    def _compact(self) -> None:
        """Renumber the passages, which frees the ids of replaced documents."""
        tensors = self._tensors()
        self._clear()
        self._fill(tensors)

    def _tensors(self) -> dict[str, NDArray[Any]]:
        """The index as arrays: documents in the order of their passages, with ``counts`` passages each.

        Of each passage ``sentence_counts``, and of each sentence its span and its vector in 8 bits; the same of its
        subwords' states, if they are kept.
        """
        with self._lock:
            ids = self._ids().tolist()
            ordered = sorted(self._documents.items(), key=lambda entry: entry[1][1].start)
            counts, spans, codes = self._sentences.of(ids)
            states: dict[str, NDArray[Any]] = {}
            if self._states is not None:
                states = {"state_counts": self._states.counts(ids), "state_codes": self._states.rows(ids)}
            return states | {
                "vectors": self._rows().astype(np.float32, copy=True),
                "spans": np.array([(self._starts[id], self._ends[id]) for id in ids], dtype=np.int64).reshape(-1, 2),
                "keys": np.array([key for key, _ in ordered], dtype=np.int64),
                "generations": np.array([generation for _, (generation, _) in ordered], dtype=np.int64),
                "counts": np.array([len(ids) for _, (_, ids) in ordered], dtype=np.int64),
                "sentence_counts": counts,
                "sentence_spans": spans,
                "sentence_codes": codes,
            }

    def _fill(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Fill an empty index; its passages are numbered in the order of the arrays."""
        spans = [(low, high) for low, high in tensors["spans"].tolist()]
        ends = np.cumsum(tensors["counts"]).tolist()
        rows = zip(tensors["keys"].tolist(), tensors["generations"].tolist(), [0, *ends], ends, strict=False)
        self._documents = {}
        states, self._states = self._states, None
        self._add(
            Embedded(key, generation, spans[low:high], tensors["vectors"][low:high])
            for key, generation, low, high in rows
        )
        ids = range(len(spans))
        counts = tensors["sentence_counts"].tolist()
        self._sentences.add_codes(ids, counts, tensors["sentence_spans"].tolist(), tensors["sentence_codes"])
        if states is not None and "state_codes" in tensors:
            self._states = states
            self._add_states(ids, tensors["state_counts"].tolist(), tensors["state_codes"])

    def save(self, path: Path, header: DenseHeader) -> None:
        """Write the index to ``path`` atomically: readers see the complete old file or the complete new one.

        Raises:
            OSError: if the file cannot be written, for example on a full disk.
        """
        tensors = self._tensors()
        write(path, replace(header, states="state_codes" in tensors), tensors)

    @classmethod
    def load(
        cls, path: Path, collection: str, encoder: str, codec: StateCodec | None = None, most_state_bytes: float = 0.0
    ) -> tuple[DenseIndex, DenseHeader]:
        """Read a file written by :meth:`save`; the other arguments as for a new index.

        Raises:
            IndexCorrupt: if the file is damaged, truncated, or of another format.
            OtherEncoder: if the vectors belong to another encoder or collection.
            FileNotFoundError: if there is no file.
        """
        header, tensors = read(path, collection, encoder)
        index = cls(header.width, codec, most_state_bytes)
        index._fill(tensors)
        return index, header


def _inner_products(rows: Vectors, vector: Vectors) -> Vectors:
    """The inner product of each row with a vector; unlike a product of matrices, whatever rows there are beside it."""
    products: Vectors = np.einsum("ij,j->i", rows, vector)
    return products
