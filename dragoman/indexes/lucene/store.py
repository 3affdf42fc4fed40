"""The Lucene files, writer and reader of an index. All functions run on the thread that owns Java."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.indexes.documents import Row
from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.java import classes as java
from dragoman.indexes.lucene.fields import KEY_FIELD, sound_field, term_field, word_field
from dragoman.indexes.lucene.loading import load
from dragoman.indexes.lucene.queries import Queries
from dragoman.indexes.memory.snapshot import MemoryIndex

__all__ = ["LuceneStore"]

FORMAT = "3"
"""Version of the index fields; an index of another version is rebuilt."""

_FORMAT_KEY = "dragoman.format"
_GENERATION_KEY = "dragoman.generation"
_WRITE_LOCK = "write.lock"
_BUFFER_MEGABYTES = 24.0


class _ReusedDocument:
    """One language's Lucene document, reused for every row."""

    def __init__(self, language: str, frequencies: Any, stored: Any, presence: Any) -> None:
        self.document = java.Document()
        self.key = java.StringField(KEY_FIELD, "0", java.Store.NO)
        self.number = java.NumericDocValuesField(KEY_FIELD, 0)
        self.words = java.TextField(word_field(language), "", frequencies)
        self.terms = java.TextField(term_field(language), "", stored)
        self.sounds = java.TextField(sound_field(language), "", presence)
        for field in (self.key, self.number, self.words, self.terms, self.sounds):
            self.document.add(field)

    def filled(self, row: Row) -> Any:
        self.key.setStringValue(str(row.key))
        self.number.setLongValue(row.key)
        self.words.setStringValue(row.words)
        self.terms.setStringValue(row.terms)
        self.sounds.setStringValue(row.sounds)
        return self.document


class LuceneStore:
    """An open index. The state on disk is always that of the last :meth:`commit`."""

    def __init__(self, directory: Path) -> None:
        self._path = directory
        self._directory = java.MMapDirectory(java.File(str(directory)).toPath())
        self._writer: Any = None
        self._reader: Any = None
        self._memory = MemoryIndex()
        try:
            exists, self.generation, self.metadata = self._committed()
            config = java.IndexWriterConfig(_whitespace_analyzer())
            config.setOpenMode(java.OpenMode.APPEND if exists else java.OpenMode.CREATE)
            config.setRAMBufferSizeMB(_BUFFER_MEGABYTES)
            config.setCommitOnClose(False)
            self._writer = java.IndexWriter(self._directory, config)
            if not exists:
                self.commit(0, {})
            self._reader = java.DirectoryReader.open(self._writer)
        except BaseException:
            self.close()
            raise
        if exists:
            load(self._reader, self._memory)
        self.queries = Queries(self._reader, self._memory.snapshot())
        self._frequencies = _field_type(java.IndexOptions.DOCS_AND_FREQS)
        self._stored = _field_type(java.IndexOptions.DOCS_AND_FREQS)
        self._stored.setStored(True)
        self._presence = _field_type(java.IndexOptions.DOCS)
        self._presence.setOmitNorms(True)
        self._reused: dict[str, _ReusedDocument] = {}

    def _committed(self) -> tuple[bool, int, dict[str, str]]:
        """Whether there is a commit, its generation and its metadata."""
        files = {path.name for path in self._path.iterdir()} - {_WRITE_LOCK}
        if not any(name.startswith("segments_") for name in files):
            if files:
                raise IndexCorrupt(self._path, f"has {min(files)!r} but no commit; rebuild it")
            return False, 0, {}
        infos = java.SegmentInfos.readLatestCommit(self._directory)
        data: dict[str, str] = json.loads(java.ObjectMapper().writeValueAsString(infos.getUserData()))
        if data.pop(_FORMAT_KEY, None) != FORMAT:
            raise IndexCorrupt(self._path, "was written by another version; rebuild it")
        return True, int(data.pop(_GENERATION_KEY)), data

    def write(self, rows: Sequence[Row]) -> None:
        """Add documents; a document with a known key is replaced."""
        try:
            self._write(rows)
        except BaseException:
            self._memory.abandon()
            raise
        self._memory.add(rows)

    def _write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            reused = self._reused.get(row.language)
            if reused is None:
                reused = self._reused[row.language] = _ReusedDocument(
                    row.language, self._frequencies, self._stored, self._presence
                )
            self._writer.updateDocument(java.Term(KEY_FIELD, str(row.key)), reused.filled(row))

    def delete(self, keys: Sequence[int]) -> None:
        """Delete documents; unknown keys are ignored."""
        self._writer.deleteDocuments(tuple([java.Term(KEY_FIELD, str(key)) for key in keys]))
        self._memory.remove(keys)

    def commit(self, generation: int, metadata: Mapping[str, str]) -> None:
        """Make all changes durable, with their generation and metadata."""
        data = java.HashMap()
        for name, value in {**metadata, _FORMAT_KEY: FORMAT, _GENERATION_KEY: str(generation)}.items():
            data.put(name, value)
        self._writer.setLiveCommitData(data.entrySet())
        self._writer.commit()
        self.generation, self.metadata = generation, dict(metadata)

    def refresh(self) -> None:
        """Make all changes so far searchable."""
        newer = java.DirectoryReader.openIfChanged(self._reader, self._writer)
        if newer is not None:
            older, self._reader = self._reader, newer
            self.queries = Queries(newer, self._memory.snapshot())
            older.close()

    def documents(self) -> int:
        """The number of searchable documents."""
        return int(self._reader.numDocs())

    def verify(self) -> None:
        """Compare the checksums of all files of the reader; Java raises an exception if one differs."""
        leaves = self._reader.leaves()
        for position in range(leaves.size()):
            leaves.get(position).reader().checkIntegrity()

    def stop_writing(self) -> None:
        """Release the write lock. Searchable documents remain searchable; uncommitted changes are lost."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.rollback()

    def close(self) -> None:
        """Close all files; uncommitted changes are lost."""
        self._memory.abandon()
        for close in (
            self._reader and self._reader.close,
            self._writer and self._writer.rollback,
            self._directory.close,
        ):
            if close:
                close()
        self._reader = self._writer = None


def _whitespace_analyzer() -> Any:
    arguments = java.HashMap()
    arguments.put("maxTokenLen", "1048576")
    return java.CustomAnalyzer.builder().withTokenizer("whitespace", arguments).build()


def _field_type(options: Any) -> Any:
    kind = java.FieldType()
    kind.setIndexOptions(options)
    kind.setTokenized(True)
    return kind
