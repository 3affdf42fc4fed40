"""``dragoman backup`` and ``restore``: of a data directory or database, also while it is served, or by a service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated

import typer
from rich.console import Console

from dragoman.cli.database import Place
from dragoman.cli.options import spread

_console = Console(stderr=True)


@spread
def backup(
    file: Annotated[Path, typer.Argument(dir_okay=False, help="The file to write.")],
    *,
    place: Place,
) -> None:
    """Write everything to one file as it is in one moment, also while a server works on it."""
    from sqlalchemy import make_url

    from dragoman.door import calls
    from dragoman.door.opening import connect
    from dragoman.engine.core.errors import NotFound
    from dragoman.files.atomic import atomic_file
    from dragoman.store.backup.backup import write_backup
    from dragoman.store.database import existing_store

    with atomic_file(file) as unfinished, _open_private(unfinished) as stream:
        if place.url is not None:
            with connect(place.url, place.key) as opened:
                parts: Iterator[bytes] = opened.send(calls.get_backup())
                stream.writelines(parts)
        else:
            settings = place.load_settings()
            if not settings.store.data_dir.is_dir():
                raise NotFound(f"there is no data directory {settings.store.data_dir}; --data-dir names another")
            database = make_url(settings.store.url)
            if database.get_backend_name() == "sqlite" and not Path(database.database or "").is_file():
                raise NotFound(f"there is no database in {settings.store.data_dir}; --data-dir names another")
            with existing_store(settings.store.url) as store:
                store.check_schema()
                stream.writelines(write_backup(store))
    _tell(f"{file}: {file.stat().st_size} bytes")


@spread
def restore(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A file that `dragoman backup` wrote.")],
    *,
    place: Place,
) -> None:
    """Restore a backup into an empty data directory, database or service: whole, or not at all."""
    from dragoman.door import calls
    from dragoman.door.opening import connect
    from dragoman.files.streams import file_parts

    if place.url is not None:
        with connect(place.url, place.key) as opened:
            rows: dict[str, int] = opened.send(calls.restore_backup(file_parts(file)))
    else:
        rows = _restore_here(file, place)
    _tell(
        f"{file}: {rows['collections']} collections, {rows['documents']} documents,"
        f" {rows['table_versions']} versions of tables"
    )


def _open_private(file: Path) -> IO[bytes]:
    """A file for its owner alone: a backup has all texts, and keys as hashes."""
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def _restore_here(file: Path, place: Place) -> dict[str, int]:
    from contextlib import closing

    from dragoman.files.streams import file_parts
    from dragoman.store.backup.backup import restore_backup
    from dragoman.store.data_dir import DataDirectory
    from dragoman.store.database import existing_store

    settings = place.load_settings()
    with closing(DataDirectory(settings.store.data_dir)), existing_store(settings.store.url) as store:
        store.claim(settings.server.startup_wait_seconds)
        return restore_backup(store, file_parts(file), settings.store.data_dir)


def _tell(line: str) -> None:
    _console.print(line, markup=False, highlight=False, soft_wrap=True)
