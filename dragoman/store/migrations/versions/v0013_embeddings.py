"""Embeddings are stored with their documents, and a collection says what made them."""

import sqlalchemy as sa
from alembic import op

revision = "0013_embeddings"
down_revision = "0012_shards"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("collections", sa.Column("encoder", sa.Text()))
    op.add_column("collections", sa.Column("states", sa.Boolean(), nullable=False, server_default=sa.text("true")))
    op.create_table(
        "document_embeddings",
        sa.Column("document_key", _KEY, autoincrement=False, nullable=False),
        sa.Column("collection_id", _KEY, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("spans", sa.LargeBinary(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.Column("sentences", sa.LargeBinary(), nullable=False),
        sa.Column("sentence_codes", sa.LargeBinary(), nullable=False),
        sa.Column("state_counts", sa.LargeBinary()),
        sa.Column("state_codes", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["document_key"], ["documents.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("document_key"),
    )
    op.create_index(
        "ix_document_embeddings_generation", "document_embeddings", ["collection_id", "generation", "document_key"]
    )


def downgrade() -> None:
    op.drop_table("document_embeddings")
    op.drop_column("collections", "states")
    op.drop_column("collections", "encoder")
