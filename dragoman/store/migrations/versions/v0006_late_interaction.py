"""Collections say whether they keep the states of subwords for late interaction."""

import sqlalchemy as sa
from alembic import op

revision = "0006_late_interaction"
down_revision = "0005_norwegian"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("collections", sa.Column("late_interaction", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("collections", "late_interaction")
