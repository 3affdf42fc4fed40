"""Collections and their documents: the database first, then the Lucene index and the embeddings derived from it."""

from dragoman.service.collections import faults

__all__ = ["faults"]
