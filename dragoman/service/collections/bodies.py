"""Collections and documents as responses."""

from __future__ import annotations

from typing import Literal

from dragoman.engine.core.chosen_fields import ChosenFields
from dragoman.engine.core.errors import NotFound
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.dense.collection import Coverage
from dragoman.engine.indexing.dense.indexes import DenseIndexes
from dragoman.engine.indexing.sources import EntitySource
from dragoman.service.collections.schemas import (
    CollectionBody,
    DocumentBody,
    DocumentPageBody,
    EmbeddingsInfo,
    EntitiesInfo,
    ImportBody,
    IndexInfo,
    ListedDocument,
    RejectedLine,
)
from dragoman.store.collections.importing import Imported
from dragoman.store.documents.info import DocumentInfo
from dragoman.store.documents.listing import DocumentPage


def _embeddings(info: CollectionInfo, dense: DenseIndexes) -> EmbeddingsInfo | None:
    try:
        coverage = dense.coverage(info.key)
        if coverage is None:
            if not dense.is_embedded(info.key):
                return None
            coverage = Coverage(missing=info.documents, failed=0, total=info.documents)
    except NotFound:  # deleted meanwhile
        return None
    state: Literal["building", "complete"] = "complete" if coverage.missing == coverage.failed else "building"
    return EmbeddingsInfo(
        state=state,
        embedded=coverage.total - coverage.missing,
        failed=coverage.failed,
        total=coverage.total,
        late_interaction=coverage.states,
    )


def _entities(info: CollectionInfo, entities: EntitySource) -> EntitiesInfo | None:
    if not info.entities:
        return None
    coverage = entities.entity_coverage(info.key)
    state: Literal["building", "complete"] = (
        "complete" if coverage.tagged + coverage.failed == coverage.total else "building"
    )
    return EntitiesInfo(state=state, tagged=coverage.tagged, failed=coverage.failed, total=coverage.total)


def collection_body(info: CollectionInfo, failed: int, dense: DenseIndexes, entities: EntitySource) -> CollectionBody:
    """A collection; ``failed`` documents could not be indexed."""
    return CollectionBody(
        name=info.name,
        language=info.language,
        description=info.description,
        documents=info.documents,
        generation=info.generation,
        shards=info.shards,
        index=IndexInfo(
            state=info.index_state, generation=info.index_generation, failed=failed, shards=info.index_shards
        ),
        embeddings=_embeddings(info, dense),
        entities=_entities(info, entities),
        created_at=info.created_at,
    )


def import_body(done: Imported) -> ImportBody:
    """What came of an import."""
    return ImportBody(
        accepted=done.accepted,
        replaced=done.replaced,
        rejected=[RejectedLine(line=entry.line, id=entry.id, reason=entry.reason) for entry in done.rejected],
        generation=done.generation,
    )


def document_body(info: DocumentInfo) -> DocumentBody:
    """A document as stored."""
    return DocumentBody(
        id=info.id,
        collection=info.collection,
        language=info.language,
        title=info.title,
        text=info.text,
        metadata=info.metadata,
        generation=info.generation,
    )


def page_body(page: DocumentPage, chosen: ChosenFields) -> DocumentPageBody:
    """A page of documents, with the fields that are chosen."""
    return DocumentPageBody(
        documents=[ListedDocument(**chosen.of(document_body(info).model_dump())) for info in page.documents],
        next=page.next,
        total=page.total,
    )
