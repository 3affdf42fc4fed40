"""The last instance of the service that used the database."""

import sqlalchemy as sa
from alembic import op

revision = "0003_service_instance"
down_revision = "0002_access"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "service_instance",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("service_instance")
