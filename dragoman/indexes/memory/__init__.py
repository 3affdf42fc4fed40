"""BM25 in memory: postings as arrays, scored by any thread without Java."""
