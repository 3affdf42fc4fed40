"""The indexes of collections, and the follower that keeps each of them in step with the documents."""

from dragoman.engine.indexing import faults

__all__ = ["faults"]
