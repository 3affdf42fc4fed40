"""Dense search: ranks documents by the inner product of the query's vector and the vectors of their passages.

Across several languages, what makes the query nearer to all passages of one of them is taken off
(:mod:`dragoman.indexes.dense.language_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.dense.index import DenseHit
from dragoman.indexes.fusion import calibrated
from dragoman.service.collections.dense_index import Coverage
from dragoman.service.collections.dense_registry import DenseIndexes
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.core.errors import NotFound, Unavailable
from dragoman.service.inference.models import Models
from dragoman.service.schemas.search import Degraded
from dragoman.service.search.ranked import RankedDocument, Retrieval, StageScore

STAGE = "dense"
_MOST_FETCHED = 1_000
"""Documents of a collection in several languages that are fetched, at most, where those of one language would come
first otherwise."""


class _Near(NamedTuple):
    """A document with its best passage, and their inner product without what is common to its language."""

    document: RankedDocument
    hit: DenseHit
    similarity: float
    ranked: bool
    """Whether it was searched for, and not only scored because another stage ranked it."""


class DenseStage:
    """Ranks the documents of several collections by their best passages. Safe from any thread."""

    def __init__(
        self,
        dense: DenseIndexes,
        models: Models,
        languages_by_keys: Callable[[Sequence[int]], Mapping[int, str]],
        embed_seconds: float,
    ) -> None:
        self._dense = dense
        self._models = models
        self._languages_by_keys = languages_by_keys
        self._embed_seconds = embed_seconds

    def complete(self, collections: Sequence[CollectionInfo]) -> bool:
        """Whether the embeddings of all collections are complete and the encoder has not failed to load.

        False if there is no document to embed.
        """
        if self._models.failure("encoder") is not None:
            return False
        filled = [one for one in collections if one.documents]
        try:
            found = [self._dense.coverage(one.key, one.generation) for one in filled]
        except NotFound:
            return False
        return bool(filled) and all(one is not None and one.missing == one.failed for one in found)

    def rank(self, found: Retrieval, k: int) -> None:
        """Rank the ``k`` best documents of all collections; one encoder makes their scores comparable.

        Documents without an embedding are embedded first, until the configured timeout. The documents that other
        stages ranked get their scores too.

        Raises:
            TooManyRequests: the encoder's queue is full.
            Unavailable: the encoder cannot be loaded, or no document has an embedding yet.
        """
        encoder = self._models.encoder(found.cancelled)
        query = self._models.encode(found.query.text, found.cancelled)
        coverage = self._dense.catch_up(
            {one.key: one.generation for one in found.collections}, encoder, self._embed_seconds
        )
        excess = encoder.means.excess(query.vector, {one for own in found.collections for one in own.languages})
        degraded: list[Degraded] = []
        near: list[_Near] = []
        by_collection = found.by_collection()
        for collection in found.collections:
            reached = coverage.get(collection.key)
            if reached is None:
                reason = f"collection '{collection.name}' was not searched: it has been deleted"
                degraded.append(Degraded.of(STAGE, reason, NotFound.error_type))
                continue
            degraded.extend(_missing(collection.name, reached))
            known = {one.key: one for one in by_collection.get(collection.key, ())}
            permitted = None if found.permitted is None else found.permitted.get(collection.key, ())
            try:
                hits, beside = self._searched(collection, query.vector, k, known, permitted)
            except (NotFound, Unavailable) as fault:
                reason = f"collection '{collection.name}' was not searched: {fault}"
                degraded.append(Degraded.of(STAGE, reason, fault.error_type))
                continue
            near.extend(self._near(collection, hits, beside, known, excess))
        _check_embedded(coverage.values())
        _add(found, near, k, encoder.unrelated_cosine)
        found.degraded += degraded
        if all(one.states for one in coverage.values() if one.total) and len(query.states):
            found.encoded = query

    def _searched(
        self,
        collection: CollectionInfo,
        vector: NDArray[np.float32],
        k: int,
        known: Collection[int],
        permitted: Sequence[int] | None,
    ) -> tuple[list[DenseHit], list[DenseHit]]:
        """The hits, more of a collection in several languages, and those of ``known`` that are not among them."""
        if permitted is not None:
            return self._dense.score(collection.key, vector, permitted, collection.generation), []
        fetched = max(k, min(k * len(collection.languages), _MOST_FETCHED))
        hits = self._dense.search(collection.key, vector, fetched, collection.generation)
        there = {hit.key for hit in hits}
        more = [key for key in known if key not in there]
        return hits, self._dense.score(collection.key, vector, more, collection.generation) if more else []

    def _near(
        self,
        collection: CollectionInfo,
        hits: Sequence[DenseHit],
        beside: Sequence[DenseHit],
        known: Mapping[int, RankedDocument],
        excess: Mapping[str, float],
    ) -> Iterator[_Near]:
        languages: Mapping[int, str] = {}
        if len(collection.languages) > 1:
            languages = self._languages_by_keys([hit.key for hit in hits if hit.key not in known])
        own = collection.languages[0] if collection.languages else collection.language
        for number, hit in enumerate([*hits, *beside]):
            document = known.get(hit.key)
            if document is None:
                document = RankedDocument(collection, hit.key, languages.get(hit.key, own))
            yield _Near(document, hit, hit.score - excess.get(document.language, 0.0), number < len(hits))

    def maxsim(self, found: Retrieval, most: int) -> dict[int, NDArray[np.float32]] | None:
        """MaxSim (subwords,) of the first documents by key; NaN if a document's states are not kept.

        None if one of the collections does not keep states any more.
        """
        assert found.encoded is not None
        similarities: dict[int, NDArray[np.float32]] = {}
        for collection, documents in found.by_collection(most).items():
            keys = [one.key for one in documents]
            try:
                rows = self._dense.maxsim(collection, found.encoded, keys)
            except (NotFound, Unavailable):
                return None
            if rows is None:
                return None
            similarities.update(zip(keys, rows, strict=True))
        return similarities


def _add(found: Retrieval, near: Sequence[_Near], k: int, floor: float) -> None:
    """Note the scores, those of the ``k`` nearest with their ranks; ``floor`` is the cosine of unrelated sentences."""
    for one in near:
        one.document.dense = StageScore(one.hit.score, calibrated(one.similarity, floor))
    there = {one.key for one in found.documents}
    ranked = sorted((one for one in near if one.ranked), key=lambda one: -one.similarity)
    for rank, one in enumerate(ranked, 1):
        document = one.document
        if rank <= k and document.dense is not None:
            document.dense.rank, document.passage = rank, one.hit
        if document.key not in there:
            document.score, document.first_stage = one.similarity, one.hit.score
            found.documents.append(document)


def _check_embedded(counts: Collection[Coverage]) -> None:
    total = sum(one.total for one in counts)
    if total and total == sum(one.missing for one in counts):
        if total == sum(one.failed for one in counts):
            raise Unavailable(f"none of the {total} documents could be embedded; the log says why")
        raise Unavailable(f"none of the {total} documents has an embedding yet; they are being made")


def _missing(name: str, coverage: Coverage) -> list[Degraded]:
    waiting = coverage.missing - coverage.failed
    missing = []
    if waiting:
        missing.append(f"{waiting} of {coverage.total} documents have no embedding yet")
    if coverage.failed:
        missing.append(f"{coverage.failed} of {coverage.total} documents could not be embedded")
    return [Degraded.of(STAGE, f"collection '{name}': {reason}", "not_embedded") for reason in missing]
