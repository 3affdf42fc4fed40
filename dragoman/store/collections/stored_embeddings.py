"""The embeddings of documents, in the database."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, delete, false, func, insert, null, select, update

from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.indexing.sources import EmbeddingSource
from dragoman.indexes.dense.index import Embedded
from dragoman.store.collections.stored_documents import StoredDocuments
from dragoman.store.models import Collection, Document, DocumentEmbedding

logger = logging.getLogger("dragoman")

_READ_AT_ONCE = 100
"""Few, since the embedding of a long document takes megabytes."""

_COLUMNS = DocumentEmbedding.__table__.columns
_PRESENT = and_(
    Document.collection_id == DocumentEmbedding.collection_id,
    Document.generation == DocumentEmbedding.generation,
    Document.key == DocumentEmbedding.document_key,
)
"""Joins an embedding with its document, if it is of its present generation; a deletion is a generation of its own."""


class StoredEmbeddings(StoredDocuments, EmbeddingSource):
    """The embeddings of a database."""

    def begin_embeddings(self, collection: int, encoder: str) -> None:
        with self._store.write() as session:
            row = session.get(Collection, collection, with_for_update=True)
            if row is None:
                raise NotFound("the collection has been deleted")
            session.execute(delete(DocumentEmbedding).where(DocumentEmbedding.collection_id == collection))
            row.encoder, row.states = encoder, True

    def rename_encoder(self, collection: int, encoder: str) -> None:
        with self._store.write() as session:
            session.execute(update(Collection).where(Collection.id == collection).values(encoder=encoder))

    def drop_states(self, collection: int) -> None:
        without = {"state_counts": null(), "state_codes": null(), "states_checksum": null()}
        with self._store.write() as session:
            session.execute(update(Collection).where(Collection.id == collection).values(states=False))
            session.execute(
                update(DocumentEmbedding).where(DocumentEmbedding.collection_id == collection).values(**without)
            )

    def drop_embeddings(self, collection: int) -> None:
        with self._store.write() as session:
            session.execute(update(Collection).where(Collection.id == collection).values(encoder=None, states=True))
            session.execute(delete(DocumentEmbedding).where(DocumentEmbedding.collection_id == collection))

    def put_embeddings(self, collection: int, encoder: str, embedded: Sequence[Embedded]) -> set[int]:
        keys = [document.key for document in embedded]
        with self._store.write() as session:
            row = session.get(Collection, collection, with_for_update=True)
            if row is None:
                raise NotFound("the collection has been deleted")
            if row.encoder != encoder:
                raise Unavailable("the embeddings of this collection are made by another encoder now")
            present = select(Document.key, Document.generation).where(
                Document.key.in_(keys), Document.deleted == false()
            )
            current = {row.key: row.generation for row in session.execute(present)}
            unchanged = [document for document in embedded if current.get(document.key) == document.generation]
            session.execute(delete(DocumentEmbedding).where(DocumentEmbedding.document_key.in_(keys)))
            if unchanged:
                session.execute(
                    insert(DocumentEmbedding), [_row(collection, document, row.states) for document in unchanged]
                )
        return {document.key for document in unchanged}

    def embeddings(
        self, collection: int, width: int, state_size: int, keys: Sequence[int] | None = None
    ) -> Iterator[list[Embedded]]:
        of_collection = DocumentEmbedding.collection_id == collection
        present = select(DocumentEmbedding.document_key).join(Document, _PRESENT).where(of_collection)
        columns = [column for column in _COLUMNS if state_size or not column.name.startswith("state")]
        if keys is None:
            with self._store.read() as session:
                keys = list(session.scalars(present))
        ordered = sorted(keys)
        for start in range(0, len(ordered), _READ_AT_ONCE):
            chosen = DocumentEmbedding.document_key.in_(ordered[start : start + _READ_AT_ONCE])
            with self._store.read() as session:
                rows = session.execute(select(*columns).where(chosen)).all()
            embedded = (_read_row(row, width, state_size) for row in rows)
            yield [document for document in embedded if document is not None]

    def embedded_documents(self, collection: int) -> tuple[int, bool]:
        of_collection = DocumentEmbedding.collection_id == collection
        count = select(func.count()).select_from(DocumentEmbedding).join(Document, _PRESENT).where(of_collection)
        with_states = select(DocumentEmbedding.document_key).where(
            of_collection, DocumentEmbedding.state_codes.is_not(None)
        )
        with self._store.read() as session:
            return session.scalar(count) or 0, session.scalar(with_states.limit(1)) is not None


def _row(collection: int, document: Embedded, with_states: bool) -> dict[str, Any]:
    codes = document.sentence_codes if document.sentence_codes is not None else np.zeros(0, np.int8)
    states = document.state_codes if with_states else None
    passages = {
        "spans": np.array(document.spans, "<i4").tobytes(),
        "vectors": document.vectors.astype("<f4").tobytes(),
        "sentences": np.array(document.sentences, "<i4").tobytes(),
        "sentence_codes": codes.tobytes(),
    }
    counts = None if states is None else np.array(document.state_counts, "<i4").tobytes()
    state_codes = None if states is None else states.tobytes()
    return {
        "document_key": document.key,
        "collection_id": collection,
        "generation": document.generation,
        **passages,
        "state_counts": counts,
        "state_codes": state_codes,
        "checksum": _checksum(*passages.values()),
        "states_checksum": None if counts is None or state_codes is None else _checksum(counts, state_codes),
    }


def _checksum(*columns: bytes) -> int:
    checksum = 0
    for column in columns:
        checksum = crc32(column, checksum)
    return checksum


def _check(checksum: int | None, *columns: bytes) -> None:
    """
    Raises:
        ValueError: the columns have another checksum.
    """
    if checksum is not None and _checksum(*columns) != checksum:
        raise ValueError("its checksum is another one")


def _read_row(row: Any, width: int, state_size: int) -> Embedded | None:
    """A document's embedding as it was stored; None for one that is damaged, or lacks states that it should have."""
    try:
        _check(row.checksum, row.spans, row.vectors, row.sentences, row.sentence_codes)
        spans = np.frombuffer(row.spans, "<i4").reshape(-1, 2)
        vectors = np.frombuffer(row.vectors, "<f4").astype(np.float32).reshape(len(spans), width)
        sentences = np.frombuffer(row.sentences, "<i4").reshape(-1, 3)
        codes = np.frombuffer(row.sentence_codes, np.int8).reshape(len(sentences), width)
        counts: list[int] = []
        state_codes: NDArray[np.uint8] | None = None
        if state_size and len(spans):
            if row.state_counts is None or row.state_codes is None:
                return None
            _check(row.states_checksum, row.state_counts, row.state_codes)
            counts = np.frombuffer(row.state_counts, "<i4").tolist()
            state_codes = np.frombuffer(row.state_codes, np.uint8).reshape(sum(counts), state_size)
            if len(counts) != len(spans):
                raise ValueError("its states are not those of its passages")
        if not np.isfinite(vectors).all() or not all(0 <= passage < len(spans) for passage in sentences[:, 0]):
            raise ValueError("its vectors are not numbers, or its sentences lie in no passage")
    except ValueError as fault:
        logger.warning("the embedding of the document with key %s is damaged: %s", row.document_key, fault)
        return None
    return Embedded(
        row.document_key,
        row.generation,
        [(start, end) for start, end in spans.tolist()],
        vectors,
        [(passage, start, end) for passage, start, end in sentences.tolist()],
        codes,
        counts,
        state_codes,
    )
