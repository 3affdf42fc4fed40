"""The in-memory index: postings as arrays, scored on any thread without Java."""
