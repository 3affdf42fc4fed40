"""Collections and their documents; translation tables, their versions and entries."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")
INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    _collections()
    _tables()


def _collections() -> None:
    op.create_table(
        "collections",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("uid", sa.String(32), nullable=False, unique=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("document_count", sa.BigInteger, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "documents",
        sa.Column("key", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("collection_id", BIG_KEY, sa.ForeignKey("collections.id"), nullable=False),
        sa.Column("id", sa.String(512), nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("metadata", sa.JSON),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("deleted", sa.Boolean, nullable=False),
        sa.UniqueConstraint("collection_id", "id", name="uq_documents_collection_id_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_documents_generation", "documents", ["collection_id", "generation", "key"])
    op.create_index(
        "ix_documents_deleted",
        "documents",
        ["collection_id"],
        sqlite_where=sa.text("deleted = 1"),
        postgresql_where=sa.text("deleted"),
    )


def _tables() -> None:
    op.create_table(
        "translation_tables",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("source", sa.String(8), nullable=False),
        sa.Column("target", sa.String(8), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "table_versions",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("table_id", BIG_KEY, sa.ForeignKey("translation_tables.id"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("checksum", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("weight", sa.Double, nullable=False),
        sa.Column("format", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("source_terms", sa.BigInteger, nullable=False),
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("rejected", sa.BigInteger, nullable=False),
        sa.Column("pruned", sa.BigInteger, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("created_by", sa.String(128)),
        sa.UniqueConstraint("table_id", "version", name="uq_table_versions_table_id_version"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_table_versions_active",
        "table_versions",
        ["table_id"],
        unique=True,
        sqlite_where=sa.text("active = 1"),
        postgresql_where=sa.text("active"),
    )
    op.create_table(
        "table_entries",
        sa.Column("version_id", BIG_KEY, sa.ForeignKey("table_versions.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("p_ts", sa.Double, nullable=False),
        sa.Column("p_st", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    for table in ("table_entries", "table_versions", "translation_tables", "documents", "collections"):
        op.drop_table(table)
