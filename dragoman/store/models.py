"""The tables of the database, which is the source of truth; indexes and compiled tables are derived from it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy import DateTime as SqlDateTime
from sqlalchemy import text as sql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from dragoman.engine.core.names import ID_CHARS

BigKey = BigInteger().with_variant(Integer, "sqlite")


def now() -> datetime:
    return datetime.now(UTC)


class Instant(TypeDecorator[datetime]):
    """A point in time, always read back in UTC, even from SQLite, which stores no time zone."""

    impl = SqlDateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, moment: datetime | None, dialect: Dialect) -> datetime | None:
        if moment is None:
            return None
        if moment.tzinfo is None:
            raise ValueError("a time needs a time zone")
        return moment.astimezone(UTC)

    def process_result_value(self, stored: Any | None, dialect: Dialect) -> datetime | None:
        if stored is None:
            return None
        moment: datetime = stored
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Base(DeclarativeBase):
    """The declarative base; its metadata is what the migrations are compared with."""


class Collection(Base):
    """Documents searched together. ``generation`` grows by one with every change of its documents."""

    __tablename__ = "collections"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    uid: Mapped[str] = mapped_column(String(32), unique=True, default=lambda: uuid4().hex)
    """The name of the index on disk; unlike ``name`` it is never reused."""
    name: Mapped[str] = mapped_column(String(64), unique=True)
    language: Mapped[str] = mapped_column(String(8))
    description: Mapped[str | None] = mapped_column(Text)
    late_interaction: Mapped[bool | None] = mapped_column(Boolean)
    """Whether states of subwords are kept; null: up to the size that the settings have."""
    entities: Mapped[bool] = mapped_column(Boolean, default=False, server_default=sql("false"))
    """Whether names are found in its documents."""
    shards: Mapped[int] = mapped_column(Integer, default=1, server_default=sql("1"))
    """How many parts its index is to have."""
    encoder: Mapped[str | None] = mapped_column(Text)
    """What made its embeddings: the encoder, a checksum and the precision; null: it has none."""
    states: Mapped[bool] = mapped_column(Boolean, default=True, server_default=sql("true"))
    """Whether its embeddings have the states of subwords; false once they took more than they may."""
    generation: Mapped[int] = mapped_column(BigInteger, default=0)
    document_count: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(Instant, default=now)

    __table_args__ = ({"sqlite_autoincrement": True},)


class Alias(Base):
    """Another name of a collection; none is a collection's own."""

    __tablename__ = "aliases"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    collection_id: Mapped[int] = mapped_column(BigKey, ForeignKey("collections.id"), index=True)


class Document(Base):
    """A document; ``deleted`` rows are tombstones, which stay until the index has removed the document."""

    __tablename__ = "documents"

    key: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    collection_id: Mapped[int] = mapped_column(BigKey, ForeignKey("collections.id"))
    id: Mapped[str] = mapped_column(String(ID_CHARS))
    language: Mapped[str] = mapped_column(String(8))
    title: Mapped[str | None] = mapped_column(Text)
    title_key: Mapped[str | None] = mapped_column(Text().with_variant(Text(collation="C"), "postgresql"))
    """The title as it is compared with what is typed; see `lexicon.text.beginnings`."""
    text: Mapped[str] = mapped_column(Text)
    metadata_: Mapped[dict[str, Any] | None] = mapped_column("metadata", JSON(none_as_null=True))
    generation: Mapped[int] = mapped_column(BigInteger)
    """When anything but its metadata was written last; embeddings follow this one."""
    metadata_generation: Mapped[int | None] = mapped_column(BigInteger)
    """When its metadata alone was changed last, which indexes follow; null: never since a version that notes it."""
    deleted: Mapped[bool] = mapped_column(Boolean, default=False)

    __table_args__ = (
        UniqueConstraint("collection_id", "id", name="uq_documents_collection_id_id"),
        Index("ix_documents_generation", "collection_id", "generation", "key"),
        Index("ix_documents_key", "collection_id", "key"),
        Index(
            "ix_documents_metadata_generation",
            "collection_id",
            "metadata_generation",
            "key",
            sqlite_where=sql("metadata_generation IS NOT NULL"),
            postgresql_where=sql("metadata_generation IS NOT NULL"),
        ),
        Index(
            "ix_documents_deleted",
            "collection_id",
            sqlite_where=sql("deleted = 1"),
            postgresql_where=sql("deleted"),
        ),
        Index(
            "ix_documents_title",
            "collection_id",
            "title_key",
            "key",
            sqlite_where=sql("title_key IS NOT NULL AND deleted IS 0"),
            postgresql_where=sql("title_key IS NOT NULL AND deleted IS false"),
        ),
        {"sqlite_autoincrement": True},
    )


