"""Which database a command works on: a data directory, or a service at an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import load_settings
from dragoman.installation import require

if TYPE_CHECKING:
    from dragoman.door.database import Database

Url = Annotated[
    str | None,
    typer.Option(
        envvar="DRAGOMAN_URL",
        help="Address of a service, such as http://127.0.0.1:8080, instead of --data-dir.",
    ),
]
Key = Annotated[str | None, typer.Option(envvar="DRAGOMAN_KEY", help="API key for --url.")]


@contextmanager
def database(
    url: str | None,
    key: str | None,
    config: Path | None,
    data_dir: Path | None,
    database_url: str | None,
    *,
    existing: bool = True,
) -> Iterator[Database]:
    """The database of a service, or of a data directory, which a server must not have open.

    Raises:
        NotFound: there is no such directory, and it has to be ``existing``.
        Conflict: a server or another command is using it.
    """
    from dragoman.door.database import Database
    from dragoman.door.opening import connect
    from dragoman.engine.core.errors import Conflict, NotFound

    if url is not None:
        with connect(url, key) as opened:
            yield opened
        return
    require("search", "this command")
    from dragoman.door.embedded import Embedded

    settings = load_settings(config, data_dir=data_dir, database_url=database_url)
    if existing and not settings.store.data_dir.is_dir():
        folder = settings.store.data_dir
        raise NotFound(f"there is no data directory {folder}; --data-dir names another, --url a service")
    try:
        embedded = Embedded(settings, background=False)
    except Conflict as fault:
        raise Conflict(f"{fault.__cause__ or fault}; --url is the way to the service that has it open") from fault
    with Database(embedded) as opened:
        yield opened
