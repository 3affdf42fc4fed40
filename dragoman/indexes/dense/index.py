"""A dense index: passage vectors of a collection, searched by inner product.

The search is exact (FAISS's ``IndexFlatIP``): every passage is compared with the query. A document has
the score of its best passage. Vectors of a passage's sentences, in 8 bits, tell which of them matched.
The states of its subwords, quantised, may be kept for late interaction. What it holds is stored elsewhere.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.dense.nearest import NONE, BestPassages, Keys, Nearest, Passages, Vectors, inner_products
from dragoman.indexes.dense.parts import PassageRows, Sentences
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.installation import needed_for
from dragoman.lexicon.text.passages import Span

__all__ = ["NONE", "DenseHit", "DenseIndex", "Embedded", "Nearest", "StateCodes"]

_SPARE_SLOTS = 1024
_MIN_FETCHED = 64
_ROUNDING = 1e-5
"""By how much FAISS's products may differ from ours, of unit vectors."""
_FEW_PASSAGES = 4_096
"""Passages that a filter leaves of which all products are computed: that takes less than a search among them."""
_COMPARED_PASSAGES = 2
"""The best passages of a document, by their vectors, whose subwords are compared with the query's."""
_COMPARED_SUBWORDS = 200
"""The second one is compared only if the two have at most so many."""

_NO_KEYS = NONE.keys


class Embedded(NamedTuple):
    """A document's passages: ``vectors`` is (passages, width), ``generation`` is that of the encoded text.

    ``sentences`` has the sentences of all passages with several, as indices of passages and spans in the text, and
    ``sentence_codes`` (sentences, width) their vectors in 8 bits: :func:`~dragoman.indexes.dense.parts.to_8_bits`.
    """

    key: int
    generation: int
    spans: Sequence[Span]
    vectors: Vectors
    sentences: Sequence[tuple[int, int, int]] = ()
    sentence_codes: NDArray[np.int8] | None = None
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


class StateCodes(NamedTuple):
    """The coded states of some documents' subwords, of each those of the passages that are compared with a query."""

    rows: list[int]
    """Which of the documents each is, by its place in the question; those without subwords are left out."""
    lengths: list[int]
    """The number of subwords of each, at least 1."""
    codes: NDArray[np.uint8]
    """(subwords, size) of all documents, one after the other."""


