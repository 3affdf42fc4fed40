"""Upgrades databases of earlier versions with Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from dragoman.engine.core.errors import Unavailable

MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(connection: Connection, present: str | None) -> None:
    """Migrate a database from the revision ``present`` to the revision ``to``.

    Raises:
        Unavailable: the schema of the database is newer than this program.
    """
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    try:
        if present is not None:
            ScriptDirectory.from_config(config).get_revision(present)
    except CommandError as fault:
        raise Unavailable(
            f"the database belongs to a later version of Dragoman (schema {present}); use that version"
        ) from fault
    command.upgrade(config, "head")
