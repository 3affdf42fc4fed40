"""Analyses the documents of one collection and writes them to an index, but for those that cannot be indexed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.engine.indexing.feed import indexed_documents
from dragoman.engine.indexing.lucene.builds import AnyIndex
from dragoman.engine.indexing.lucene.isolation import isolate, write_each
from dragoman.engine.indexing.sources import SourceDocument, UnindexedList
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.documents import IndexedDocument, IndexRow


class DocumentWriter:
    """Writes documents, and lists those that cannot be indexed."""

    def __init__(self, unindexed: UnindexedList, analysis_seconds: float, stopped: Callable[[], bool]) -> None:
        """``analysis_seconds`` is the longest analysis of one document."""
        self._unindexed = unindexed
        self._analysis_seconds = analysis_seconds
        self._stopped = stopped
        self.languages: dict[str, str] = {}
        """The fingerprint of the analysis of each language that was written."""

    def analyse(self, documents: Sequence[IndexedDocument]) -> tuple[list[IndexRow], dict[int, str]]:
        """The analysed documents, and by key the reason for each that cannot be analysed; see :func:`isolate`.

        Raises:
            WorkCancelled: it was stopped.
        """
        return isolate(documents, analysis, self._analysis_seconds, self._stopped)

    def write(self, index: AnyIndex, rows: Sequence[IndexRow]) -> dict[int, str]:
        """Write analysed documents; returns the reasons of those that the index refuses, which are not in it then."""
        for language in {row.language for row in rows}:
            self.languages[language] = analysis(language).fingerprint
        faults = write_each(index.write, rows)
        if faults:
            self._unindexed.put(faults)  # first, since the fault may have closed the index
            self._write_without_words(index, [row for row in rows if row.key in faults])
        return faults

    def _write_without_words(self, index: AnyIndex, rows: Sequence[IndexRow]) -> None:
        """What filters look at, of documents whose words cannot be indexed."""
        without = [IndexRow(row.key, row.language, "", "", "", row.attributes) for row in rows]
        index.delete(list(write_each(index.write, without)))

    def apply(self, index: AnyIndex, documents: Sequence[SourceDocument]) -> bool:
        """Write changed documents, and delete those that are deleted; returns whether there were any of these."""
        deleted = [document.key for document in documents if document.deleted]
        changed = indexed_documents(documents)
        rows, faults = self.analyse(changed)
        if faults:
            unread = [document for document in changed if document.key in faults]
            self._write_without_words(
                index, [IndexRow(row.key, row.language, "", "", "", row.attributes) for row in unread]
            )
        faults |= self.write(index, rows)
        if deleted:
            index.delete(deleted)
        self._unindexed.put(faults, [row.key for row in rows])
        return bool(deleted)
