"""Dense search: ranks documents by the inner product of the query's vector and the vectors of their passages.

Across several languages, what makes the query nearer to all passages of one of them is taken off
(:mod:`dragoman.indexes.dense.language_means`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.dense.index import DenseHit
from dragoman.service.collections.dense_index import Coverage
from dragoman.service.collections.dense_registry import DenseIndexes
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.core.errors import NotFound, Unavailable
from dragoman.service.inference.batching import Cancelled
from dragoman.service.inference.encoding import EncodedQuery
from dragoman.service.inference.models import Models
from dragoman.service.schemas.search import Degraded
from dragoman.service.search.entities import Permitted

STAGE = "dense"
_MOST_FETCHED = 1_000
"""Documents of a collection in several languages that are fetched, at most, where those of one language would come
first otherwise."""


@dataclass(frozen=True, slots=True)
class DensePlace:
    """One entry of the merged ranking, a document with its best passage."""

    collection: CollectionInfo
    hit: DenseHit
    language: str
    """The document's."""
    similarity: float
    """Its inner product without what is common to all passages of its language."""


@dataclass(slots=True)
class DenseResult:
    """The merged ranking, best first, and how it is degraded."""

    places: list[DensePlace] = field(default_factory=list)
    others: list[DensePlace] = field(default_factory=list)
    """Documents outside the ranking whose scores were requested."""
    unrelated_cosine: float = 0.0
    """The cosine of unrelated sentences with this encoder."""
    query: EncodedQuery | None = None
    states: bool = False
    """Whether all collections keep the states of subwords."""
    degraded: list[Degraded] = field(default_factory=list)
    seconds: float = 0.0


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

    def rank(
        self,
        text: str,
        collections: Sequence[CollectionInfo],
        k: int,
        cancelled: Cancelled | None = None,
        others: Mapping[int, Sequence[int]] = MappingProxyType({}),
        permitted: Permitted | None = None,
    ) -> DenseResult:
        """The ``k`` best documents of all collections; one encoder makes their scores comparable.

        With ``permitted``, the best of these documents.

        Documents without an embedding are embedded first, until the configured timeout. ``others`` are keys of
        documents by the key of their collection, whose scores are wanted too.

        Raises:
            TooManyRequests: the encoder's queue is full.
            Unavailable: the encoder cannot be loaded, or no document has an embedding yet.
        """
        started = time.perf_counter()
        encoder = self._models.encoder(cancelled)
        query = self._models.encode(text, cancelled)
        vector = query.vector
        coverage = self._dense.catch_up({one.key: one.generation for one in collections}, encoder, self._embed_seconds)
        result = DenseResult(unrelated_cosine=encoder.unrelated_cosine, query=query)
        excess = encoder.means.excess(vector, {one for collection in collections for one in collection.languages})
        for collection in collections:
            found = coverage.get(collection.key)
            if found is None:
                reason = f"collection '{collection.name}' was not searched: it has been deleted"
                result.degraded.append(Degraded.of(STAGE, reason, NotFound.error_type))
                continue
            result.degraded.extend(_missing(collection.name, found))
            try:
                own = None if permitted is None else permitted.get(collection.key, ())
                hits, beside = self._searched(collection, vector, k, others.get(collection.key, ()), own)
            except (NotFound, Unavailable) as fault:
                reason = f"collection '{collection.name}' was not searched: {fault}"
                result.degraded.append(Degraded.of(STAGE, reason, fault.error_type))
                continue
            result.places.extend(self._places(collection, hits, excess))
            result.others.extend(self._places(collection, beside, excess))
        counts = coverage.values()
        result.states = all(one.states for one in counts if one.total) and bool(len(query.states))
        if (total := sum(one.total for one in counts)) and total == sum(one.missing for one in counts):
            if total == sum(one.failed for one in counts):
                raise Unavailable(f"none of the {total} documents could be embedded; the log says why")
            raise Unavailable(f"none of the {total} documents has an embedding yet; they are being made")
        result.places.sort(key=lambda place: -place.similarity)
        result.others.extend(result.places[k:])
        del result.places[k:]
        result.seconds = time.perf_counter() - started
        return result

    def _searched(
        self,
        collection: CollectionInfo,
        vector: NDArray[np.float32],
        k: int,
        others: Sequence[int],
        permitted: Sequence[int] | None,
    ) -> tuple[list[DenseHit], list[DenseHit]]:
        """The hits, more of a collection in several languages, and those of ``others`` that are not among them."""
        if permitted is not None:
            return self._dense.score(collection.key, vector, permitted, collection.generation), []
        fetched = max(k, min(k * len(collection.languages), _MOST_FETCHED))
        hits = self._dense.search(collection.key, vector, fetched, collection.generation)
        known = {hit.key for hit in hits}
        more = [key for key in others if key not in known]
        return hits, self._dense.score(collection.key, vector, more, collection.generation) if more else []

    def _places(
        self, collection: CollectionInfo, hits: Sequence[DenseHit], excess: Mapping[str, float]
    ) -> Iterator[DensePlace]:
        languages: Mapping[int, str] = {}
        if len(collection.languages) > 1:
            languages = self._languages_by_keys([hit.key for hit in hits])
        own = collection.languages[0] if collection.languages else collection.language
        for hit in hits:
            language = languages.get(hit.key, own)
            yield DensePlace(collection, hit, language, hit.score - excess.get(language, 0.0))

    def maxsim(self, query: EncodedQuery, keys: Mapping[int, Sequence[int]]) -> dict[int, NDArray[np.float32]] | None:
        """MaxSim (subwords,) of documents by key; NaN if a document's states are not kept. ``keys`` are by collection.

        None if one of the collections does not keep states any more.
        """
        found: dict[int, NDArray[np.float32]] = {}
        for collection, own in keys.items():
            try:
                rows = self._dense.maxsim(collection, query, own)
            except (NotFound, Unavailable):
                return None
            if rows is None:
                return None
            found.update(zip(own, rows, strict=True))
        return found


def _missing(name: str, coverage: Coverage) -> list[Degraded]:
    waiting = coverage.missing - coverage.failed
    missing = []
    if waiting:
        missing.append(f"{waiting} of {coverage.total} documents have no embedding yet")
    if coverage.failed:
        missing.append(f"{coverage.failed} of {coverage.total} documents could not be embedded")
    return [Degraded.of(STAGE, f"collection '{name}': {reason}", "not_embedded") for reason in missing]
