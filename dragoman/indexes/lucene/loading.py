"""Loading of an existing Lucene index into memory. All functions run on the thread that owns Java."""

from __future__ import annotations

from typing import Any

from dragoman.indexes.documents import Row
from dragoman.indexes.java import classes as java
from dragoman.indexes.lucene.fields import term_field
from dragoman.indexes.lucene.tools import toolbox
from dragoman.indexes.memory.snapshot import MemoryIndex

__all__ = ["load"]

_DOCUMENTS_PER_BATCH = 1_000


def load(reader: Any, memory: MemoryIndex) -> None:
    """Add all live documents of ``reader`` to ``memory``."""
    count = reader.maxDoc()
    if not count:
        return
    collector = java.TopFieldCollector.create(toolbox().by_document, count, count)
    java.IndexSearcher(reader).search(java.MatchAllDocsQuery(), collector)
    stored = reader.storedFields()
    prefix = len(term_field(""))
    rows: list[Row] = []
    for document, _, key in toolbox().fields(collector):
        if len(rows) >= _DOCUMENTS_PER_BATCH:
            memory.add(rows)
            rows = []
            if not memory.complete:
                return
        terms = stored.document(document).getFields().get(0)
        rows.append(Row(key, terms.name()[prefix:], "", terms.stringValue(), ""))
    memory.add(rows)
