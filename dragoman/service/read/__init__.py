"""HTTP of documents that are read."""
