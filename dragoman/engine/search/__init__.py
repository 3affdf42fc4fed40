"""A search from the request to its hits: first stage, dense stage, fusion, reranking, snippets with evidence."""
