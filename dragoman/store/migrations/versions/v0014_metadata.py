"""A document says when its metadata alone was changed last; documents of a collection are listed by their keys."""

import sqlalchemy as sa
from alembic import op

revision = "0014_metadata"
down_revision = "0013_embeddings"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("documents", sa.Column("metadata_generation", sa.BigInteger(), nullable=True))
    op.create_index("ix_documents_key", "documents", ["collection_id", "key"])


def downgrade() -> None:
    op.drop_index("ix_documents_key", "documents")
    op.drop_column("documents", "metadata_generation")
