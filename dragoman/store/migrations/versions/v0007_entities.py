"""Collections say whether names are found in their documents; the names found."""

import sqlalchemy as sa
from alembic import op

revision = "0007_entities"
down_revision = "0006_late_interaction"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("collections", sa.Column("entities", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.create_table(
        "document_entities",
        sa.Column("document_key", KEY, autoincrement=False, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("found", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["document_key"], ["documents.key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("document_key"),
    )
    op.create_table(
        "entity_names",
        sa.Column("document_key", KEY, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("collection_id", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sound", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["document_key"], ["document_entities.document_key"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("document_key", "number"),
    )
    op.create_index("ix_entity_names_name", "entity_names", ["collection_id", "name"])
    op.create_index("ix_entity_names_sound", "entity_names", ["collection_id", "sound"])


def downgrade() -> None:
    op.drop_table("entity_names")
    op.drop_table("document_entities")
    op.drop_column("collections", "entities")
