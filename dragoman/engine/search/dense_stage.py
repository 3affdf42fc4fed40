"""Dense search: ranks documents by the inner product of the query's vector and the vectors of their passages.

Across several languages, what makes the query nearer to all passages of one of them is taken off
(:mod:`dragoman.indexes.dense.language_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.dense.collection import Coverage
from dragoman.engine.indexing.dense.indexes import DenseIndexes
from dragoman.engine.models.models import Models
from dragoman.engine.models.query_encoding import QueryEncoding
from dragoman.engine.search.ranked import RankedDocument, Retrieval, StageScore, note_unsearched, place_of
from dragoman.indexes.dense.index import DenseHit
from dragoman.indexes.dense.sharded_index import DenseHits
from dragoman.indexes.fusion import calibrate

STAGE = "dense"
_MOST_FETCHED = 1_000
"""Documents of a collection in several languages that are fetched, at most, where those of one language would come
first otherwise."""


_Near = tuple[float, RankedDocument, DenseHit]
"""The inner product of a document's best passage without what is common to its language, the document, the passage."""


class DenseStage:
    """Ranks the documents of several collections by their best passages. Safe from any thread."""

    def __init__(
        self,
        dense: DenseIndexes,
        models: Models,
        queries: QueryEncoding,
        languages_by_keys: Callable[[Sequence[int]], Mapping[int, str]],
        embed_seconds: float,
    ) -> None:
        self._dense = dense
        self._models = models
        self._queries = queries
        self._languages_by_keys = languages_by_keys
        self._embed_seconds = embed_seconds

    def complete(self, collections: Sequence[CollectionInfo]) -> bool:
        """Whether the embeddings of all collections are complete and the encoder has not failed to load.

        False if there is no document to embed.
        """
        if self._models.failure("encoder") is not None:
            return False
        filled = [collection for collection in collections if collection.documents]
        try:
            coverages = [self._dense.coverage(collection.key, collection.generation) for collection in filled]
        except NotFound:
            return False
        return bool(filled) and all(
            coverage is not None and coverage.missing == coverage.failed for coverage in coverages
        )

    @contextmanager
    def encoding_ahead(self, retrieval: Retrieval) -> Iterator[None]:
        """In the block the query is encoded beside other work for it; what :meth:`rank` did not take is dropped."""
        retrieval.encoding = self._queries.begin(retrieval.query.text)
        try:
            yield
        finally:
            if retrieval.encoding is not None:
                retrieval.encoding.cancel()

    def rank(self, retrieval: Retrieval, k: int) -> None:
        """Rank the ``k`` best documents of all collections; one encoder makes their scores comparable.

        Documents without an embedding are embedded first, until the configured timeout. The documents that other
        stages ranked get their scores too.

        Raises:
            TooManyRequests: the encoder's queue is full.
            Unavailable: the encoder cannot be loaded, or no document has an embedding yet.
        """
        encoder = self._models.encoder(retrieval.cancelled)
        query = self._queries.encode(encoder, retrieval.query.text, retrieval.encoding, retrieval.cancelled)
        generations = {collection.key: collection.generation for collection in retrieval.collections}
        coverage = self._dense.catch_up(generations, encoder, self._embed_seconds, retrieval.cancelled)
        excess = encoder.means.excess(query.vector, retrieval.languages)
        degraded: list[Degraded] = []
        near: list[_Near] = []
        by_collection = retrieval.by_collection()
        for collection in retrieval.collections:
            reached = coverage.get(collection.key)
            if reached is None:
                reason = f"collection '{collection.name}' was not searched: it has been deleted"
                degraded.append(Degraded.of(STAGE, reason, NotFound.error_type, collection.name, 1.0))
                continue
            degraded.extend(_missing(collection.name, reached))
            try:
                ranked = by_collection.get(collection.key, ())
                hits, unsearched = self._hits(retrieval, collection, query.vector, k, ranked)
                note_unsearched(degraded, STAGE, collection, unsearched)
                near.extend(self._near(collection, hits, ranked, excess))
            except (NotFound, Unavailable) as fault:
                reason = f"collection '{collection.name}' was not searched: {fault}"
                degraded.append(Degraded.of(STAGE, reason, fault.error_type, collection.name, 1.0))
        _check_embedded(coverage.values())
        _add(retrieval, near, k, encoder.unrelated_cosine)
        retrieval.degraded += degraded
        if all(reached.states for reached in coverage.values() if reached.total) and len(query.states):
            retrieval.encoded = query

    def _hits(
        self,
        retrieval: Retrieval,
        collection: CollectionInfo,
        vector: NDArray[np.float32],
        k: int,
        ranked: Sequence[RankedDocument],
    ) -> DenseHits:
        """The hits of a collection, more where it has several languages, and the documents that others ``ranked``."""
        embeddings = self._dense.of(collection.key)
        if retrieval.permitted is not None:
            permitted = retrieval.permitted.get(collection.key, ())
            return embeddings.score(vector, permitted, collection.generation)
        fetched = max(k, min(k * len(collection.languages), _MOST_FETCHED))
        nearest = embeddings.search(vector, fetched, collection.generation)
        there = {hit.key for hit in nearest.hits}
        more = [document.key for document in ranked if document.key not in there]
        if not more:
            return nearest
        others = embeddings.score(vector, more, collection.generation)
        return DenseHits(nearest.hits + others.hits, max(nearest.unsearched, others.unsearched, key=len))

    def _near(
        self,
        collection: CollectionInfo,
        hits: Sequence[DenseHit],
        ranked: Sequence[RankedDocument],
        excess: Mapping[str, float],
    ) -> list[_Near]:
        """The documents of hits, those ``ranked`` before or new ones."""
        by_key = {document.key: document for document in ranked}
        languages: Mapping[int, str] = {}
        if len(collection.languages) > 1:
            languages = self._languages_by_keys([hit.key for hit in hits if hit.key not in by_key])
        default_language = collection.languages[0] if collection.languages else collection.language
        near = []
        for hit in hits:
            document = by_key.get(hit.key) or RankedDocument(
                collection, hit.key, languages.get(hit.key, default_language)
            )
            near.append((hit.score - excess.get(document.language, 0.0), document, hit))
        return near

    def maxsim(self, retrieval: Retrieval, most: int) -> dict[int, NDArray[np.float32]] | None:
        """MaxSim (subwords,) of the first documents by key; NaN if a document's states are not kept.

        None if one of the collections does not keep states any more.
        """
        assert retrieval.encoded is not None
        similarities: dict[int, NDArray[np.float32]] = {}
        for collection, documents in retrieval.by_collection(most).items():
            keys = [document.key for document in documents]
            try:
                answer = self._dense.of(collection).maxsim(retrieval.encoded, keys)
            except (NotFound, Unavailable):
                return None
            if answer is None:
                return None
            note_unsearched(retrieval.degraded, STAGE, documents[0].collection, answer.unsearched)
            similarities.update(zip(keys, answer.similarities, strict=True))
        return similarities


