"""Changes of metadata alone are looked up by their generation, since indexes follow them; and there are secrets."""

import sqlalchemy as sa
from alembic import op

revision = "0015_metadata_changes"
down_revision = "0014_lifecycle"
branch_labels = None
depends_on = None

_INDEX = "ix_documents_metadata_generation"


def upgrade() -> None:
    changed = sa.text("metadata_generation IS NOT NULL")
    op.create_index(
        _INDEX,
        "documents",
        ["collection_id", "metadata_generation", "key"],
        sqlite_where=changed,
        postgresql_where=changed,
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    op.drop_table("secrets")
    op.drop_index(_INDEX, "documents")
