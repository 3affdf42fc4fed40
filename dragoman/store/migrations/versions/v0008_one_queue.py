"""Jobs no longer say which instance works on them, and since when: a database has only one."""

import sqlalchemy as sa
from alembic import op

revision = "0008_one_queue"
down_revision = "0007_entities"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column("jobs", "instance")
    op.drop_column("jobs", "touched_at")


def downgrade() -> None:
    op.add_column("jobs", sa.Column("instance", sa.String(32), nullable=False, server_default=""))
    op.add_column(
        "jobs", sa.Column("touched_at", sa.DateTime(timezone=True), nullable=False, server_default="1970-01-01")
    )
