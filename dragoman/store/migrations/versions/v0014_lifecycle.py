"""Metadata of documents has its own generation, documents are listed by key, and collections have aliases."""

import sqlalchemy as sa
from alembic import op

revision = "0014_lifecycle"
down_revision = "0013_embeddings"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("documents", sa.Column("metadata_generation", sa.BigInteger(), nullable=True))
    op.create_index("ix_documents_key", "documents", ["collection_id", "key"])
    op.create_table(
        "aliases",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("collection_id", _KEY, nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"]),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index("ix_aliases_collection_id", "aliases", ["collection_id"])


def downgrade() -> None:
    op.drop_table("aliases")
    op.drop_index("ix_documents_key", "documents")
    op.drop_column("documents", "metadata_generation")
