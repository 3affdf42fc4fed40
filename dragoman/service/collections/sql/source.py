"""What the indexes of collections read from the database, and write to it, as one object."""

from __future__ import annotations

from dragoman.service.collections.sql.documents import Documents
from dragoman.service.collections.sql.entities import StoredEntities
from dragoman.service.collections.sql.unindexed import UnindexedDocuments


class DatabaseSource(Documents, StoredEntities):
    """Documents, the names in them, and the lists of those that could not be indexed, in the database.

    It is an :class:`~dragoman.service.collections.sources.IndexSource`, ``EntitySource`` and ``TextSource``.
    """

    def unindexed(self, collection: int) -> UnindexedDocuments:
        """The documents of a collection that could not be indexed."""
        return UnindexedDocuments(self._store, collection)
