"""Entries of tables keep how their terms were written, beside what they are folded to."""

import sqlalchemy as sa
from alembic import op

revision = "0011_written_forms"
down_revision = "0010_unindexed"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for column in ("source_written", "target_written"):
        op.add_column("table_entries", sa.Column(column, sa.Text(), nullable=True))
    for column in ("written_forms", "probabilities"):
        op.add_column("table_versions", sa.Column(column, sa.Boolean(), nullable=False, server_default=sa.text("true")))
    op.execute("UPDATE table_versions SET written_forms = false")


def downgrade() -> None:
    for column in ("written_forms", "probabilities"):
        op.drop_column("table_versions", column)
    for column in ("source_written", "target_written"):
        op.drop_column("table_entries", column)