def _add(retrieval: Retrieval, near: Sequence[_Near], k: int, floor: float) -> None:
    """Note the scores, those of the ``k`` nearest with their ranks; ``floor`` is the cosine of unrelated sentences."""
    for rank, (similarity, document, hit) in enumerate(
        sorted(near, key=lambda entry: (-entry[0], place_of(entry[1]))), 1
    ):
        document.dense = StageScore(hit.score, calibrate(similarity, floor), rank if rank <= k else None)
        if rank <= k:
            document.passage = hit
        if document.bm25 is None:
            document.score, document.first_stage = similarity, hit.score
            retrieval.documents.append(document)


def _check_embedded(counts: Collection[Coverage]) -> None:
    total = sum(coverage.total for coverage in counts)
    if total and total == sum(coverage.missing for coverage in counts):
        if total == sum(coverage.failed for coverage in counts):
            raise Unavailable(f"none of the {total} documents could be embedded; the log says why")
        raise Unavailable(f"none of the {total} documents has an embedding yet; they are being made")


def _missing(name: str, coverage: Coverage) -> list[Degraded]:
    waiting = coverage.missing - coverage.failed
    reasons = {"have no embedding yet": waiting, "could not be embedded": coverage.failed}
    return [
        Degraded.of(
            STAGE,
            f"collection '{name}': {count} of {coverage.total} documents {reason}",
            "not_embedded",
            name,
            count / coverage.total,
        )
        for reason, count in reasons.items()
        if count
    ]
