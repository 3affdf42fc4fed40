"""Documents that cannot be indexed have a list of their own."""

import sqlalchemy as sa
from alembic import op

revision = "0010_unindexed"
down_revision = "0009_job_keys"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "unindexed_documents",
        sa.Column("document_key", KEY, autoincrement=False, nullable=False),
        sa.Column("collection_id", KEY, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["document_key"], ["documents.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("document_key"),
    )
    op.create_index("ix_unindexed_documents_collection_id", "unindexed_documents", ["collection_id"])


def downgrade() -> None:
    op.drop_table("unindexed_documents")
