"""Jobs say which API key made them."""

import sqlalchemy as sa
from alembic import op

revision = "0009_job_keys"
down_revision = "0008_one_queue"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("key_id", sa.String(12), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "key_id")
