"""Which database a command works on: a data directory, or a service at an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import Folder
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


@dataclass(frozen=True)
class _Service:
    """The options that name a service."""

    url: Url = None
    key: Key = None


@dataclass(frozen=True)
class Place(Folder, _Service):
    """The options of a command that works on a data directory, or by a service."""

    @contextmanager
    def open(self, *, existing: bool = True) -> Iterator[Database]:
        """The database of the service, or of the data directory, which a server must not have open.

        Raises:
            NotFound: there is no such directory, and it has to be ``existing``.
            Conflict: a server or another command is using it.
        """
        from dragoman.door.database import Database
        from dragoman.door.opening import connect
        from dragoman.engine.core.errors import Conflict, NotFound

        if self.url is not None:
            with connect(self.url, self.key) as opened:
                yield opened
            return
        require("search", "this command")
        from dragoman.door.embedded import Embedded

        settings = self.load_settings()
        if existing and not settings.store.data_dir.is_dir():
            folder = settings.store.data_dir
            raise NotFound(f"there is no data directory {folder}; --data-dir names another, --url a service")
        try:
            embedded = Embedded(settings, background=False)
        except Conflict as fault:
            raise Conflict(f"{fault.__cause__ or fault}; --url is the way to the service that has it open") from fault
        with Database(embedded) as opened:
            yield opened
