"""Collections and their documents: the database first, then the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Row, delete
from sqlalchemy.exc import IntegrityError

from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound
from dragoman.engine.core.key_limits import current_limits
from dragoman.engine.core.names import check_name, is_name
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.dense.indexes import DenseIndexes
from dragoman.engine.indexing.entities import Entities
from dragoman.engine.indexing.filtering import FilterFields
from dragoman.engine.indexing.lucene.builds import IndexState
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.indexing.sources import Unindexed
from dragoman.engine.indexing.stored_text import StoredText
from dragoman.engine.models.tagging import tagger_place
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.lexicon.text.languages import check_language
from dragoman.store.collections.aliases import (
    Aliases,
    check_name_of,
    check_no_alias,
    check_no_target,
    find_collection,
    hold_names,
)
from dragoman.store.collections.changes import change_collection, empty_collection
from dragoman.store.collections.filtered_documents import FilteredDocuments, follow_change
from dragoman.store.collections.granted import (
    bind_created,
    check_name_is_given,
    unbind_deleted,
    visible_collections,
)
from dragoman.store.collections.importing import DocumentImport, Imported, ImportForm
from dragoman.store.collections.rows import CollectionRows
from dragoman.store.collections.statistics import Statistics, collect_statistics
from dragoman.store.collections.stored_documents import StoredDocuments
from dragoman.store.collections.stored_entities import StoredEntities
from dragoman.store.collections.unindexed_documents import counts, retry_all
from dragoman.store.database import Store
from dragoman.store.documents.changing import DocumentChange
from dragoman.store.documents.info import (
    DocumentInfo,
    Generations,
    check_generation,
    document_info,
    find_document,
)
from dragoman.store.documents.listing import DocumentPage
from dragoman.store.documents.patch import DocumentPatch
from dragoman.store.documents.titles import complete_titles
from dragoman.store.models import Collection, Document


class Collections:
    """Creates, fills and deletes collections. Every method may be called from any thread."""

    def __init__(
        self,
        store: Store,
        indexes: Indexes,
        settings: Settings,
        metrics: Metrics,
        dense: DenseIndexes,
        entities: Entities,
    ) -> None:
        self._store = store
        self._documents = StoredDocuments(store)
        self._rows = CollectionRows(store)
        self._names = StoredEntities(store)
        self._indexes = indexes
        self._settings = settings
        self._metrics = metrics
        self._dense = dense
        self._entities = entities
        self._filtered = FilteredDocuments(store, indexes, self._names, self._info)
        self.aliases = Aliases(store)

    def create(
        self,
        name: str,
        language: str,
        description: str | None = None,
        late_interaction: bool | None = None,
        entities: bool = False,
        shards: int = 1,
    ) -> CollectionInfo:
        """Create an empty collection; for the last three see :class:`Collection`.

        Raises:
            InvalidRequest: the name is not allowed, or the language is unknown.
            NotInstalled: there is no tagger, and names are to be found.
            Conflict: there is a collection of this name, or an alias.
        """
        if entities:
            tagger_place(self._settings, "ner")
        try:
            row = Collection(
                name=check_name(name),
                language=check_language(language),
                description=description,
                late_interaction=late_interaction,
                entities=entities,
                shards=shards,
            )
        except ValueError as fault:
            raise InvalidRequest(str(fault)) from fault
        try:
            with self._store.write() as session:
                hold_names(session)
                check_name_is_given(session, row.name)
                check_no_alias(session, row.name)
                session.add(row)
                session.flush()
                bind_created(session, row)
        except IntegrityError as fault:
            raise Conflict(f"there is a collection named '{name}' already") from fault
        try:
            self._indexes.add(row.id)
        except BaseException:
            self._remove(row)
            raise
        return self._info(row)

    def all(self) -> list[CollectionInfo]:
        """All collections by name."""
        return [self._info(row) for row in self._visible(self._rows.read_all())]

    def chosen(self, names: Sequence[str] | None) -> list[CollectionInfo]:
        """The collections of these names or aliases, in their order, each once; all for None.

        Raises:
            NotFound: there is none of a name.
        """
        if names is None:
            return self.all()
        distinct = list(dict.fromkeys(names))
        rows = self._visible(self._rows.find(name for name in distinct if is_name(name)))
        by_name = {row.asked: self._info(row) for row in rows}
        for name in distinct:
            if name not in by_name:
                raise NotFound(f"collections[{names.index(name)}]: there is no collection named {name!r}")
        return list({by_name[name].key: by_name[name] for name in distinct}.values())

    def get(self, name: str) -> CollectionInfo:
        """One collection.

        Raises:
            NotFound: there is none of this name.
        """
        return self._info(self._row(name))

    def delete(self, name: str, expected: Generations = None) -> None:
        """Delete a collection with its documents and its index.

        Raises:
            NotFound: there is none of this name.
            Conflict: an alias stands for it, or the name is an alias.
            PreconditionFailed: it is of none of the expected generations.
        """
        self._remove(self._row(name), name, expected)

    def change(self, name: str, changes: Mapping[str, Any], expected: Generations = None) -> CollectionInfo:
        """Change ``name``, ``description``, ``entities`` or ``shards`` of a collection.

        An index in another number of parts is built in the background, and then swapped in.

        Raises:
            NotFound: there is none of this name.
            NotInstalled: there is no tagger, and names are to be found.
            Conflict: there is a collection of the new name.
            PreconditionFailed: it is of none of the expected generations.
        """
        if changes.get("entities"):
            tagger_place(self._settings, "ner")
        row = change_collection(self._store, self._row(name).id, changes, expected)
        if (index := self._indexes.find(row.id)) is not None:
            index.name = row.name
        self._indexes.follower.follow(row.id)
        self._dense.follow(row.id)
        self._entities.follow(row.id)
        return self._info(row)

    def truncate(self, name: str, expected: Generations = None) -> CollectionInfo:
        """Delete all documents of a collection, which stays.

        Raises:
            NotFound: there is none of this name.
            PreconditionFailed: it is of none of the expected generations.
        """
        row, count = empty_collection(self._store, self._row(name).id, expected)
        if count:
            self._follow(row.id)
            self._metrics.documents("deleted", count)
            self._dense.follow(row.id)
        return self._info(row)

    def statistics(self, name: str) -> Statistics:
        """What a collection holds.

        Raises:
            NotFound: there is none of this name.
        """
        row = self._row(name)
        return collect_statistics(self._store, row, self._indexes.of(row.id).directory)

    def import_documents(
        self, name: str, parts: Iterator[bytes], form: ImportForm | None = None, expected: Generations = None
    ) -> Imported:
        """Store and index the documents of a streamed body, plain or gzip; by default NDJSON.

        When this returns, they are durable and searchable. Invalid lines are rejected individually. A fault of the
        whole body ends the import and keeps the documents before it.

        Raises:
            NotFound: there is no such collection.
            PreconditionFailed: it is of none of the expected generations.
            ServiceError: the rest of the body cannot be read; the message has the line, and what was stored.
        """
        row = self._row(name)
        work = DocumentImport(self._store, self._indexes.of(row.id), row, self._settings, self._metrics, expected)
        try:
            return work.run(parts, form or ImportForm())
        finally:
            self._dense.follow(row.id)
            self._entities.follow(row.id)

    def document(self, name: str, id: str) -> DocumentInfo:
        """One document by its id.

        Raises:
            NotFound: no such collection, or no such document in it.
        """
        row = self._row(name)
        with self._store.read() as session:
            return document_info(find_document(session, row.id, name, id), row.name)

    def change_document(self, name: str, id: str, patch: DocumentPatch, expected: Generations = None) -> DocumentInfo:
        """Change some fields of a document; what the patch leaves out stays. Searches find it as it is returned.

        Raises:
            NotFound: no such collection, or no such document in it.
            ServiceError: as :meth:`DocumentChange.run`.
        """
        row = self._row(name)
        line_bytes = self._settings.uploads.ndjson_line_bytes
        change = DocumentChange(self._store, self._indexes.of(row.id), row, line_bytes)
        document, rewritten = change.run(id, patch, expected)
        if rewritten:
            self._dense.follow(row.id)
            self._entities.follow(row.id)
        else:
            self._follow(row.id)
        return document

    def list_documents(
        self,
        name: str,
        limit: int,
        cursor: str | None = None,
        *,
        texts: bool = True,
        filter: FilterFields | None = None,
    ) -> DocumentPage:
        """A page of the documents, in the order in which they were first stored; see :meth:`DocumentList.page`.

        Raises:
            NotFound: there is no such collection.
            InvalidRequest, Unavailable: the filter is none, or the index cannot be asked.
        """
        return self._filtered.make_list(self._row(name), filter).page(limit, cursor, texts=texts)

    def export(self, name: str, filter: FilterFields | None = None) -> Iterator[bytes]:
        """All documents that the filter leaves as lines that an import takes; see :class:`DocumentList`.

        Raises:
            NotFound, InvalidRequest, Unavailable: as :meth:`list_documents`.
        """
        return self._filtered.make_list(self._row(name), filter).lines()

    def delete_documents(
        self, name: str, filter: FilterFields, *, dry_run: bool = False, expected: Generations = None
    ) -> int:
        """Delete all documents that the filter leaves, or count them for a ``dry_run``; returns how many.

        Raises:
            NotFound, InvalidRequest, Unavailable: as :meth:`list_documents`.
            PreconditionFailed: the collection is of none of the expected generations.
        """
        row = self._row(name)
        if dry_run:
            return self._filtered.count(row, filter, expected)
        deleted = self._filtered.delete(row, filter, expected)
        if deleted:
            self._follow(row.id)
            self._metrics.documents("deleted", deleted)
            self._dense.follow(row.id)
        return deleted

    def delete_document(self, name: str, id: str, expected: Generations = None) -> int:
        """Delete a document; no later search finds it. Returns the collection's new generation.

        The index follows at once, or later if it is being built or broken: searches leave out what is deleted.

        Raises:
            NotFound: no such collection, or no such document in it.
            PreconditionFailed: it is of none of the expected generations.
        """
        row = self._row(name)
        with self._store.write() as session:
            collection = session.get(Collection, row.id, with_for_update=True)
            document = find_document(session, row.id, name, id)
            if collection is None:
                raise NotFound("the collection has been deleted meanwhile")
            check_generation(expected, document_info(document, name).generation, "document")
            collection.generation += 1
            collection.document_count -= 1
            document.deleted, document.generation = True, collection.generation
            document.text, document.title, document.metadata_ = "", None, None
        self._follow(row.id)
        self._metrics.documents("deleted", 1)
        self._dense.follow(row.id)
        return collection.generation

    def by_keys(self, keys: Sequence[int]) -> dict[int, StoredText]:
        """Documents by their database keys, each with the beginning of its text; deleted ones are left out."""
        return self._documents.texts(keys)

    def ids_by_keys(self, keys: Sequence[int]) -> dict[int, str]:
        """The ids of documents by their database keys; deleted ones are left out."""
        return self._documents.ids(keys)

    def languages_by_keys(self, keys: Sequence[int]) -> dict[int, str]:
        """The languages of documents by their database keys; deleted ones are left out."""
        return self._documents.languages(keys)

    def index_of(self, name: str) -> CollectionIndex:
        """The index of a collection by its name.

        Raises:
            NotFound: there is none of this name.
        """
        return self._indexes.of(self._row(name).id)

    def complete_titles(self, collection: int, begun: str, most: int) -> list[str]:
        """At most ``most`` titles of a collection that begin so when they are folded; see :func:`complete_titles`."""
        return complete_titles(self._store, collection, begun, most)

    def list_unindexed(self, name: str, limit: int) -> tuple[list[Unindexed], int]:
        """At most ``limit`` documents of a collection that could not be indexed, and how many there are.

        Raises:
            NotFound: there is no such collection.
        """
        listed = self.index_of(name).unindexed
        return listed.all(limit), listed.count()

    def unindexed_counts(self, collection_id: int | None = None) -> dict[int, int]:
        """How many documents of each collection could not be indexed, by its key; those without any are left out."""
        return counts(self._store, collection_id)

    def retry_unindexed(self, name: str) -> tuple[int, int]:
        """Try the documents again that could not be indexed, those first whose last try is the longest ago.

        Returns how many are indexed now, and how many still are not; a deadline that passes leaves out the last.

        Raises:
            NotFound: there is no such collection.
            Unavailable: its index is being built or is broken.
        """
        return retry_all(self.index_of(name))

    def _follow(self, collection_id: int) -> None:
        if (index := self._indexes.find(collection_id)) is not None:
            follow_change(index)

    def _visible(self, rows: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
        """Those of some collections that whoever asks may see."""
        if current_limits() is None:
            return rows
        with self._store.read() as session:
            visible = visible_collections(session)
        return rows if visible is None else [row for row in rows if row.id in visible]

    def _row(self, name: str) -> Collection:
        with self._store.read() as session:
            row = find_collection(session, name)
        if row is None:
            raise NotFound(f"there is no collection named {name[:64]!r}")
        return row

    def _remove(self, gone: Collection, name: str | None = None, expected: Generations = None) -> None:
        with self._store.write() as session:
            row = session.get(Collection, gone.id, with_for_update=True)  # as whoever writes its documents does
            if row is not None:
                check_generation(expected, row.generation, "collection")
            check_no_target(session, gone.id)
            if name is not None:
                check_name_of(session, row, name)
            unbind_deleted(session, gone.id)
            session.execute(delete(Document).where(Document.collection_id == gone.id))
            session.execute(delete(Collection).where(Collection.id == gone.id))
        self._indexes.follower.drop(gone.id, gone.uid)
        self._dense.follower.drop(gone.id, gone.uid)

    def _info(self, row: Collection | Row[Any]) -> CollectionInfo:
        index = self._indexes.find(row.id)
        return CollectionInfo(
            key=row.id,
            name=row.name,
            language=row.language,
            description=row.description,
            documents=row.document_count,
            generation=row.generation,
            index_state=index.state.value if index else IndexState.BUILDING.value,
            index_generation=index.generation if index else -1,
            languages=index.languages if index else (),
            entities=row.entities,
            shards=row.shards,
            index_shards=index.shards if index else 0,
            created_at=row.created_at,
        )
