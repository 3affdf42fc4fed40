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
    """Migrate a database from the revision ``present`` to the last one.

    Raises:
        Unavailable: the schema of the database is newer than this program.
    """
    config = _configure(connection)
    try:
        if present is not None:
            ScriptDirectory.from_config(config).get_revision(present)
    except CommandError as fault:
        raise Unavailable(
            f"the database belongs to a later version of Dragoman (schema {present}); use that version"
        ) from fault
    command.upgrade(config, "head")


def make_schema(connection: Connection, revision: str) -> bool:
    """Make the schema that ``revision`` had in an empty database; False if there is no such revision."""
    config = _configure(connection)
    if revision not in {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}:
        return False
    command.upgrade(config, revision)
    return True


def _configure(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
