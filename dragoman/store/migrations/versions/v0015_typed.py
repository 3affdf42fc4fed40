"""Titles are completed by how they begin, and searches and what was done with their hits may be kept for reports."""

import sqlalchemy as sa
from alembic import op

from dragoman.lexicon.text.beginnings import title_key

revision = "0015_typed"
down_revision = "0014_lifecycle"
branch_labels = None
depends_on = None

_BATCH = 5_000
_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    collated = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("documents", sa.Column("title_key", collated, nullable=True))
    _fold_titles(op.get_bind())
    op.create_index(
        "ix_documents_title",
        "documents",
        ["collection_id", "title_key", "key"],
        sqlite_where=sa.text("title_key IS NOT NULL AND deleted IS 0"),
        postgresql_where=sa.text("title_key IS NOT NULL AND deleted IS false"),
    )


def _fold_titles(connection: sa.Connection) -> None:
    documents = sa.table("documents", sa.column("key"), sa.column("title"), sa.column("language"))
    last = 0
    while True:
        rows = connection.execute(
            sa.select(documents.c.key, documents.c.title, documents.c.language)
            .where(documents.c.key > last, documents.c.title.is_not(None))
            .order_by(documents.c.key)
            .limit(_BATCH)
        ).all()
        if not rows:
            return
        last = rows[-1].key
        folded = [{"of": row.key, "folded": title_key(row.title, row.language)} for row in rows]
        connection.execute(sa.text("UPDATE documents SET title_key = :folded WHERE key = :of"), folded)


def downgrade() -> None:
    op.drop_index("ix_documents_title", "documents")
    op.drop_column("documents", "title_key")
