"""Keys may be limited to collections and tables, and jobs say whether the key that made them is."""

import sqlalchemy as sa
from alembic import op

revision = "0018_key_limits"
down_revision = "0017_kinds"
branch_labels = None
depends_on = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("limited", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.add_column("api_keys", sa.Column("tables", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("jobs", sa.Column("limited", sa.Boolean(), nullable=False, server_default=sa.text("false")))
    op.create_table(
        "key_collections",
        sa.Column("key_id", sa.String(12), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("collection_id", _KEY, nullable=True),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"]),
        sa.PrimaryKeyConstraint("key_id", "position"),
    )
    op.create_index("ix_key_collections_name", "key_collections", ["name"])
    op.create_index("ix_key_collections_collection_id", "key_collections", ["collection_id"])


def downgrade() -> None:
    op.drop_table("key_collections")
    op.drop_column("jobs", "limited")
    op.drop_column("api_keys", "tables")
    op.drop_column("api_keys", "limited")
