"""Batch jobs and their lines."""

import sqlalchemy as sa
from alembic import op

revision = "0004_jobs"
down_revision = "0003_service_instance"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
PENDING = sa.text("state = 'pending'")


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("tag", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("message", sa.Text),
        sa.Column("idempotency_key", sa.String(255), unique=True),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("instance", sa.String(32), nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("completed", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("table_versions", sa.JSON, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("started_at", INSTANT),
        sa.Column("finished_at", INSTANT),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("touched_at", INSTANT, nullable=False),
    )
    op.create_index("ix_jobs_status", "jobs", ["status"])
    op.create_index("ix_jobs_created_at", "jobs", ["created_at", "id"])
    op.create_table(
        "job_lines",
        sa.Column("job_id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("line", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("custom_id", sa.String(512)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("request", sa.LargeBinary),
        sa.Column("answer", sa.Text),
        sa.Column("ids", sa.Text),
    )
    op.create_index("ix_job_lines_custom_id", "job_lines", ["job_id", "custom_id"])
    op.create_index(
        "ix_job_lines_pending", "job_lines", ["job_id", "line"], sqlite_where=PENDING, postgresql_where=PENDING
    )


def downgrade() -> None:
    op.drop_table("job_lines")
    op.drop_table("jobs")
