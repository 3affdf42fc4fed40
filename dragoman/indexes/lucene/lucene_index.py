"""A collection's Lucene index: adds documents, returns ranked keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.analysis.spellings import likely_skeletons, most_alike
from dragoman.indexes.bm25 import Parts
from dragoman.indexes.documents import IndexedDocument, IndexRow, analyse_documents, batches
from dragoman.indexes.errors import IndexClosed, index_faults
from dragoman.indexes.java import jvm
from dragoman.indexes.lucene import queries
from dragoman.indexes.lucene.fields import term_field
from dragoman.indexes.lucene.files import check_files
from dragoman.indexes.lucene.listing import Matched, SortField, Values, ask_matches, ask_values
from dragoman.indexes.lucene.lucene_store import LuceneStore
from dragoman.indexes.lucene.queries import Lease, PreparedQuery, Scored
from dragoman.indexes.lucene.searched_index import Filtered, SearchedIndex
from dragoman.indexes.lucene.stored_commit import StoredCommit
from dragoman.indexes.shard_group import Unsearched
from dragoman.lexicon.text.tokens import Analysis

__all__ = ["IndexedDocument", "LuceneIndex"]

_CACHED_SOUNDS = 4_096
_CACHED_FREQUENCIES = 16_384

P = ParamSpec("P")
T = TypeVar("T")


class LuceneIndex(SearchedIndex):
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

    def __init__(self, directory: Path, locked: bool = True, reading: bool = False) -> None:
        """Without ``locked`` nothing keeps a second writer out of the directory, and an open index has no file
        descriptor. Its owner has to be the only one. With ``reading`` another process writes it: this object sees the
        last commit, and :meth:`refresh` the next one."""
        self.directory = directory
        self.shards = 1
        self.damage = None  # never: an index of one part raises what is wrong with it
        if not reading:
            directory.mkdir(parents=True, exist_ok=True)
        self.refreshes = 0
        """How often it was refreshed: between two times all answers are the same."""
        self._sounds: dict[tuple[str, str], list[tuple[str, float]]] = {}
        self._sharing: dict[tuple[str, tuple[str, ...]], Sequence[str]] = {}
        self._frequencies: dict[tuple[str, str], int] = {}
        with index_faults(directory):
            self._store: LuceneStore | None = jvm.run(_open, directory, locked, reading)

    def _run(self, function: Callable[Concatenate[LuceneStore, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        store = self._store
        if store is None:
            raise IndexClosed(self.directory, "is closed")
        with index_faults(self.directory):
            return jvm.run(function, store, *args, **kwargs)

    def add(self, documents: Iterable[IndexedDocument], analyses: Mapping[str, Analysis]) -> None:
        """Add documents, each analysed in its language; a document with a known key is replaced.

        Raises:
            KeyError: if ``analyses`` has no entry for a language; earlier documents may have been added.
        """
        for batch in batches(documents):
            self.write(analyse_documents(batch, analyses))

    def write(self, rows: Sequence[IndexRow]) -> None:
        """Add analysed documents; a document with a known key is replaced."""
        if rows:
            self._run(LuceneStore.write, rows)

    def delete(self, keys: Collection[int]) -> None:
        """Delete documents by key; unknown keys are ignored."""
        self._run(LuceneStore.delete, list(keys))

    def commit(self, generation: int, metadata: Mapping[str, str] | None = None) -> None:
        """Make all changes durable atomically, with a generation and metadata (such as fingerprints)."""
        self._run(LuceneStore.commit, generation, metadata or {})

    def refresh(self) -> None:
        """Make all changes so far searchable, even uncommitted ones."""
        self._run(LuceneStore.refresh)
        self.end_refresh()

    def prepare_refresh(self) -> None:
        """Open what is to be searchable, for who refreshes several indexes at one moment."""
        self._run(LuceneStore.prepare_refresh)

    def end_refresh(self) -> None:
        """Forget what was so before."""
        self._run(lambda store: store.end_refresh())
        self._sounds, self._sharing, self._frequencies = {}, {}, {}
        self.refreshes += 1

    def stop_writing(self) -> None:
        """Become read-only, so that another object can open the directory; uncommitted changes are lost."""
        self._run(LuceneStore.stop_writing)

    @property
    def generation(self) -> int:
        """The generation of the last commit; 0 for a new index."""
        return self._run(lambda store: store.generation)

    @property
    def newest_generation(self) -> int:
        """The same: there is one part."""
        return self.generation

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the last commit."""
        return self._run(lambda store: dict(store.metadata))

    def score(self, query: PreparedQuery, k: int, lease: Lease | None = None) -> Scored:
        """The ``k`` best documents. A ``lease`` has the snapshot and the statistics by which documents are scored.

        Raises:
            LeaseExpired: the snapshot is there no longer.
        """
        if k < 1:
            raise ValueError(f"k is {k}; it must be at least 1")
        return self._run(lambda store: queries.score(store.searcher, query, k, lease))

    def score_documents(self, query: PreparedQuery, keys: Sequence[int], lease: Lease | None = None) -> Parts:
        """The scores of the documents ``keys``; a ``lease`` is that of :meth:`score`."""
        return self._run(lambda store: queries.score_documents(store.searcher, query, keys, lease))

    @property
    def searchers(self) -> list[Any]:
        return self._run(lambda store: [store.searcher])

    def begin(self, query: PreparedQuery, version: int = 0) -> Lease:
        """The statistics of a query's terms, and the snapshot that has them, which stays until :meth:`end`.

        ``version`` is of a snapshot that somebody holds; 0 stands for the present one, as for the other methods.
        """
        return self._run(lambda store: queries.begin(store.searcher, query, version))

    def end(self, lease: Lease) -> None:
        """Let the snapshot of :meth:`begin` go."""
        self._run(lambda store: store.searcher.endLease(lease.version))

    def select_keys(self, program: str, version: int = 0) -> Filtered:
        return Filtered(self._run(lambda store: np.array(store.searcher.keys(version, program), np.int64)))

    def matches(
        self,
        query: PreparedQuery,
        numbers: NDArray[np.int64],
        facets: Sequence[str] = (),
        order: Sequence[SortField] = (),
        k: int = 1,
        version: int = 0,
    ) -> Matched:
        return self._run(lambda store: ask_matches(store.searcher, query, numbers, facets, order, k, version))

    def values(self, fields: Sequence[str], keys: Sequence[int]) -> list[Values]:
        return self._run(lambda store: ask_values(store.searcher, fields, keys))

    def document_count(self, language: str | None = None) -> int:
        """The number of searchable documents: all, or those with at least one index term in ``language``."""
        return self._run(lambda store: int(store.searcher.documents(*([term_field(language)] if language else []))))

    def document_frequency(self, language: str, term: str) -> int:
        """The document frequency of an index term."""
        return self.document_frequencies(language, [term])[term]

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        frequencies = self._frequencies  # a later refresh has another
        frequency_of = ((term, frequencies.get((language, term))) for term in terms)  # another thread may empty it
        remembered = {term: frequency for term, frequency in frequency_of if frequency is not None}
        if self._store is not None and len(remembered) == len(terms):
            return remembered
        missing = [term for term in terms if term not in remembered]
        read = self._run(lambda store: queries.document_frequencies(store.searcher, language, missing))
        if len(frequencies) + len(read) > _CACHED_FREQUENCIES:
            frequencies.clear()
        if len(read) <= _CACHED_FREQUENCIES:
            frequencies.update(((language, term), frequency) for term, frequency in read.items())
        return {term: read[term] if term in read else remembered[term] for term in terms}

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        sounds = self._sounds  # a later refresh has another
        similar_terms = sounds.get((language, term))
        if similar_terms is None:
            candidates = self.sharing_skeleton(language, term)
            if len(sounds) >= _CACHED_SOUNDS:
                sounds.clear()
            similar_terms = sounds[language, term] = most_alike(term, candidates, language)
        return similar_terms

    def sharing_skeleton(self, language: str, term: str) -> Sequence[str]:
        """The index terms that may sound like ``term``; those of the last one are kept, as there may be very many."""
        cached, key = self._sharing, (language, likely_skeletons(term, language))
        candidates = cached.get(key)
        if candidates is None:
            candidates = self._run(lambda store: queries.sharing_skeleton(store.searcher, language, term))
            cached.clear()
            cached[key] = candidates
        return candidates

    def vocabulary(
        self, language: str, sounding: Collection[str], held: Collection[str]
    ) -> tuple[dict[str, Sequence[str]], dict[str, int]]:
        """For each of some terms the index terms that may sound like it, and the document frequencies of others."""
        candidates = {term: self.sharing_skeleton(language, term) for term in sounding}
        return candidates, self.document_frequencies(language, held)

    def prefetch(self, language: str, sounding: Collection[str], held: Collection[str]) -> Sequence[Unsearched]:
        return ()  # all terms are here

    def verify(self) -> None:
        """Read all files and compare their checksums; raises :class:`IndexCorrupt` if one differs."""
        self._run(lambda store: store.searcher.checkIntegrity())

    def close(self) -> None:
        """Close the index; uncommitted changes are lost. May be called twice."""
        store, self._store = self._store, None
        if store is not None:
            with index_faults(self.directory):
                jvm.run(store.close)

    def __enter__(self) -> LuceneIndex:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _open(directory: Path, locked: bool, reading: bool) -> LuceneStore:
    if reading:  # whoever writes has checked its files
        return StoredCommit(directory)
    check_files(directory)
    return LuceneStore(directory, locked)
