"""Searchable collections: text analysis, BM25 with Lucene, dense search, fusion of rankings."""

from dragoman.installation import needed_for

with needed_for("dragoman.indexes"):
    from dragoman.indexes.bm25 import BM25, Hit, Ranking
    from dragoman.indexes.dense.index import DenseHit, DenseIndex, Embedded
    from dragoman.indexes.documents import IndexedDocument
    from dragoman.indexes.errors import IndexClosed, IndexCorrupt, IndexFault, IndexLocked
    from dragoman.indexes.fusion import merge_by_share, rrf
    from dragoman.indexes.java.jvm import JavaError, JvmUnavailable
    from dragoman.indexes.lucene.lucene_index import LuceneIndex
    from dragoman.lexicon.text.passages import passages, sentences

__all__ = [
    "BM25",
    "DenseHit",
    "DenseIndex",
    "Embedded",
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
    "merge_by_share",
    "passages",
    "rrf",
    "sentences",
]
