"""Upgrades of databases of earlier versions, by Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from dragoman.service.core.errors import Unavailable

MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(connection: Connection, present: str, to: str = "head") -> None:
    """Bring a database of the revision ``present`` to another.

    Raises:
        Unavailable: the database is of a later version than this program.
    """
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    try:
        ScriptDirectory.from_config(config).get_revision(present)
    except CommandError as fault:
        raise Unavailable(
            f"the database is of a later version of Dragoman (schema {present}); use that version"
        ) from fault
    command.upgrade(config, to)
