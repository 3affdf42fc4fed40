"""Collections that can be searched: text analysis, Lucene's BM25, fusion of several rankings."""

from dragoman.indexes.bm25 import BM25, Hit, Ranking
from dragoman.indexes.documents import IndexedDocument
from dragoman.indexes.errors import IndexClosed, IndexCorrupt, IndexFault, IndexLocked
from dragoman.indexes.fusion import normalised, rrf
from dragoman.indexes.jvm import JavaError, JvmUnavailable
from dragoman.indexes.lucene import LuceneIndex

__all__ = [
    "BM25",
    "Hit",
    "IndexClosed",
    "IndexCorrupt",
    "IndexFault",
    "IndexLocked",
    "IndexedDocument",
    "JavaError",
    "JvmUnavailable",
    "LuceneIndex",
    "Ranking",
    "normalised",
    "rrf",
]
