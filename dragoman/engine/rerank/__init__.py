"""Reranking: texts scored for a query along the links of the active tables."""
