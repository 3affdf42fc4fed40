"""A collection's Lucene index: documents in, ranked keys out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from dragoman.indexes.bm25 import BM25, Hit, Ranking
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
    """One collection's index in one directory, searchable while it is written to. Safe from any thread.

    Each language has two fields, of folded words and of index terms, so that documents of several languages
    can share an index. Only :meth:`commit` makes changes durable and only :meth:`refresh` makes them
    searchable; an index that is reopened after a crash is as the last commit left it.

    All files are read and compared with their checksums when it is opened.

    Every method raises :class:`IndexClosed` after :meth:`close`, :class:`IndexCorrupt` where damage to the
    files shows, and ``OSError`` (``ENOSPC``) on a full disk.

    Raises:
        IndexCorrupt: if the directory holds a damaged index, remains of one, or one of another format.
        IndexLocked: if the index is open elsewhere.
        JvmUnavailable: if Java cannot be started.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        with index_faults(directory):
            for name in jvm.run(_committed, directory):
                jvm.run(_check, directory, name)  # one at a time, so that other indexes are searched in between
            self._store: LuceneStore | None = jvm.run(_open, directory)

    def _run(self, function: Callable[Concatenate[LuceneStore, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with index_faults(self.directory):
            return jvm.run(lambda: self._call(function, *args, **kwargs))

    def _start(
        self, function: Callable[Concatenate[LuceneStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], T]:
        result = jvm.start(lambda: self._call(function, *args, **kwargs))

        def waited() -> T:
            with index_faults(self.directory):
                return result()

        return waited

    def _call(self, function: Callable[Concatenate[LuceneStore, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._store is None:
            raise IndexClosed(self.directory, "is closed")
        return function(self._store, *args, **kwargs)

    def add(self, documents: Iterable[IndexedDocument], analyses: Mapping[str, Analysis]) -> None:
        """Add documents, each analysed by the analysis of its language; a key that is there is replaced.

        Raises:
            KeyError: for a document in a language that ``analyses`` lacks; documents before it may be added.
        """
        written: Callable[[], None] | None = None
        try:
            for batch in batches(documents):
                rows = analysed(batch, analyses)  # while Java writes the batch before
                if written is not None:
                    waiting, written = written, None
                    waiting()
                written = self._start(_write, rows)
        finally:
            if written is not None:
                written()

    def delete(self, keys: Collection[int]) -> None:
        """Delete documents by key; keys that are not there are ignored."""
        remaining = list(keys)
        for start in range(0, len(remaining), _DELETIONS_PER_CALL):
            self._run(_delete, remaining[start : start + _DELETIONS_PER_CALL])

    def commit(self, generation: int, metadata: Mapping[str, str] | None = None) -> None:
        """Make all changes durable in one step, marked with a generation and metadata (such as fingerprints)."""
        self._run(lambda store: store.commit(generation, metadata or {}))

    def refresh(self) -> None:
        """Make all changes so far searchable, committed or not."""
        self._run(lambda store: store.refresh())

    def stop_writing(self) -> None:
        """Search on as it is, and let another object open the directory; changes after the last commit are lost."""
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
        """As :meth:`search`, with the least upper bound of the query's score.

        - ``psq``: BM25 once per group, with ``tf_e = sum_f w_f tf_f`` and ``df_e = sum_f w_f df_f``, over
          index terms (Darwish & Oard 2003). A sum of weights of one term above 1 counts as 1.
        - ``smt``: ``sum_f w_f BM25(f)`` per group, over folded words.
        - ``none``: as ``smt``, over index terms.

        All times the group's weight. Groups none of whose terms are in the index add nothing.

        Raises:
            ValueError: for a ``k`` below 1, and for a weight that is not a positive number.
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
        """As :meth:`rank`, with the statistics that its scores rest on, for
        :func:`~dragoman.indexes.explanation.explain`.
        """

        store = self._store
        arrays = store.queries.arrays(language) if store and query.method != "smt" else None
        if arrays:
            return arrays.rank(query, k, bm25 or _BM25), arrays.statistics(query)

        def both(_: LuceneStore) -> tuple[Ranking, Statistics]:
            return self.rank(query, language, k, bm25), self._run(
                lambda store: store.queries.terms.statistics(query, language)
            )

        return self._run(both)

    def document_count(self, language: str | None = None) -> int:
        """How many searchable documents there are: all, or those of a language with any index term.

        In an index too large for :mod:`~dragoman.indexes.memory.snapshot`, counts of a language include deleted
        documents until Lucene merges them away, as its statistics do.
        """
        if language is None:
            return self._run(lambda store: store.documents())
        return self._run(lambda store: store.queries.document_count(language))

    def document_frequency(self, language: str, term: str) -> int:
        """How many documents in ``language`` hold the index term; see :meth:`document_count` for deleted ones."""
        return self.document_frequencies(language, [term])[term]

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""
        return self._run(lambda store: store.queries.document_frequencies(language, terms))

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """The (at most 50) index terms in ``language`` that sound like ``term``, with similarities in (0, 1]."""
        store = self._store
        arrays = store.queries.arrays(language) if store else None
        known = arrays.sounding(term) if arrays else None
        return self._run(lambda store: store.queries.terms.sounding(language, term)) if known is None else known

    def verify(self) -> None:
        """Read all files and compare their checksums; raises :class:`IndexCorrupt`."""
        self._run(lambda store: store.verify())

    def close(self) -> None:
        """Let go of the files; changes after the last commit are lost. Closing twice is harmless."""

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
