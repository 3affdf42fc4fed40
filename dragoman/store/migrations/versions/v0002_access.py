"""API keys, and the audit log of what administrators did."""

import sqlalchemy as sa
from alembic import op

revision = "0002_access"
down_revision = "0001"
branch_labels = None
depends_on = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")
INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(12), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("requests_per_second", sa.Double),
        sa.Column("burst", sa.Integer),
        sa.Column("concurrent_requests", sa.Integer),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT),
        sa.Column("last_used_at", INSTANT),
        sa.Column("revoked_at", INSTANT),
    )
    op.create_table(
        "audit",
        sa.Column("id", BIG_KEY, primary_key=True, autoincrement=True),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("key_id", sa.String(12)),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("object", sa.String(640), nullable=False),
        sa.Column("outcome", sa.String(32), nullable=False),
        sa.Column("request_id", sa.String(128)),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("audit")
    op.drop_table("api_keys")
