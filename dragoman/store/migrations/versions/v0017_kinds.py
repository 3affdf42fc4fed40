"""Recorded searches have a kind, and titles are completed without marks that folding keeps (``łodz``)."""

import sqlalchemy as sa
from alembic import op

from dragoman.lexicon.text.plain_letters import plain_text

revision = "0017_kinds"
down_revision = "0016_typed"
branch_labels = None
depends_on = None

_BATCH = 5_000


def upgrade() -> None:
    op.add_column("recorded_searches", sa.Column("kind", sa.String(8), nullable=False, server_default="search"))
    connection = op.get_bind()
    documents = sa.table("documents", sa.column("key"), sa.column("title_key"))
    last = 0
    while True:
        rows = connection.execute(
            sa.select(documents.c.key, documents.c.title_key)
            .where(documents.c.key > last, documents.c.title_key.is_not(None))
            .order_by(documents.c.key)
            .limit(_BATCH)
        ).all()
        if not rows:
            return
        last = rows[-1].key
        plain = [{"of": row.key, "plain": text} for row in rows if (text := plain_text(row.title_key)) != row.title_key]
        if plain:
            connection.execute(sa.text("UPDATE documents SET title_key = :plain WHERE key = :of"), plain)


def downgrade() -> None:
    op.drop_column("recorded_searches", "kind")
