"""Options that several commands share. Commands import what they need when they run, which keeps ``--help`` fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dragoman.service.core.settings import Settings
    from dragoman.service.runtime import Runtime

DATA_DIR = Path("data")
DATABASE_URL = None

DataDir = Annotated[
    Path, typer.Option(envvar="DRAGOMAN_DATA_DIR", help="Folder of the database, indexes and compiled tables.")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="DRAGOMAN_DATABASE_URL",
        help="Such as postgresql://user@host/database; default: SQLite in the data directory.",
        show_envvar=True,
    ),
]


def load_settings(**chosen: Any) -> Settings:
    """The settings, from these arguments, then the environment, then the defaults.

    Raises:
        InvalidRequest: a setting is not valid; the message names it and the reason.
    """
    from pydantic import ValidationError

    from dragoman.service.core.errors import InvalidRequest
    from dragoman.service.core.settings import Settings

    try:
        return Settings(**chosen)
    except ValidationError as fault:
        wrong = [
            f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in fault.errors()
        ]
        raise InvalidRequest("; ".join(wrong)) from fault


@contextmanager
def opened(data_dir: Path, database_url: str | None, existing: bool = False, **chosen: Any) -> Iterator[Runtime]:
    """The runtime of a data directory, locked for this process until the block ends; needs no server.

    With ``existing`` the directory has to exist; otherwise it is created if missing. ``chosen`` are other settings.

    Raises:
        NotFound: there is no such directory.
        Conflict: a server or another command is using it.
    """
    from dragoman.service.core.errors import NotFound
    from dragoman.service.runtime import Runtime

    settings = load_settings(data_dir=data_dir, database_url=database_url, **chosen)
    if existing and not data_dir.is_dir():
        raise NotFound(f"there is no data directory {data_dir}; --data-dir names another")
    runtime = Runtime(settings)
    try:
        yield runtime
    finally:
        runtime.close()
