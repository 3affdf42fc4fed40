"""The names in documents, in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple
from typing import Any

from sqlalchemy import and_, delete, false, func, insert, or_, select, true

from dragoman.engine.indexing.entity_names import Mention, forms, sounds_like, sounds_of
from dragoman.engine.indexing.sources import EntityCoverage, EntitySource, SourceDocument
from dragoman.store.collections.stored_documents import DOCUMENT, StoredCollections
from dragoman.store.models import Collection as CollectionRow
from dragoman.store.models import Document, DocumentEntities, EntityName

_KEYS_AT_ONCE = 1000

_TAGGED = and_(DocumentEntities.document_key == Document.key, DocumentEntities.generation == Document.generation)
"""Joins a document with its names, if they are of its present generation."""


class StoredEntities(StoredCollections, EntitySource):
    """The names in the documents of a database."""

    def untagged_documents(self, collection: int, last: int, limit: int) -> list[SourceDocument]:
        statement = (
            DOCUMENT.outerjoin(DocumentEntities, _TAGGED)
            .where(
                Document.collection_id == collection,
                Document.deleted == false(),
                Document.key > last,
                DocumentEntities.document_key.is_(None),
            )
            .order_by(Document.key)
            .limit(limit)
        )
        with self._store.read() as session:
            return [SourceDocument(*row) for row in session.execute(statement)]

    def put_mentions(
        self, collection: int, documents: Sequence[SourceDocument], mentions: Sequence[Sequence[Mention] | None]
    ) -> None:
        keys = [document.key for document in documents]
        rows: list[dict[str, Any]] = []
        names: list[dict[str, Any]] = []
        with self._store.write() as session:
            session.execute(select(CollectionRow.id).where(CollectionRow.id == collection).with_for_update())
            present = select(Document.key, Document.generation).where(
                Document.key.in_(keys), Document.deleted == false()
            )
            current = {row.key: row.generation for row in session.execute(present)}
            for document, in_document in zip(documents, mentions, strict=True):
                if current.get(document.key) == document.generation:
                    rows.append(_entities_row(document, in_document))
                    names += _name_rows(collection, document, in_document or ())
            session.execute(delete(DocumentEntities).where(DocumentEntities.document_key.in_(keys)))
            if rows:
                session.execute(insert(DocumentEntities), rows)
            if names:
                session.execute(insert(EntityName), names)

    def entity_coverage(self, collection: int) -> EntityCoverage:
        with self._store.read() as session:
            total, read, failed = session.execute(
                select(
                    func.count(),
                    func.count(DocumentEntities.document_key),
                    func.count().filter(DocumentEntities.failed == true()),
                )
                .select_from(Document)
                .outerjoin(DocumentEntities, _TAGGED)
                .where(Document.collection_id == collection, Document.deleted == false())
            ).one()
        return EntityCoverage(read - failed, failed, total)

    def mentions(self, keys: Sequence[int]) -> dict[int, tuple[int, list[Mention]]]:
        columns = (DocumentEntities.document_key, DocumentEntities.generation, DocumentEntities.mentions)
        mentions: dict[int, tuple[int, list[Mention]]] = {}
        with self._store.read() as session:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                chosen = DocumentEntities.document_key.in_(keys[start : start + _KEYS_AT_ONCE])
                rows = session.execute(select(*columns).where(chosen, DocumentEntities.failed == false()))
                for key, generation, in_document in rows:
                    mentions[key] = (generation, [Mention(*mention) for mention in in_document])
        return mentions

    def holding(self, collection: int, names: Collection[str], translations: Collection[str]) -> set[int]:
        sounds = {sound for name in names for sound in sounds_of(name)}
        exact = {*names, *translations}
        alike = or_(EntityName.name.in_(exact), EntityName.sound.in_(sounds))
        keys: set[int] = set()
        with self._store.read() as session:
            candidates = session.scalars(
                select(EntityName.name).where(EntityName.collection_id == collection, alike).distinct()
            )
            same = [form for form in candidates if form in exact or any(sounds_like(form, name) for name in names)]
            for start in range(0, len(same), _KEYS_AT_ONCE):
                keys.update(
                    session.scalars(
                        select(Document.key)
                        .join(DocumentEntities, _TAGGED)
                        .join(EntityName, EntityName.document_key == Document.key)
                        .where(
                            EntityName.collection_id == collection,
                            EntityName.name.in_(same[start : start + _KEYS_AT_ONCE]),
                            Document.deleted == false(),
                        )
                        .distinct()
                    )
                )
        return keys

    def with_names(self, collection: int) -> set[int]:
        statement = (
            select(Document.key)
            .join(DocumentEntities, _TAGGED)
            .join(EntityName, EntityName.document_key == Document.key)
            .where(EntityName.collection_id == collection, Document.deleted == false())
            .distinct()
        )
        with self._store.read() as session:
            return set(session.scalars(statement))


def _entities_row(document: SourceDocument, mentions: Sequence[Mention] | None) -> dict[str, Any]:
    return {
        "document_key": document.key,
        "generation": document.generation,
        "failed": mentions is None,
        "mentions": [astuple(mention) for mention in mentions or ()],
    }


def _name_rows(collection: int, document: SourceDocument, mentions: Sequence[Mention]) -> list[dict[str, Any]]:
    fields = {"title": document.title or "", "text": document.text}
    texts = [(fields[mention.field][mention.start : mention.end], mention.label) for mention in mentions]
    return [
        {
            "document_key": document.key,
            "position": position,
            "collection_id": collection,
            "name": form,
            "sound": sound,
        }
        for position, (form, sound) in enumerate(forms(texts, document.language))
    ]
