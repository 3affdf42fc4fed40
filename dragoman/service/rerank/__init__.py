"""HTTP of reranking given documents, in the format of each client."""
