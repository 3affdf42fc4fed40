"""Pages of the hits of one query, and signed cursors to the next one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from dragoman.engine.core.errors import Gone, InvalidRequest
from dragoman.engine.search.ranked import Position
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.search_ranking import MOST_RANKED
from dragoman.engine.tables.snapshot import Snapshot

_OF_PAGES = frozenset(
    {
        *("cursor", "offset", "top_k", "gloss", "explain", "translate_snippets", "facets", "fields", "snippets"),
        *("offsets", "min_generation"),
    }
)
"""What the next page may have otherwise: what is shown of hits, and how many."""
_SIGNATURE = 16
_LONGEST = 2_000


class Cursors:
    """Writes and reads cursors, which are signed with a secret. Safe from any thread."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def write(self, request: SearchQuery, state: str, position: Position) -> str:
        """The cursor to a page of a search, in the state that it was made in."""
        content = json.dumps(
            [
                position.offset,
                position.method,
                position.rerank_depth,
                _digest(_list_asked(request)),
                state,
            ]
        )
        signed = self._sign(content.encode()) + content.encode()
        return base64.urlsafe_b64encode(signed).decode().rstrip("=")

    def read(self, request: SearchQuery, cursor: str) -> tuple[Position, str]:
        """The position of a cursor, and the state that it is of.

        Raises:
            InvalidRequest: it is no cursor, or one of another search.
        """
        offset, method, depth, asked, state = self._open(cursor)
        if asked != _digest(_list_asked(request)):
            raise InvalidRequest("cursor: is of another search; all that decides the list has to be as it was")
        return Position(offset, method, depth), state

    def _open(self, cursor: str) -> Any:
        try:
            if len(cursor) > _LONGEST:
                raise ValueError
            signed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        except (ValueError, binascii.Error):
            signed = b""
        content = signed[_SIGNATURE:]
        if not hmac.compare_digest(signed[:_SIGNATURE], self._sign(content)):
            raise InvalidRequest("cursor: is none that a search gave")
        return json.loads(content)

    def _sign(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, "sha256")[:_SIGNATURE]


def check_page(request: SearchQuery) -> None:
    """
    Raises:
        InvalidRequest: the page is not within the hits that can be reached, or begins at two places.
    """
    if request.cursor is not None and request.offset:
        raise InvalidRequest("offset: a cursor says where the page begins; leave out one of both")
    if request.offset + request.top_k > max(MOST_RANKED, request.top_k):
        raise InvalidRequest(f"offset: with top_k it may reach hit {MOST_RANKED}, not {request.offset + request.top_k}")


def _list_asked(request: SearchQuery) -> dict[str, Any]:
    """All of a request that decides which hits there are, and their order."""
    return {part.name: _plain(getattr(request, part.name)) for part in fields(request) if part.name not in _OF_PAGES}


def _plain(content: Any) -> Any:
    if is_dataclass(content):
        return {part.name: _plain(getattr(content, part.name)) for part in fields(content)}
    return list(content) if isinstance(content, tuple) else content


def check_state(state: str, present: str) -> None:
    """
    Raises:
        Gone: documents or tables have changed since.
    """
    if state != present:
        raise Gone("cursor: documents or tables have changed since; begin with the first page")


def state_of(documents: Sequence[tuple[int | None, ...]], snapshot: Snapshot) -> str:
    """What changes with ``documents``, the marks of collections, and with the tables."""
    tables = [(version.name, version.version) for version in snapshot.versions]
    return _digest([documents, tables])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:24]
