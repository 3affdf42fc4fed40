"""What a search asks of the index of a collection, of one part or of several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.deadline import check
from dragoman.indexes.bm25 import BM25, Hit, Parts, Ranking
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import JavaError, JvmUnavailable
from dragoman.indexes.lucene.batch import score_batch, score_documents_batch
from dragoman.indexes.lucene.listing import Matched, SortField, Values
from dragoman.indexes.lucene.queries import PreparedQuery, Scored, prepare
from dragoman.indexes.shard_group import Unsearched
from dragoman.lexicon.query import TranslatedQuery

__all__ = ["FAULTS", "Filtered", "Question", "SearchedIndex", "catch_faults", "score_documents_of_each", "score_each"]

FAULTS = (IndexFault, OSError, JavaError, JvmUnavailable)
"""What an index may raise by itself; all else is the query's fault, or ours."""
_BM25 = BM25()

P = ParamSpec("P")
T = TypeVar("T")


class Filtered(NamedTuple):
    """The keys of documents that a filter leaves, in ascending order, and the parts that did not answer."""

    keys: NDArray[np.int64]
    unsearched: tuple[Unsearched, ...] = ()


class SearchedIndex(ABC):
    """An index that ranks documents. Thread-safe."""

    damage: Exception | None
    """What was wrong with a part that could not answer and never will; None if nothing was."""

    @property
    @abstractmethod
    def searchers(self) -> Sequence[Any] | None:
        """The Java objects of its parts, where they are in this process and all of them can be asked."""

    @abstractmethod
    def score(self, query: PreparedQuery, k: int) -> Scored:
        """The ``k`` best documents, best first, ties by ascending key.

        Raises:
            ValueError: if ``k`` is below 1.
            IndexFault, OSError: it cannot be searched.
        """

    @abstractmethod
    def score_documents(self, query: PreparedQuery, keys: Sequence[int]) -> Parts:
        """The scores of the documents ``keys``: for each group of a query, and together; 0 for those not there."""

    @abstractmethod
    def select_keys(self, program: str) -> Filtered:
        """The documents that the program of a filter leaves."""

    @abstractmethod
    def matches(
        self,
        query: PreparedQuery,
        numbers: NDArray[np.int64],
        facets: Sequence[str] = (),
        order: Sequence[SortField] = (),
        k: int = 1,
    ) -> Matched:
        """All documents that a query matches: the values of fields, and the ``k`` first of an order with some more.

        ``numbers`` are those of :meth:`score`.
        """

    @abstractmethod
    def values(self, fields: Sequence[str], keys: Sequence[int]) -> list[Values]:
        """The values of fields of documents; none of those that are not there, or whose part does not answer."""

    @abstractmethod
    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """At most 50 index terms in ``language`` that sound like ``term``, with similarities in (0, 1]."""

    @abstractmethod
    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""

    @abstractmethod
    def prefetch(self, language: str, sounding: Collection[str], held: Collection[str]) -> Sequence[Unsearched]:
        """Get ready for being asked what sounds like some terms, and for the document frequencies of others.

        Returns the parts that cannot be asked.
        """

    def search(self, query: TranslatedQuery, language: str, k: int, bm25: BM25 | None = None) -> list[Hit]:
        """The ``k`` best documents in ``language``, best first, ties by ascending key."""
        return self.rank(query, language, k, bm25).hits

    def rank(self, query: TranslatedQuery, language: str, k: int, bm25: BM25 | None = None) -> Ranking:
        """Like :meth:`search`, with the query's maximal attainable score.

        - ``psq``: BM25 once per group, with ``tf_e = sum_f w_f tf_f`` and ``df_e = sum_f w_f df_f``, over
          index terms (Darwish & Oard 2003). A term's summed weight is capped at 1.
        - ``smt``: ``sum_f w_f BM25(f)`` per group, over folded words.
        - ``none``: like ``smt``, over index terms.

        Each is multiplied by the group's weight. Groups without any term in the index contribute 0.

        Raises:
            ValueError: if ``k`` is below 1 or a weight is not a positive number.
        """
        return self.rank_with_statistics(query, language, k, bm25)[0]

    def rank_with_statistics(
        self, query: TranslatedQuery, language: str, k: int, bm25: BM25 | None = None
    ) -> tuple[Ranking, Statistics]:
        """Like :meth:`rank`, with the statistics that :func:`~dragoman.indexes.explanation.explain` needs."""
        prepared = prepare(query, language, bm25 or _BM25)
        scored = _or_raise(score_each([(self, prepared)], k)[0])
        return scored.ranking(), scored.statistics(prepared.terms)

    def parts(self, query: TranslatedQuery, language: str, keys: Sequence[int], bm25: BM25 | None = None) -> Parts:
        """The scores of the documents ``keys``: for each group of a query, and together, as :meth:`rank` has them.

        0 for documents that are not in the index, or in another language.
        """
        prepared = prepare(query, language, bm25 or _BM25)
        return _or_raise(score_documents_of_each([(self, prepared)], [np.array(keys, np.int64)])[0])


Question = tuple[SearchedIndex, PreparedQuery]
"""An index, and a query for it."""


def score_each(questions: Sequence[Question], k: int, linked: bool = False) -> list[Scored | Exception]:
    """What :meth:`SearchedIndex.score` answers to each question, or the fault of its index; all at once if possible.

    If ``linked``, answers at once have what :func:`score_documents_of_each` says of their documents.

    Raises:
        ValueError: if ``k`` is below 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    answers = _at_once(questions, lambda searchers, queries: score_batch(searchers, queries, k, linked))
    return answers or [catch_faults(index.score, query, k) for index, query in questions]


def score_documents_of_each(
    questions: Sequence[Question], keys: Sequence[NDArray[np.int64]]
) -> list[Parts | Exception]:
    """What :meth:`SearchedIndex.score_documents` answers to each question and its ``keys``, as :func:`score_each`."""
    answers = _at_once(questions, lambda searchers, queries: score_documents_batch(searchers, queries, keys))
    return answers or [
        catch_faults(index.score_documents, query, of_query.tolist())
        for (index, query), of_query in zip(questions, keys, strict=True)
    ]


def _at_once(
    questions: Sequence[Question], ask: Callable[[list[Sequence[Any]], list[PreparedQuery]], list[T]]
) -> list[T | Exception]:
    """The answers to all questions; none where an index cannot be asked so, or has a fault: which one is not known."""
    if not questions:
        return []
    try:
        of_indexes = [index.searchers for index, _ in questions]
        searchers = [of_index for of_index in of_indexes if of_index is not None]
        if len(searchers) == len(of_indexes):
            return [*jvm.run(ask, searchers, [query for _, query in questions])]
    except FAULTS:
        check()
    return []


def catch_faults(ask: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | Exception:
    """What an index answers, or its fault."""
    try:
        return ask(*arguments, **options)
    except FAULTS as fault:
        check()
        return fault


def _or_raise(answer: T | Exception) -> T:
    if isinstance(answer, Exception):
        raise answer
    return answer
