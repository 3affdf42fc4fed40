"""Reranking of given documents: the request, the scores, and the response in the format of each client."""
