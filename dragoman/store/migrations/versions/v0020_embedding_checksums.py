"""Embeddings have checksums; those that were stored before have none, and are not checked."""

import sqlalchemy as sa
from alembic import op

revision = "0020_embedding_checksums"
down_revision = "0019_owners"
branch_labels = None
depends_on = None

_COLUMNS = ("checksum", "states_checksum")


def upgrade() -> None:
    for column in _COLUMNS:
        op.add_column("document_embeddings", sa.Column(column, sa.BigInteger(), nullable=True))


def downgrade() -> None:
    for column in reversed(_COLUMNS):
        op.drop_column("document_embeddings", column)
