"""What the indexes of collections read from the database, and write to it, as one object."""

from __future__ import annotations

from dragoman.service.collections.sources import IndexSource
from dragoman.service.collections.sql.stored_documents import StoredDocuments
from dragoman.service.collections.sql.stored_entities import StoredEntities
from dragoman.service.collections.sql.unindexed_documents import UnindexedDocuments


class DatabaseSource(StoredDocuments, StoredEntities, IndexSource):
    """Documents, the names in them, and the lists of those that could not be indexed, in the database."""

    def unindexed_list(self, collection: int) -> UnindexedDocuments:
        return UnindexedDocuments(self._store, collection)
