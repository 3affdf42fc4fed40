"""Norwegian has one code, nb."""

from alembic import op

revision = "0005_norwegian"
down_revision = "0004_jobs"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("collections", "language"),
    ("documents", "language"),
    ("translation_tables", "source"),
    ("translation_tables", "target"),
)


def upgrade() -> None:
    for table, column in _COLUMNS:
        op.execute(f"UPDATE {table} SET {column} = 'nb' WHERE {column} = 'no'")


def downgrade() -> None:
    pass  # nb is as good a code as no was
