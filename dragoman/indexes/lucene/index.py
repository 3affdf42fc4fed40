"""A collection's Lucene index: adds documents, returns ranked keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from dragoman.indexes.bm25 import BM25, Hit, Parts, Ranking
from dragoman.indexes.documents import IndexedDocument, Row, analysed, batches
from dragoman.indexes.errors import IndexClosed, index_faults
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.java import jvm
from dragoman.lexicon.query import TranslatedQuery
from dragoman.lexicon.text.tokens import Analysis

if TYPE_CHECKING:
    from dragoman.indexes.lucene.store import LuceneStore

__all__ = ["IndexedDocument", "LuceneIndex"]

_DELETIONS_PER_CALL = 1_000

_BM25 = BM25()

P = ParamSpec("P")
T = TypeVar("T")


class LuceneIndex:
    """One collection's index in one directory, searchable during writes. Thread-safe.

    Each language has its own fields of folded words and index terms, so documents of several languages can
    share an index. Only :meth:`commit` makes changes durable, and only :meth:`refresh` makes them searchable.
    After a crash, the index reopens in the state of the last commit.

    Opening reads all files and compares their checksums.

    Every method raises :class:`IndexClosed` after :meth:`close`, :class:`IndexCorrupt` if files turn out to be
    damaged, and ``OSError`` (``ENOSPC``) on a full disk.

    Raises:
        IndexCorrupt: if the index in the directory is damaged, incomplete or of another format.
        IndexLocked: if the index is open elsewhere.
        JvmUnavailable: if Java cannot be started.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        with index_faults(directory):
            for name in jvm.run(_committed, directory):
                jvm.run(_check, directory, name)  # one call per file lets other searches run in between
            self._store: LuceneStore | None = jvm.run(_open, directory)

    def _run(self, function: Callable[Concatenate[LuceneStore, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with index_faults(self.directory):
            return jvm.run(lambda: self._call(function, *args, **kwargs))

    def _start(
        self, function: Callable[Concatenate[LuceneStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], T]:
        result = jvm.start(lambda: self._call(function, *args, **kwargs))

        def wait() -> T:
            with index_faults(self.directory):
                return result()

        return wait

    def _call(self, function: Callable[Concatenate[LuceneStore, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._store is None:
            raise IndexClosed(self.directory, "is closed")
        return function(self._store, *args, **kwargs)

    def add(self, documents: Iterable[IndexedDocument], analyses: Mapping[str, Analysis]) -> None:
        """Add documents, each analysed in its language; a document with a known key is replaced.

        Raises:
            KeyError: if ``analyses`` has no entry for a language; earlier documents may have been added.
        """
        pending: Callable[[], None] | None = None
        try:
            for batch in batches(documents):
                rows = analysed(batch, analyses)  # while Java writes the previous batch
                if pending is not None:
                    wait, pending = pending, None
                    wait()
                pending = self._start(_write, rows)
        finally:
            if pending is not None:
                pending()

    def delete(self, keys: Collection[int]) -> None:
        """Delete documents by key; unknown keys are ignored."""
        remaining = list(keys)
        for start in range(0, len(remaining), _DELETIONS_PER_CALL):
            self._run(_delete, remaining[start : start + _DELETIONS_PER_CALL])

    def commit(self, generation: int, metadata: Mapping[str, str] | None = None) -> None:
        """Make all changes durable atomically, with a generation and metadata (such as fingerprints)."""
        self._run(lambda store: store.commit(generation, metadata or {}))

    def refresh(self) -> None:
        """Make all changes so far searchable, even uncommitted ones."""
        self._run(lambda store: store.refresh())

    def stop_writing(self) -> None:
        """Become read-only, so that another object can open the directory; uncommitted changes are lost."""
        self._run(lambda store: store.stop_writing())

    @property
    def generation(self) -> int:
        """The generation of the last commit; 0 for a new index."""
        return self._run(lambda store: store.generation)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the last commit."""
        return self._run(lambda store: dict(store.metadata))

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
        if k < 1:
            raise ValueError(f"k is {k}; it must be at least 1")
        parameters = bm25 or _BM25
        store = self._store
        known = store and store.queries.known(query, language, k, parameters)
        return known or self._run(lambda store: store.queries.rank(query, language, k, parameters))

    def explained(
        self, query: TranslatedQuery, language: str, k: int, bm25: BM25 | None = None
    ) -> tuple[Ranking, Statistics]:
        """Like :meth:`rank`, with the statistics that :func:`~dragoman.indexes.explanation.explain` needs."""

        store = self._store
        arrays = store.queries.arrays(language) if store and query.method != "smt" else None
        if arrays:
            return arrays.rank(query, k, bm25 or _BM25), arrays.statistics(query)

        def both(_: LuceneStore) -> tuple[Ranking, Statistics]:
            return self.rank(query, language, k, bm25), self._run(
                lambda store: store.queries.terms.statistics(query, language)
            )

        return self._run(both)

    def parts(self, query: TranslatedQuery, language: str, keys: Sequence[int], bm25: BM25 | None = None) -> Parts:
        """The scores of the documents ``keys`` for each group of a query, whose weighted sum is that of :meth:`rank`.

        0 for documents that are not in the index, or in another language.
        """
        store = self._store
        arrays = store.queries.arrays(language) if store and query.method != "smt" else None
        if arrays:
            return arrays.parts(query, keys, bm25 or _BM25)
        return self._run(lambda store: store.queries.parts(query, language, keys, bm25 or _BM25))

    def document_count(self, language: str | None = None) -> int:
        """The number of searchable documents: all, or those with at least one index term in ``language``.

        If the index is too large for :mod:`~dragoman.indexes.memory.snapshot`, counts by language include
        deleted documents until Lucene merges their segments.
        """
        if language is None:
            return self._run(lambda store: store.documents())
        return self._run(lambda store: store.queries.document_count(language))

    def document_frequency(self, language: str, term: str) -> int:
        """The document frequency of an index term; see :meth:`document_count` for deleted documents."""
        return self.document_frequencies(language, [term])[term]

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""
        return self._run(lambda store: store.queries.document_frequencies(language, terms))

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """At most 50 index terms in ``language`` that sound like ``term``, with similarities in (0, 1]."""
        store = self._store
        arrays = store.queries.arrays(language) if store else None
        known = arrays.sounding(term) if arrays else None
        return self._run(lambda store: store.queries.terms.sounding(language, term)) if known is None else known

    def verify(self) -> None:
        """Read all files and compare their checksums; raises :class:`IndexCorrupt` if one differs."""
        self._run(lambda store: store.verify())

    def close(self) -> None:
        """Close the index; uncommitted changes are lost. May be called twice."""

        def close() -> None:
            store, self._store = self._store, None
            if store is not None:
                store.close()

        with index_faults(self.directory):
            jvm.run(close)

    def __enter__(self) -> LuceneIndex:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _committed(directory: Path) -> list[str]:
    from dragoman.indexes.lucene.files import committed

    return committed(directory)


def _check(directory: Path, name: str) -> None:
    from dragoman.indexes.lucene.files import check

    check(directory, name)


def _open(directory: Path) -> LuceneStore:
    from dragoman.indexes.lucene.store import LuceneStore

    return LuceneStore(directory)


def _write(store: LuceneStore, rows: list[Row]) -> None:
    store.write(rows)


def _delete(store: LuceneStore, keys: list[int]) -> None:
    store.delete(keys)
