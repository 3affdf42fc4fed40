"""What the indexes of collections read from the database, and write to it, as one object."""

from __future__ import annotations

from dragoman.engine.indexing.sources import IndexSource
from dragoman.store.collections.stored_embeddings import StoredEmbeddings
from dragoman.store.collections.stored_entities import StoredEntities
from dragoman.store.collections.unindexed_documents import UnindexedDocuments


class DatabaseSource(StoredEmbeddings, StoredEntities, IndexSource):
    """Documents, their embeddings and names, and the lists of those that could not be indexed, in the database."""

    def unindexed_list(self, collection: int) -> UnindexedDocuments:
        return UnindexedDocuments(self._store, collection)
