"""``dragoman keys``: API keys. They are stored in the database, which a running server may be using."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dragoman.cli.options import Folder, spread

if TYPE_CHECKING:
    from dragoman.service.access.keys import KeyInfo
    from dragoman.store.database import Store

keys = typer.Typer(help="Create and revoke API keys, even while a server runs.", no_args_is_help=True)

_console = Console(stderr=True)

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

ExpiresIn = Annotated[
    str | None,
    typer.Option(envvar="DRAGOMAN_EXPIRES_IN", help="Time until it expires, such as 90d, 12h or 30m; default: never."),
]
ExpiresAt = Annotated[
    str | None,
    typer.Option(envvar="DRAGOMAN_EXPIRES_AT", help="When it expires, such as 2030-01-31 or 2030-01-31T12:00:00Z."),
]


@keys.command("create")
@spread
def create(
    scope: Annotated[list[str], typer.Option(envvar="DRAGOMAN_SCOPE", help="search, jobs or admin; repeatable.")],
    name: Annotated[str, typer.Option(envvar="DRAGOMAN_NAME", help="A name for people to read.")] = "",
    expires_in: ExpiresIn = None,
    expires_at: ExpiresAt = None,
    expires_in_days: Annotated[
        float | None, typer.Option(envvar="DRAGOMAN_EXPIRES_IN_DAYS", help="The same in days.", hidden=True)
    ] = None,
    requests_per_second: Annotated[
        float | None, typer.Option(envvar="DRAGOMAN_REQUESTS_PER_SECOND", help="Its own rate limit; 0: no limit.")
    ] = None,
    burst: Annotated[
        int | None, typer.Option(envvar="DRAGOMAN_BURST", help="Its own burst: requests at once after a pause.")
    ] = None,
    concurrent_requests: Annotated[
        int | None,
        typer.Option(envvar="DRAGOMAN_CONCURRENT_REQUESTS", help="Its own limit of concurrent requests; 0: no limit."),
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(envvar="DRAGOMAN_COLLECTION", help="Let it see this collection and no other; repeatable."),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(envvar="DRAGOMAN_TABLE", help="Let it see this translation table and no other; repeatable."),
    ] = None,
    *,
    folder: Folder,
) -> None:
    """Create a key and print it. It is printed only once, because only its hash is stored.

    This works before the first `dragoman serve` too: a missing data directory is created.
    """
    from dragoman.service.access.audit import COMMAND_LINE, Actor, Audit
    from dragoman.service.access.keys import Keys, NewKey

    expiry = _expiry(expires_in if expires_in_days is None else f"{expires_in_days}d", expires_at)
    collections, tables = (tuple(names) if names else None for names in (collection, table))
    new_key = NewKey(
        tuple(scope),
        name,
        expiry,
        requests_per_second,
        burst,
        concurrent_requests,
        collections=collections,
        tables=tables,
    )
    with (
        _database(folder, existing=False) as store,
        Audit(store).record(Actor(COMMAND_LINE), "key.create", name) as recording,
    ):
        stored = Keys(store)
        info, key = stored.create(new_key)
        recording.object = info.label
        first = len(stored.all()) == 1
    if first:
        _say("this is the first key of this database: from now on the service needs a key for every request")
    _show(info, key)


@keys.command("rotate")
@spread
def rotate(
    id: Annotated[str, typer.Argument(help="The key's id, as `dragoman keys list` shows it.")],
    grace: Annotated[
        str, typer.Option(envvar="DRAGOMAN_GRACE", help="How long the old key works beside the new one, such as 24h.")
    ] = "24h",
    expires_in: ExpiresIn = None,
    expires_at: ExpiresAt = None,
    *,
    folder: Folder,
) -> None:
    """Print a new key with the name, scopes and limits of an old one, which expires after a grace period.

    Unless an expiry is given, the new key lives as long as the old one was made for.
    """
    from dragoman.service.access.audit import COMMAND_LINE, Actor, Audit
    from dragoman.service.access.keys import Keys

    expiry, still = _expiry(expires_in, expires_at), _duration(grace, "--grace")
    with (
        _database(folder) as store,
        Audit(store).record(Actor(COMMAND_LINE), "key.rotate", id) as recording,
    ):
        info, key = Keys(store).rotate(id, still, expiry)
        recording.object = f"{id} to {info.label}"
    _say(f"key {id} expires in {grace}; put the new one in its place")
    _show(info, key)


@keys.command("list")
@spread
def list_all(
    *,
    folder: Folder,
) -> None:
    """List all keys, including revoked and expired ones."""
    from dragoman.service.access.keys import Keys

    with _database(folder) as store:
        keys = Keys(store).all()
    columns = ("id", "name", "scopes", "collections", "tables", "state", "created", "expires", "last used")
    shown = Table(*columns, box=None, padding=(0, 2, 0, 0))
    for info in keys:
        shown.add_row(
            info.id,
            escape(info.name),
            ", ".join(info.scopes),
            _names(info.collections),
            _names(info.tables),
            _state(info),
            _when(info.created_at),
            _when(info.expires_at),
            _when(info.last_used_at),
        )
    Console().print(shown)


@keys.command("revoke")
@spread
def revoke(
    id: Annotated[str, typer.Argument(help="The key's id, as `dragoman keys list` shows it.")],
    *,
    folder: Folder,
) -> None:
    """Revoke a key for good; a running server refuses it within a second."""
    from dragoman.service.access.audit import COMMAND_LINE, Actor, Audit
    from dragoman.service.access.keys import Keys

    with (
        _database(folder) as store,
        Audit(store).record(Actor(COMMAND_LINE), "key.revoke", id),
    ):
        Keys(store).revoke(id)
    _say(f"key {id} is revoked")


@keys.command("forget")
@spread
def forget(folder: Folder) -> None:
    """Delete all keys, including revoked ones. A server on loopback is then open again."""
    from dragoman.service.access.audit import COMMAND_LINE, Actor, Audit
    from dragoman.service.access.keys import Keys

    with (
        _database(folder) as store,
        Audit(store).record(Actor(COMMAND_LINE), "key.forget", "all keys"),
    ):
        count = Keys(store).forget()
    _say(f"{count} keys are deleted")


def _names(names: Sequence[str] | None) -> str:
    return "all" if names is None else ", ".join(names) or "none"


@contextmanager
def _database(folder: Folder, existing: bool = True) -> Iterator[Store]:
    """The database, without the data directory's lock; a message is printed if it is created.

    Raises:
        NotFound: with ``existing``, there is no database.
    """
    from dragoman.engine.core.errors import NotFound
    from dragoman.engine.settings import DATABASE
    from dragoman.store.data_dir import make_private
    from dragoman.store.database import open_store

    place = folder.load_settings().store
    notice = ""
    if place.database_url is None and not (place.data_dir / DATABASE).exists():
        if existing:
            raise NotFound(f"there is no database in {place.data_dir}; --data-dir names another folder")
        notice = "a new database is made in" if place.data_dir.is_dir() else "a new data directory is made:"
    if place.database_url is None:
        make_private(place.data_dir)
    with open_store(place.url) as store:
        if notice:
            _say(f"{notice} {place.data_dir.resolve()}; --data-dir names another folder")
        yield store


def _expiry(expires_in: str | None, expires_at: str | None) -> datetime | None:
    if expires_in is not None and expires_at is not None:
        raise typer.BadParameter("give one of --expires-in and --expires-at", param_hint="--expires-at")
    if expires_in is not None:
        try:
            return datetime.now(UTC) + _duration(expires_in, "--expires-in")
        except OverflowError as fault:
            raise typer.BadParameter("is after the year 9999", param_hint="--expires-in") from fault
    if expires_at is None:
        return None
    try:
        moment = datetime.fromisoformat(expires_at)
    except ValueError as fault:
        raise typer.BadParameter(
            "is no time: write it as 2030-01-31 or 2030-01-31T12:00:00Z", param_hint="--expires-at"
        ) from fault
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _duration(written: str, option: str) -> timedelta:
    parts = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([smhdw])", written.strip(), re.ASCII)
    if parts is None:
        raise typer.BadParameter("is no time: write it as 90d, 12h, 30m or 60s", param_hint=option)
    try:
        return timedelta(**{_UNITS[parts[2]]: float(parts[1])})
    except OverflowError as fault:
        raise typer.BadParameter("is too long", param_hint=option) from fault


def _state(info: KeyInfo) -> str:
    if info.revoked_at is not None:
        return "revoked"
    return "active" if info.usable(datetime.now(UTC)) else "expired"


def _show(info: KeyInfo, key: str) -> None:
    until = "" if info.expires_at is None else f", until {_when(info.expires_at)} UTC"
    _say(f"key {info.label} with {', '.join(info.scopes)}{until}; it is not shown again:")
    typer.echo(key)


def _when(moment: datetime | None) -> str:
    return "never" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def _say(message: str) -> None:
    _console.print(message, markup=False, highlight=False, soft_wrap=True)
