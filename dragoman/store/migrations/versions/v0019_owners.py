"""A key that replaces another one owns the same jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0019_owners"
down_revision = "0018_key_limits"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("api_keys", "jobs"):
        op.add_column(table, sa.Column("owner_id", sa.String(12), nullable=True))


def downgrade() -> None:
    for table in ("jobs", "api_keys"):
        op.drop_column(table, "owner_id")