class DenseIndex:
    """The vectors of one collection, in memory. Thread-safe."""

    def __init__(self, width: int, codec: StateCodec | None = None) -> None:
        """``codec`` is that of the documents' states, which are kept if there is one."""
        self.width = width
        self._codec = codec
        self._lock = RLock()
        self._documents: dict[int, tuple[int, range]] = {}
        self._clear()

    def _clear(self) -> None:
        with needed_for("search by meaning"):
            import faiss

        self._flat = faiss.IndexFlatIP(self.width)
        self._index = faiss.IndexIDMap(self._flat)
        self._keys = array("q")
        self._generations = array("q")
        self._starts = array("q")
        self._ends = array("q")
        self._sentences = Sentences(self.width)
        self._states = PassageRows(self._codec.size) if self._codec is not None else None
        self._state_count = 0
        self._passages: Passages | None = None
        self._compared: tuple[Vectors, Passages, Vectors] | None = None
        """The last vector that all passages were compared with, the passages, and their products."""

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
    def subwords(self) -> int:
        """The number of the subwords of all documents whose states are kept."""
        with self._lock:
            return 0 if self._states is None else self._state_count

    @property
    def state_bytes(self) -> int:
        """The size of the states of all documents."""
        with self._lock:
            return 0 if self._states is None else self._state_count * self._states.size

    def drop_states(self) -> None:
        """Keep no states from now on."""
        with self._lock:
            self._codec = self._states = None

    def put(self, documents: Sequence[Embedded]) -> None:
        """Add documents. A document with a known key is replaced; of a repeated key the last one counts.

        Raises:
            ValueError: if arrays do not fit each other, or states are kept and not given, or a vector is not finite;
                the index is then unchanged.
        """
        latest = {document.key: document for document in documents}
        with self._lock:
            for document in latest.values():
                self._check(document)
            self.delete(latest)
            self._add(latest.values())

    def _check(self, document: Embedded) -> None:
        passages = len(document.spans)
        if document.vectors.shape != (passages, self.width):
            raise ValueError(
                f"document {document.key}: vectors {document.vectors.shape} for {passages} passages of width"
                f" {self.width}"
            )
        sentences = (0, self.width) if document.sentence_codes is None else document.sentence_codes.shape
        if sentences != (len(document.sentences), self.width):
            raise ValueError(f"document {document.key}: vectors {sentences} for {len(document.sentences)} sentences")
        if self._codec is not None and passages:
            states = document.state_codes
            expected = (sum(document.state_counts), self._codec.size)
            if states is None or len(document.state_counts) != passages or states.shape != expected:
                shape = None if states is None else states.shape
                raise ValueError(f"document {document.key}: codes {shape} of states do not fit its passages")
        if not np.isfinite(document.vectors).all():
            raise ValueError(f"document {document.key}: a vector is not finite")

    def delete(self, keys: Collection[int]) -> None:
        """Delete documents; unknown keys are ignored."""
        import faiss

        with self._lock:
            ranges = [self._documents.pop(key)[1] for key in keys if key in self._documents]
            passages = [np.arange(ids.start, ids.stop, dtype=np.int64) for ids in ranges if ids]
            if passages:
                removed = np.concatenate(passages)
                self._index.remove_ids(faiss.IDSelectorBatch(removed))
                self._passages = None
                if self._states is not None:
                    self._state_count -= int(self._states.counts(removed.tolist()).sum())
            if len(self._keys) > 2 * len(self) + _SPARE_SLOTS:
                self._compact()

    def search(self, vector: Vectors, k: int) -> list[DenseHit]:
        """The ``k`` documents whose best passage has the largest inner product with ``vector`` (width,), best
        first, ties by ascending key.

        Raises:
            ValueError: if ``k`` is below 1 or the vector has another width.
        """
        with self._lock:
            return self.score(vector, self.nearest(vector, k)[0].keys.tolist())

    def nearest(
        self, vector: Vectors, k: int, others: Keys = _NO_KEYS, accepted: Keys | None = None
    ) -> tuple[Nearest, Nearest]:
        """The documents of :meth:`search`, and further ones by their keys, those of ``others`` that have passages.

        With ``accepted`` the first are of documents with these keys.

        Raises:
            ValueError: as :meth:`search`.
        """
        if k < 1:
            raise ValueError(f"k is {k}; it must be at least 1")
        if vector.shape != (self.width,):
            raise ValueError(f"the query vector has shape {vector.shape}, not ({self.width},)")
        with self._lock:
            passages, scores, best = self._search(vector, k, accepted)
            nearest = passages.nearest(best[:k], scores)
            if not len(others):
                return nearest, NONE
            if len(passages.ids) == len(self) and accepted is None:
                if len(best) <= k:
                    return nearest, NONE
                return nearest, passages.nearest(best[k:][np.isin(passages.keys[best[k:]], others)], scores)
            return nearest, self._best_of(vector, others[~np.isin(others, nearest.keys)].tolist()).nearest

    def score(self, vector: Vectors, keys: Iterable[int]) -> list[DenseHit]:
        """Documents by their keys, with the inner products of their best passages, best first, ties by ascending key.

        Those that have none are left out.
        """
        with self._lock:
            best = self._best_of(vector, keys)
            sentences = self._sentences.best(best.ids, vector)
            hits = []
            for id, score, sentence in zip(best.ids, best.nearest.scores.tolist(), sentences, strict=True):
                span = (self._starts[id], self._ends[id])
                hits.append(DenseHit(self._keys[id], score, self._generations[id], *span, sentence or span))
            return hits

    def state_codes(self, vector: Vectors, keys: Sequence[int]) -> StateCodes | None:
        """The coded states of documents' subwords; of one with many passages those of the best ones by ``vector``.

        None if states are not kept.
        """
        with self._lock:
            if self._states is None:
                return None
            chosen = self._passages_to_compare(vector, keys, self._states)
            codes = self._states.rows([passage for passages in chosen for passage in passages])
            lengths = [sum(self._states.run(passage)[1] for passage in passages) for passages in chosen]
        rows = [row for row, length in enumerate(lengths) if length]
        return StateCodes(rows, [lengths[row] for row in rows], codes)

    def _passages_to_compare(self, vector: Vectors, keys: Sequence[int], states: PassageRows) -> list[Sequence[int]]:
        """The passages of each document that are compared subword by subword."""
        passages = [self._documents[key][1] if key in self._documents else range(0) for key in keys]
        several = [id for ids in passages if len(ids) > 1 for id in ids]
        if not several:
            return list(passages)
        places = self._order().places(several)
        scores = dict(zip(several, self._products(places, vector).tolist(), strict=True))
        return [_nearest(ids, scores, states) if len(ids) > 1 else ids for ids in passages]

    def _rows(self) -> Vectors:
        """The vectors (passages, width) in FAISS's memory."""
        import faiss

        size = len(self) * self.width
        flat: Vectors = faiss.rev_swig_ptr(self._flat.get_xb(), size) if size else np.zeros(0, np.float32)
        return flat.reshape(-1, self.width)

    def _order(self) -> Passages:
        """The passages in FAISS's order, that of their ids."""
        import faiss

        if self._passages is None:
            ids = faiss.vector_to_array(self._index.id_map)
            keys, generations = (np.array(part, np.int64)[ids] for part in (self._keys, self._generations))
            self._passages = Passages(ids, keys, generations)
        return self._passages

    def _search(self, vector: Vectors, k: int, accepted: Keys | None) -> tuple[Passages, Vectors, Keys]:
        """Passages with the ``k`` best documents, the products of each, and the best ones of each document in order.

        FAISS computes several products at a time, and rounds them by how many there are; here each is by itself.
        """
        import faiss

        query = np.ascontiguousarray(vector, dtype=np.float32)[None]
        order, total, fetched = self._order(), len(self), max(4 * k, _MIN_FETCHED)
        params = None
        if accepted is not None:
            chosen = np.isin(order.keys, accepted)
            total = int(chosen.sum())
            if total <= max(fetched, _FEW_PASSAGES):
                places = np.flatnonzero(chosen)
                passages, scores = order.at(places), inner_products(self._rows()[places], vector)
                return passages, scores, passages.best(scores)
            bits = np.packbits(chosen, bitorder="little")
            selector: Any = faiss.IDSelectorBitmap  # whose types are those of its C++ constructor
            params = faiss.SearchParameters(sel=selector(bits))  # type: ignore[call-arg]
        if fetched < total:
            faiss.omp_set_num_threads(1)  # per thread; one query does not repay a thread pool
        while fetched < total:
            rounded, nearest = self._flat.search(query, fetched, params=params)
            places = np.sort(nearest[0])
            passages, scores = order.at(places), inner_products(self._rows()[places], vector)
            best = passages.best(scores)
            # documents tied with the last one may follow the fetched passages
            if len(best) >= k and scores[best[k - 1]] > rounded[0, -1] + _ROUNDING:
                return passages, scores, best
            fetched *= 4
        if accepted is not None:
            places = np.flatnonzero(chosen)
            passages, scores = order.at(places), self._products(places, vector)
            return passages, scores, passages.best(scores)
        scores = inner_products(self._rows(), vector)
        self._compared = vector, order, scores
        return order, scores, order.best(scores)

    def _products(self, places: Keys, vector: Vectors) -> Vectors:
        """The inner products of passages at some places in FAISS's order, computed if they are not those of before."""
        if self._compared is not None:
            before, order, scores = self._compared
            if before is vector and order is self._passages:  # which is another one after each change
                return scores[places]
        return inner_products(self._rows()[places], vector)

    def _best_of(self, vector: Vectors, keys: Iterable[int]) -> BestPassages:
        """Documents by their keys, best first, each with its best passage."""
        places = self._order().places([id for key in keys if key in self._documents for id in self._documents[key][1]])
        passages, scores = self._order().at(places), self._products(places, vector)
        best = passages.best(scores)
        return BestPassages(passages.ids[best].tolist(), passages.nearest(best, scores))

    def _add(self, documents: Iterable[Embedded]) -> None:
        vectors: list[Vectors] = []
        first = len(self._keys)
        for document in documents:
            start = len(self._keys)
            for low, high in document.spans:
                self._keys.append(document.key)
                self._generations.append(document.generation)
                self._starts.append(low)
                self._ends.append(high)
            ids = range(start, len(self._keys))
            self._documents[document.key] = (document.generation, ids)
            vectors.append(document.vectors)
            if document.sentence_codes is not None and len(document.sentences):
                counts = np.bincount([passage for passage, _, _ in document.sentences], minlength=len(ids)).tolist()
                spans = [(low, high) for _, low, high in document.sentences]
                self._sentences.add(ids, counts, spans, document.sentence_codes)
            if self._states is not None and document.state_codes is not None:
                self._states.add(ids, document.state_counts, document.state_codes)
                self._state_count += len(document.state_codes)
        if len(self._keys) > first:
            stacked = np.ascontiguousarray(np.concatenate(vectors), dtype=np.float32)
            self._index.add_with_ids(stacked, np.arange(first, len(self._keys), dtype=np.int64))
            self._passages = None

    def _compact(self) -> None:
        """Renumber the passages, which frees the ids of replaced documents."""
        documents = self.get(sorted(self._documents, key=lambda key: self._documents[key][1].start))
        self._documents = {}
        self._clear()
        self._add(documents)

    def get(self, keys: Iterable[int]) -> list[Embedded]:
        """Copies of documents by their keys; those that are not there are left out."""
        with self._lock:
            present = [(key, *self._documents[key]) for key in keys if key in self._documents]
            rows = self._rows()[self._order().places([id for _, _, ids in present for id in ids])]
            ends = np.cumsum([0, *(len(ids) for _, _, ids in present)]).tolist()
            return [
                self._copy_document(key, generation, ids, rows[start:end])
                for (key, generation, ids), start, end in zip(present, ends, ends[1:], strict=False)
            ]

    def _copy_document(self, key: int, generation: int, ids: range, vectors: Vectors) -> Embedded:
        spans = [(self._starts[id], self._ends[id]) for id in ids]
        sentences = [(passage, *span) for passage, id in enumerate(ids) for span in self._sentences.spans(id)]
        counts: list[int] = []
        codes = None
        if self._states is not None:
            counts, codes = self._states.counts(ids).tolist(), self._states.rows(ids)
        sentence_codes = self._sentences.codes(ids)
        return Embedded(key, generation, spans, vectors, sentences, sentence_codes, counts, codes)


def _nearest(ids: range, scores: Mapping[int, float], states: PassageRows) -> Sequence[int]:
    """The passages with the highest scores, the first of equal ones; fewer where they have many subwords."""
    best = sorted(ids, key=lambda id: -scores[id])[:_COMPARED_PASSAGES]
    return best if sum(states.run(id)[1] for id in best) <= _COMPARED_SUBWORDS else best[:1]
