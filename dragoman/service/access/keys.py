"""API keys: created, listed, revoked and verified. The database stores only their hashes."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Literal, get_args

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound, Unauthorized
from dragoman.engine.core.key_limits import KeyLimits
from dragoman.engine.core.names import check_name
from dragoman.store.collections.aliases import hold_names
from dragoman.store.collections.granted import copy_grants, grant, names_given
from dragoman.store.database import Store
from dragoman.store.models import ApiKey, KeyCollection, now

Scope = Literal["search", "jobs", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

NAME_CHARS = 64
LIMIT_MAX = 1_000_000
NAMES_OF_KEY = 1_000
"""Most collections, and most tables, that a key is limited to."""

_KEY = re.compile(r"dragoman_([0-9a-f]{12})_[A-Za-z0-9_-]{43}", re.ASCII)
_SECRET_BYTES = 32
_NOBODYS_DIGEST = "0" * 64
"""Compared where an id is not there, so that an unknown id costs what a wrong secret does."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to create. A limit of None means the limit of the settings; 0 means no limit."""

    scopes: tuple[str, ...]
    name: str = ""
    expires_at: datetime | None = None
    requests_per_second: float | None = None
    burst: int | None = None
    concurrent_requests: int | None = None
    collections: tuple[str, ...] | None = None
    """The only collections that it sees, which may be created later; None for all."""
    tables: tuple[str, ...] | None = None
    """The only translation tables that it sees; None for all."""


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """The stored data of a key; ``id`` is public, and part of the key."""

    id: str
    name: str
    scopes: tuple[str, ...]
    requests_per_second: float | None
    burst: int | None
    concurrent_requests: int | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    digest: str = field(repr=False)
    collections: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None
    first_id: str | None = None
    """The first of the keys that it replaces, one by another; None if it replaces none."""

    @property
    def owner_id(self) -> str:
        """The same for keys that replace each other: their jobs are theirs together."""
        return self.first_id or self.id

    @property
    def limits(self) -> KeyLimits | None:
        """What it may see; None for all that there is."""
        if self.collections is None and self.tables is None:
            return None
        tables = None if self.tables is None else frozenset(self.tables)
        return KeyLimits(key_id=self.id, collections=self.collections is not None, tables=tables)

    @property
    def label(self) -> str:
        """The key's display name."""
        return f"{self.name} ({self.id})" if self.name else self.id

    def usable(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


class Keys:
    """The keys of a database. Every method may be called from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, new: NewKey) -> tuple[KeyInfo, str]:
        """Create a key; returns its stored data and the key itself, which cannot be recovered later.

        Raises:
            InvalidRequest: a field is not allowed; the message names it.
        """
        row, key = _make_key(new)
        with self._store.write() as session:
            hold_names(session)
            session.add(row)
            session.flush()
            grant(session, row.id, new.collections or ())
        return _info(row, new.collections), key

    def all(self) -> list[KeyInfo]:
        """All keys, oldest first, including revoked and expired ones."""
        with self._store.read() as session:
            rows = session.scalars(select(ApiKey).order_by(ApiKey.created_at, ApiKey.id)).all()
            grants = select(KeyCollection).order_by(KeyCollection.key_id, KeyCollection.position)
            by_key = {
                id: [row.name for row in of] for id, of in groupby(session.scalars(grants), lambda row: row.key_id)
            }
        return [_info(row, by_key.get(row.id, ())) for row in rows]

    def limits(self, id: str) -> KeyLimits | None:
        """What a key may see, also one that was revoked; None for all that there is.

        Raises:
            NotFound: it was deleted.
        """
        with self._store.read() as session:
            return _info(_row(session, id)).limits

    def rotate(self, id: str, grace: timedelta, expires_at: datetime | None = None) -> tuple[KeyInfo, str]:
        """Replace a key by a new one with its name, scopes, limits and jobs; it expires ``grace`` from now, or before.

        The new key expires at ``expires_at``; without that it lives as long as the old one was made for.

        Raises:
            NotFound: there is no key of this id.
            Conflict: it was revoked, has expired or was replaced before.
            InvalidRequest: the expiry is not allowed.
        """
        at = now()
        try:
            ends = at + grace
        except OverflowError as fault:
            raise InvalidRequest("grace: is too long") from fault
        with self._store.write() as session:
            row = _row(session, id, lock=True)
            info = _info(row, names_given(session, id))
            if not info.usable(at):
                raise Conflict(f"the key {info.label} was revoked or has expired; make another")
            if expires_at is None and info.expires_at is not None:
                try:
                    expires_at = at + (info.expires_at - info.created_at)
                except OverflowError as fault:
                    raise InvalidRequest("expires_at: a key of this lifetime would expire too late") from fault
            limits = (info.requests_per_second, info.burst, info.concurrent_requests)
            new = NewKey(info.scopes, info.name, expires_at, *limits, collections=info.collections, tables=info.tables)
            successor, key = _make_key(new)
            successor.owner_id = info.owner_id
            session.add(successor)
            session.flush()
            copy_grants(session, id, successor.id)
            row.expires_at = ends if info.expires_at is None else min(ends, info.expires_at)
        return _info(successor, info.collections or ()), key

    def revoke(self, id: str) -> None:
        """Revoke a key for good; nothing changes if it was revoked before.

        Raises:
            NotFound: there is no key of this id.
        """
        with self._store.write() as session:
            row = _row(session, id)
            row.revoked_at = row.revoked_at or now()

    def forget(self) -> int:
        """Delete all keys, including revoked ones; returns how many there were."""
        with self._store.write() as session:
            ids = session.scalars(select(ApiKey.id).with_for_update()).all()
            session.execute(delete(ApiKey).where(ApiKey.id.in_(ids)))
        return len(ids)

    def save_use(self, times: Mapping[str, datetime]) -> None:
        """Save when keys were last used; a later time saved by another process stays."""
        with self._store.write() as session:
            for id, at in times.items():
                earlier = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < at)
                session.execute(update(ApiKey).where(ApiKey.id == id, earlier).values(last_used_at=at))


def recognise_key(keys: Mapping[str, KeyInfo], sent_key: str) -> KeyInfo | None:
    """The data of the given key, or None if it is not among ``keys``, whether by its id or its secret.

    Neither the answer nor its time says which ids there are.

    Raises:
        Unauthorized: the key is malformed, or it was revoked or has expired.
    """
    parts = _KEY.fullmatch(sent_key)
    if parts is None:
        message = "this is not an API key of this service; send one as Authorization: Bearer KEY"
        raise Unauthorized(message, "malformed")
    info = keys.get(parts[1])
    if not hmac.compare_digest(_digest(sent_key), _NOBODYS_DIGEST if info is None else info.digest) or info is None:
        return None
    if info.revoked_at is not None:
        raise Unauthorized("the API key was revoked", "revoked")
    if not info.usable(now()):
        raise Unauthorized("the API key has expired", "expired")
    return info


def claimed_id(sent_key: str | None) -> str | None:
    """The id in what has the form of a key, whether there is such a key or not."""
    parts = _KEY.fullmatch(sent_key or "")
    return None if parts is None else parts[1]


def _make_key(new: NewKey) -> tuple[ApiKey, str]:
    _check(new)
    id = secrets.token_hex(6)
    key = f"dragoman_{id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    row = ApiKey(
        id=id,
        digest=_digest(key),
        name=new.name,
        scopes=[scope for scope in SCOPES if scope in new.scopes],
        limited=new.collections is not None,
        tables=None if new.tables is None else list(dict.fromkeys(new.tables)),
        requests_per_second=new.requests_per_second,
        burst=new.burst,
        concurrent_requests=new.concurrent_requests,
        created_at=now(),
        expires_at=new.expires_at,
    )
    return row, key


def _row(session: Session, id: str, *, lock: bool = False) -> ApiKey:
    row = session.get(ApiKey, id, with_for_update=lock) if re.fullmatch("[0-9a-f]{12}", id) else None
    if row is None:
        raise NotFound(f"there is no key with id {id[:64]!r}")
    return row


def _digest(key: str) -> str:
    # Slow hashes and salts protect guessable passwords. 256 random bits cannot be guessed, so a plain SHA-256 is safe,
    # and fast enough for every request.
    return hashlib.sha256(key.encode()).hexdigest()


def _check(new: NewKey) -> None:
    if not new.scopes:
        raise InvalidRequest(f"scopes: name at least one of {', '.join(SCOPES)}")
    if unknown := [scope for scope in new.scopes if scope not in SCOPES]:
        raise InvalidRequest(f"scopes: there is no {unknown[0][:64]!r}; choose from {', '.join(SCOPES)}")
    if len(new.name) > NAME_CHARS or not new.name.isprintable():
        raise InvalidRequest(f"name: must be at most {NAME_CHARS} printable characters")
    for kind, names in (("collections", new.collections), ("tables", new.tables)):
        _check_names(kind, names or ())
    if new.expires_at is not None:
        _check_expiry(new.expires_at)
    for limited, least in (("requests_per_second", 0), ("burst", 1), ("concurrent_requests", 0)):
        limit = getattr(new, limited)
        if limit is not None and not least <= limit <= LIMIT_MAX:
            raise InvalidRequest(f"{limited}: must be from {least} to {LIMIT_MAX}")


def _check_names(kind: str, names: Sequence[str]) -> None:
    if len(names) > NAMES_OF_KEY:
        raise InvalidRequest(f"{kind}: at most {NAMES_OF_KEY} names")
    for place, name in enumerate(names):
        try:
            check_name(name)
        except ValueError as fault:
            raise InvalidRequest(f"{kind}[{place}]: {fault}") from fault


def _check_expiry(expires_at: datetime) -> None:
    if expires_at.tzinfo is None:
        raise InvalidRequest("expires_at: needs a time zone, such as 2030-01-01T00:00:00Z")
    if expires_at <= now():
        raise InvalidRequest("expires_at: is in the past")
    try:
        expires_at.astimezone(UTC)
    except OverflowError as fault:
        raise InvalidRequest("expires_at: is after the year 9999") from fault


def _info(row: ApiKey, collections: Sequence[str] | None = ()) -> KeyInfo:
    return KeyInfo(
        id=row.id,
        name=row.name,
        scopes=tuple(row.scopes),
        requests_per_second=row.requests_per_second,
        burst=row.burst,
        concurrent_requests=row.concurrent_requests,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
        digest=row.digest,
        collections=tuple(dict.fromkeys(collections or ())) if row.limited else None,
        tables=None if row.tables is None else tuple(row.tables),
        first_id=row.owner_id,
    )
