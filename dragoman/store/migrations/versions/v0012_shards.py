"""A collection says in how many parts it is indexed."""

import sqlalchemy as sa
from alembic import op

revision = "0012_shards"
down_revision = "0011_written_forms"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("collections", sa.Column("shards", sa.Integer(), nullable=False, server_default=sa.text("1")))


def downgrade() -> None:
    op.drop_column("collections", "shards")
