"""Titles are completed by how they begin, and searches and what was done with their hits may be kept for reports."""

import sqlalchemy as sa
from alembic import op

from dragoman.lexicon.text.beginnings import title_key

revision = "0016_typed"
down_revision = "0015_metadata_changes"
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
    _make_recorded()


def _make_recorded() -> None:
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "recorded_searches",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("at", instant, nullable=False),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("hashed", sa.Boolean(), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_recorded_searches_at", "recorded_searches", ["at"])
    op.create_table(
        "recorded_words",
        sa.Column("search_id", _KEY, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("target", sa.String(8), nullable=False),
        sa.Column("word", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["search_id"], ["recorded_searches.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("search_id", "position"),
    )
    op.create_table(
        "recorded_events",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("at", instant, nullable=False),
        sa.Column("query_id", sa.String(128), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("action_name", sa.String(64), nullable=False),
        sa.Column("click", sa.Boolean(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_recorded_events_at", "recorded_events", ["at"])
    op.create_index("ix_recorded_events_query_id", "recorded_events", ["query_id", "click"])


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
    for table in ("recorded_events", "recorded_words", "recorded_searches"):
        op.drop_table(table)
    op.drop_index("ix_documents_title", "documents")
    op.drop_column("documents", "title_key")
