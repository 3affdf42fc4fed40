"""Reranking with translation knowledge: the translation attention matrix, MAT layers and MART."""
