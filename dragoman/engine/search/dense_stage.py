"""Dense search: ranks documents by the inner product of the query's vector and the vectors of their passages.

Across several languages, what makes the query nearer to all passages of one of them is taken off
(:mod:`dragoman.indexes.dense.language_means`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.dense.collection import Coverage
from dragoman.engine.indexing.dense.indexes import DenseIndexes
from dragoman.engine.indexing.filtering import ask_index
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.models.models import Models
from dragoman.engine.models.query_encoding import QueryEncoding, describe_left_out
from dragoman.engine.models.queue.ahead import QueryAhead
from dragoman.engine.search.candidates import (
    NO_MEANINGS,
    NO_WORDS,
    Candidates,
    Keys,
    MeaningRanking,
    WordRanking,
)
from dragoman.engine.search.ranked import Retrieval, list_missing, note_unsearched
from dragoman.indexes.dense.index import Nearest
from dragoman.indexes.dense.sharded_index import DenseHits
from dragoman.indexes.fusion import calibrate

STAGE = "dense"
_MOST_FETCHED = 1_000
"""Documents of a collection in several languages that are fetched, where those of one language would come first."""

_KNOWN_LANGUAGES = 50_000
"""Documents whose languages are remembered: of collections in several languages each search needs hundreds."""


class DenseStage:
    """Ranks the documents of several collections by their best passages. Safe from any thread."""

    def __init__(
        self,
        dense: DenseIndexes,
        indexes: Indexes,
        models: Models,
        queries: QueryEncoding,
        languages_by_keys: Callable[[Sequence[int]], Mapping[int, str]],
        embed_seconds: float,
    ) -> None:
        self._dense = dense
        self._indexes = indexes
        self._models = models
        self._queries = queries
        self._languages_by_keys = languages_by_keys
        self._embed_seconds = embed_seconds
        self._languages: dict[tuple[int, int], str] = {}
        """By key and generation."""

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

    def query_ahead(self, text: str) -> QueryAhead:
        """The query of a search that has no turn yet, to be encoded before that."""
        return QueryAhead(text, self._queries.begin_all)

    @contextmanager
    def encoding_ahead(self, retrieval: Retrieval) -> Iterator[None]:
        """In the block the query is encoded beside other work for it; what :meth:`rank` did not take is dropped."""
        retrieval.encoding = self._queries.begin(retrieval.query.text)
        try:
            yield
        finally:
            if retrieval.encoding is not None:
                retrieval.encoding.cancel()

    def rank(self, retrieval: Retrieval, k: int, depth: int) -> int:
        """Rank the ``k`` best documents of all collections; returns how many are there, of the ``depth`` best.

        Raises:
            ServiceError: as :meth:`find`.
        """
        candidates = Candidates.join(retrieval, NO_WORDS, meanings := self.find(retrieval, depth), depth)
        scores = np.empty(len(candidates.keys))
        scores[np.searchsorted(candidates.keys, meanings.keys)] = meanings.similarities
        retrieval.documents = candidates.best(retrieval, scores, k)
        for document in retrieval.documents:
            if document.dense is not None:
                document.first_stage = document.dense.score
        return len(meanings.keys)

    def find(self, retrieval: Retrieval, k: int, words: WordRanking = NO_WORDS) -> MeaningRanking:
        """The ``k`` best documents of all collections, and those of ``words``; one encoder makes scores comparable.

        Documents without an embedding are embedded first, until the configured timeout.

        Raises:
            TooManyRequests: the encoder's queue is full.
            Unavailable: the encoder cannot be loaded, or no document has an embedding yet.
        """
        encoder = self._models.encoder(retrieval.cancelled)
        query = self._queries.encode(encoder, retrieval.query.text, retrieval.encoding, retrieval.cancelled)
        generations = {collection.key: collection.generation for collection in retrieval.collections}
        coverage = self._dense.catch_up(generations, encoder, self._embed_seconds, retrieval.cancelled)
        excess = encoder.means.excess(query.vector, retrieval.languages)
        of_rankings = np.array([ranking.collection.key for ranking in retrieval.collection_rankings], np.int64)
        collections_of_words = of_rankings[words.rankings]
        degraded: list[Degraded] = []
        rankings: list[MeaningRanking] = []
        unfiltered: list[Unavailable] = []
        for collection in retrieval.collections:
            reached = coverage.get(collection.key)
            if reached is None:
                reason = f"collection '{collection.name}' was not searched: it has been deleted"
                degraded.append(Degraded.of(STAGE, reason, NotFound.error_type, collection.name, 1.0))
                continue
            degraded.extend(_missing(collection.name, reached))
            try:
                others = words.keys[collections_of_words == collection.key]
                hits = self._hits(retrieval, collection, query.vector, k, others)
                note_unsearched(degraded, STAGE, collection, hits.unsearched)
                rankings += [
                    self._meanings(collection, near, excess) for near in (hits.best, hits.others) if len(near.keys)
                ]
            except (NotFound, Unavailable) as fault:
                if isinstance(fault, Unavailable) and collection.key in retrieval.filters:
                    unfiltered.append(fault)
                reason = f"collection '{collection.name}' was not searched: {fault}"
                degraded.append(Degraded.of(STAGE, reason, fault.cause, collection.name, 1.0))
        if unfiltered and len(unfiltered) == len(retrieval.collections):
            raise unfiltered[0]
        _check_embedded(coverage.values())
        retrieval.degraded += degraded
        retrieval.encoded = query
        if (left_out := describe_left_out(retrieval.query.text)) is not None:
            retrieval.truncated.append(f"{STAGE}: {left_out}")
        products = encoder.means.products(query.vector, retrieval.languages)
        retrieval.background = {
            language: products.get(language, encoder.unrelated_cosine) for language in retrieval.languages
        }
        if all(reached.states for reached in coverage.values() if reached.total) and len(query.states):
            retrieval.codec = encoder.codec
        return _in_order(rankings, encoder.unrelated_cosine)

    def _hits(
        self,
        retrieval: Retrieval,
        collection: CollectionInfo,
        vector: NDArray[np.float32],
        k: int,
        others: Keys,
    ) -> DenseHits:
        """The hits of a collection, more where it has several languages, and the documents with the keys ``others``."""
        embeddings = self._dense.of(collection.key)
        fetched = max(k, _MOST_FETCHED) if len(collection.languages) > 1 else k
        accepted = self._find_accepted(retrieval, collection)
        hits = embeddings.search(vector, fetched, collection.generation, others, accepted)
        if (subwords := embeddings.mean_subwords) is not None:
            retrieval.mean_subwords[collection.key] = subwords
        retrieval.exhausted = retrieval.exhausted and len(hits.best.keys) < fetched
        return hits

    def count_missing(self, collection: CollectionInfo) -> int | None:
        """How many documents have no embedding yet; None where that cannot be known."""
        with suppress(NotFound):
            coverage = self._dense.coverage(collection.key, collection.generation)
            return None if coverage is None else coverage.missing
        return None

    def count(self, retrieval: Retrieval) -> int:
        """How many documents may be found, where that can be known."""
        counted = 0
        for collection in retrieval.collections:
            accepted = None
            with suppress(NotFound, Unavailable):
                accepted = self._find_accepted(retrieval, collection)
            counted += collection.documents if accepted is None else len(accepted)
        return counted

    def _find_accepted(self, retrieval: Retrieval, collection: CollectionInfo) -> Keys | None:
        """The keys of a collection's documents that may be found; None for all.

        Raises:
            NotFound, Unavailable: the filter cannot be asked.
        """
        if (program := retrieval.filters.get(collection.key)) is None:
            return None
        if (accepted := retrieval.accepted.get(collection.key)) is not None:
            return accepted
        filtered = ask_index(self._indexes.of(collection.key), program)
        note_unsearched(retrieval.degraded, STAGE, collection, filtered.unsearched)
        retrieval.accepted[collection.key] = filtered.keys
        return filtered.keys

    def _meanings(self, collection: CollectionInfo, near: Nearest, excess: Mapping[str, float]) -> MeaningRanking:
        """Documents of one collection with their languages; they are not calibrated yet."""
        keys, scores, _ = near
        default = collection.languages[0] if collection.languages else collection.language
        languages = np.full(len(keys), default, object)
        similarities = scores - excess.get(default, 0.0)
        if len(collection.languages) > 1:
            languages[:] = self._languages_of(near, default)
            similarities = scores - np.array([excess.get(language, 0.0) for language in languages])
        return MeaningRanking(keys, np.full(len(keys), collection.key), languages, scores, similarities, similarities)

    def _languages_of(self, near: Nearest, default: str) -> list[str]:
        """The language of each document, of the generation that was embedded; ``default`` of one that is gone."""
        if len(self._languages) > _KNOWN_LANGUAGES:
            self._languages = {}
        languages = self._languages  # others may begin another one meanwhile
        versions = list(zip(near.keys.tolist(), near.generations.tolist(), strict=True))
        if missing := [version for version in versions if version not in languages]:
            read = self._languages_by_keys([key for key, _ in missing])
            languages.update((version, read[version[0]]) for version in missing if version[0] in read)
        return [languages.get(version, default) for version in versions]

    def add_passages(self, retrieval: Retrieval) -> None:
        """Find the best passages of the documents that dense search ranked.

        A document that it alone found, and whose embedding is gone, is left out: it has been replaced or deleted.

        Raises:
            IndexFault, OSError, RuntimeError, MemoryError: they cannot be looked up.
        """
        assert retrieval.encoded is not None
        for collection, documents in retrieval.by_collection().items():
            ranked = {
                document.key: document
                for document in documents
                if document.dense is not None and document.dense.rank is not None
            }
            with suppress(NotFound, Unavailable):
                answer = self._dense.of(collection).passages(retrieval.encoded.vector, list(ranked))
                note_unsearched(retrieval.degraded, STAGE, documents[0].collection, answer.unsearched)
                for passage in answer.hits:
                    ranked[passage.key].passage = passage
            gone = {key for key, document in ranked.items() if document.passage is None and document.bm25 is None}
            if gone:
                retrieval.documents = [document for document in retrieval.documents if document.key not in gone]

    def maxsim(self, retrieval: Retrieval, most: int) -> NDArray[np.float32] | None:
        """MaxSim (documents, subwords) of the first documents; NaN for one whose states are not kept.

        None if one of the collections does not keep states any more.
        """
        assert retrieval.encoded is not None
        assert retrieval.codec is not None
        documents = retrieval.documents[:most]
        rows_of = {document.key: row for row, document in enumerate(documents)}
        rows: list[int] = []
        lengths: list[int] = []
        codes: list[NDArray[np.uint8]] = []
        for collection, chosen in retrieval.by_collection(most).items():
            keys = [document.key for document in chosen]
            try:
                answer = self._dense.of(collection).state_codes(retrieval.encoded.vector, keys)
            except (NotFound, Unavailable):
                return None
            if answer is None:
                return None
            note_unsearched(retrieval.degraded, STAGE, chosen[0].collection, answer.unsearched)
            rows += [rows_of[keys[row]] for row in answer.states.rows]
            lengths += answer.states.lengths
            codes.append(answer.states.codes)
        similarities = np.full((len(documents), len(retrieval.encoded.states)), np.nan, np.float32)
        if rows:
            similarities[rows] = retrieval.codec.maxima(np.concatenate(codes), lengths, retrieval.encoded.states)
        return similarities


def _in_order(rankings: Sequence[MeaningRanking], floor: float) -> MeaningRanking:
    """All documents, the nearest first; ``floor`` is the cosine of unrelated sentences."""
    if not rankings:
        return NO_MEANINGS
    keys, collections, languages, scores, similarities, _ = map(np.concatenate, zip(*rankings, strict=True))
    joined = MeaningRanking(keys, collections, languages, scores, similarities, calibrate(similarities, floor))
    order = np.lexsort((keys, collections, -similarities))
    return joined.at(order)


def _check_embedded(counts: Collection[Coverage]) -> None:
    total = sum(coverage.total for coverage in counts)
    if total and total == sum(coverage.missing for coverage in counts):
        if total == sum(coverage.failed for coverage in counts):
            raise Unavailable(f"none of the {total} documents could be embedded; the log says why")
        raise Unavailable(f"none of the {total} documents has an embedding yet; they are being made")


def _missing(name: str, coverage: Coverage) -> list[Degraded]:
    waiting = coverage.missing - coverage.failed
    reasons = {"have no embedding yet": waiting, "could not be embedded": coverage.failed}
    return list_missing(STAGE, name, coverage.total, reasons, "not_embedded")