class UnindexedDocument(Base):
    """One generation of a document that could not be indexed; a later generation is another matter."""

    __tablename__ = "unindexed_documents"

    document_key: Mapped[int] = mapped_column(
        BigKey, ForeignKey("documents.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    collection_id: Mapped[int] = mapped_column(BigKey, index=True)
    generation: Mapped[int] = mapped_column(BigInteger)
    reason: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Instant, default=now)


class DocumentEmbedding(Base):
    """What the collection's encoder made of one generation of a document; arrays are little-endian and row by row."""

    __tablename__ = "document_embeddings"

    document_key: Mapped[int] = mapped_column(
        BigKey, ForeignKey("documents.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    collection_id: Mapped[int] = mapped_column(BigKey)
    generation: Mapped[int] = mapped_column(BigInteger)
    spans: Mapped[bytes] = mapped_column(LargeBinary)
    """(passages, 2) int32"""
    vectors: Mapped[bytes] = mapped_column(LargeBinary)
    """(passages, width) float32"""
    sentences: Mapped[bytes] = mapped_column(LargeBinary)
    """(sentences, 3) int32: passage, start and end"""
    sentence_codes: Mapped[bytes] = mapped_column(LargeBinary)
    """(sentences, width) int8"""
    state_counts: Mapped[bytes | None] = mapped_column(LargeBinary)
    """(passages,) int32: subwords"""
    state_codes: Mapped[bytes | None] = mapped_column(LargeBinary)
    """(subwords, size) uint8"""
    checksum: Mapped[int | None] = mapped_column(BigInteger)
    """CRC-32 of spans, vectors, sentences and their codes; null: an earlier version stored it."""
    states_checksum: Mapped[int | None] = mapped_column(BigInteger)
    """CRC-32 of the two columns of states."""

    __table_args__ = (Index("ix_document_embeddings_generation", "collection_id", "generation", "document_key"),)


class DocumentEntities(Base):
    """The names in one generation of a document; another generation of it has not been read for names yet."""

    __tablename__ = "document_entities"

    document_key: Mapped[int] = mapped_column(
        BigKey, ForeignKey("documents.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    generation: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[bool] = mapped_column(Boolean, default=False)
    mentions: Mapped[list[Any]] = mapped_column("found", JSON)
    """For each name its field, start, end, label and score, in the order of the document."""


class Secret(Base):
    """What all processes over the database share, and nobody else knows."""

    __tablename__ = "secrets"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class EntityName(Base):
    """One form by which a document is found: a whole name or a word of a person's, and a skeleton of its sounds."""

    __tablename__ = "entity_names"

    document_key: Mapped[int] = mapped_column(
        BigKey, ForeignKey("document_entities.document_key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    position: Mapped[int] = mapped_column("number", Integer, primary_key=True, autoincrement=False)
    collection_id: Mapped[int] = mapped_column(BigKey)
    name: Mapped[str] = mapped_column(Text)
    sound: Mapped[str] = mapped_column(Text)

    __table_args__ = (
        Index("ix_entity_names_name", "collection_id", "name"),
        Index("ix_entity_names_sound", "collection_id", "sound"),
    )


class TranslationTable(Base):
    """A named translation table; its content is in its versions."""

    __tablename__ = "translation_tables"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    source: Mapped[str] = mapped_column(String(8))
    target: Mapped[str] = mapped_column(String(8))
    created_at: Mapped[datetime] = mapped_column(Instant, default=now)

    __table_args__ = ({"sqlite_autoincrement": True},)


class TableVersion(Base):
    """One upload of a table. Only ``ready`` versions can be active, and at most one per table is.

    A ``building`` version has a negative number and is not visible. A ``deleted`` version keeps its number, without
    entries, so that the number is never reused.
    """

    __tablename__ = "table_versions"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    table_id: Mapped[int] = mapped_column(BigKey, ForeignKey("translation_tables.id"))
    version: Mapped[int] = mapped_column(Integer)
    checksum: Mapped[str] = mapped_column(String(64), default="")
    kind: Mapped[str] = mapped_column(String(16), default="statistical")
    """``statistical`` or ``glossary``; an active glossary outranks active statistical tables."""
    weight: Mapped[float] = mapped_column(Double, default=1.0)
    format: Mapped[str] = mapped_column(String(16), default="tsv")
    state: Mapped[str] = mapped_column(String(16), default="building")
    active: Mapped[bool] = mapped_column(Boolean, default=False)
    source_terms: Mapped[int] = mapped_column(BigInteger, default=0)
    entries: Mapped[int] = mapped_column(BigInteger, default=0)
    rejected: Mapped[int] = mapped_column(BigInteger, default=0)
    pruned: Mapped[int] = mapped_column(BigInteger, default=0)
    written_forms: Mapped[bool] = mapped_column(Boolean, default=True, server_default=sql("true"))
    """Whether its entries keep how their terms were written; those of earlier versions of the schema do not."""
    probabilities: Mapped[bool] = mapped_column(Boolean, default=True, server_default=sql("true"))
    """Whether any probability was given; if none was, they follow from the pairs alone."""
    created_at: Mapped[datetime] = mapped_column(Instant, default=now)
    created_by: Mapped[str | None] = mapped_column(String(128))

    __table_args__ = (
        UniqueConstraint("table_id", "version", name="uq_table_versions_table_id_version"),
        Index(
            "uq_table_versions_active",
            "table_id",
            unique=True,
            sqlite_where=sql("active = 1"),
            postgresql_where=sql("active"),
        ),
        {"sqlite_autoincrement": True},
    )


class TableEntry(Base):
    """One translation of a version: P(target|source) and P(source|target); ``position`` keeps their order.

    ``source`` and ``target`` are folded. How a term was written is kept where that differs.
    """

    __tablename__ = "table_entries"

    version_id: Mapped[int] = mapped_column(BigKey, ForeignKey("table_versions.id"), primary_key=True)
    position: Mapped[int] = mapped_column("number", Integer, primary_key=True, autoincrement=False)
    source: Mapped[str] = mapped_column(Text)
    target: Mapped[str] = mapped_column(Text)
    p_ts: Mapped[float] = mapped_column(Double)
    p_st: Mapped[float] = mapped_column(Double)
    source_written: Mapped[str | None] = mapped_column(Text)
    target_written: Mapped[str | None] = mapped_column(Text)

    __table_args__ = ({"sqlite_with_rowid": False},)


class ApiKey(Base):
    """An API key, stored only as a hash. Rows of revoked keys stay, because the audit log refers to them."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the whole key, hexadecimal."""
    name: Mapped[str] = mapped_column(String(64), default="")
    scopes: Mapped[list[str]] = mapped_column(JSON)
    limited: Mapped[bool] = mapped_column(Boolean, default=False, server_default=sql("false"))
    """Whether it sees only the collections of its rows of :class:`KeyCollection`."""
    tables: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    """The translation tables that it sees; null: all."""
    owner_id: Mapped[str | None] = mapped_column(String(12))
    """The first of the keys that it replaces one after another, which own jobs together; null: it replaces none."""
    requests_per_second: Mapped[float | None] = mapped_column(Double)
    burst: Mapped[int | None] = mapped_column(Integer)
    concurrent_requests: Mapped[int | None] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(Instant, default=now)
    expires_at: Mapped[datetime | None] = mapped_column(Instant)
    last_used_at: Mapped[datetime | None] = mapped_column(Instant)
    revoked_at: Mapped[datetime | None] = mapped_column(Instant)


class KeyCollection(Base):
    """A collection that a limited key was given, by a name; null in ``collection_id``: none was created so yet."""

    __tablename__ = "key_collections"

    key_id: Mapped[str] = mapped_column(String(12), ForeignKey("api_keys.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(64), index=True)
    collection_id: Mapped[int | None] = mapped_column(BigKey, ForeignKey("collections.id"), index=True)


class AuditEntry(Base):
    """One action of an administrator, written before the action and completed after it."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(Instant, default=now)
    key_id: Mapped[str | None] = mapped_column(String(12))
    actor: Mapped[str] = mapped_column(String(128))
    action: Mapped[str] = mapped_column(String(64))
    object: Mapped[str] = mapped_column(String(640))
    outcome: Mapped[str] = mapped_column(String(32))
    request_id: Mapped[str | None] = mapped_column(String(128))

    __table_args__ = ({"sqlite_autoincrement": True},)


class ServiceInstance(Base):
    """The last instance of the service that used the database; at most one row."""

    __tablename__ = "service_instance"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    instance_id: Mapped[int] = mapped_column("number", BigInteger)
    name: Mapped[str] = mapped_column(Text)
    since: Mapped[datetime] = mapped_column(Instant, default=now)


class Job(Base):
    """A batch of requests. While it is ``uploading`` it is not visible and does not run."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    type: Mapped[str] = mapped_column(String(16))
    tag: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(16), index=True)
    message: Mapped[str | None] = mapped_column(Text)
    idempotency_key: Mapped[str | None] = mapped_column(String(255), unique=True)
    """SHA-256 of the API key's id and what it sent; what was sent itself in older rows."""
    fingerprint: Mapped[str] = mapped_column(String(64), default="")
    """SHA-256 of the parameters and the body, which identifies a repeated request."""
    key_id: Mapped[str | None] = mapped_column(String(12))
    """The API key that made it; null: an open service did, or a version that did not write it down."""
    owner_id: Mapped[str | None] = mapped_column(String(12))
    """The ``owner_id`` of that key; null: it had none."""
    limited: Mapped[bool] = mapped_column(Boolean, default=False, server_default=sql("false"))
    """Whether the key is limited to some collections or tables, so that its lines are answered within its limits."""
    total: Mapped[int] = mapped_column(BigInteger, default=0)
    completed: Mapped[int] = mapped_column(BigInteger, default=0)
    failed: Mapped[int] = mapped_column(BigInteger, default=0)
    table_versions: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    created_at: Mapped[datetime] = mapped_column(Instant, default=now)
    started_at: Mapped[datetime | None] = mapped_column(Instant)
    finished_at: Mapped[datetime | None] = mapped_column(Instant)
    expires_at: Mapped[datetime] = mapped_column(Instant)

    __table_args__ = (Index("ix_jobs_created_at", "created_at", "id"),)


class JobLine(Base):
    """One line of a job: the request while it is pending, then the answer or the error."""

    __tablename__ = "job_lines"

    job_id: Mapped[str] = mapped_column(String(40), ForeignKey("jobs.id"), primary_key=True)
    line: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    custom_id: Mapped[str | None] = mapped_column(String(ID_CHARS))
    state: Mapped[str] = mapped_column(String(16))
    """``pending``, ``completed`` or ``failed``."""
    request: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The line as sent, compressed with zlib; deleted once it is answered."""
    answer: Mapped[str | None] = mapped_column(Text)
    ids: Mapped[str | None] = mapped_column(Text)
    """What names the line's documents in a TREC run, as JSON: a list for a rerank request, an object for a search."""

    __table_args__ = (
        Index("ix_job_lines_custom_id", "job_id", "custom_id"),
        Index(
            "ix_job_lines_pending",
            "job_id",
            "line",
            sqlite_where=sql("state = 'pending'"),
            postgresql_where=sql("state = 'pending'"),
        ),
    )
