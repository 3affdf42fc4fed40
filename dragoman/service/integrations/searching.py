"""One search for a tool whose answers have another form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import Request, Response
from pydantic import ValidationError

from dragoman.engine.core.answer import as_json, fields_of
from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.search.response import Hit, SearchResponse
from dragoman.engine.search.room import longest_snippets
from dragoman.engine.settings import Settings
from dragoman.service.dependencies import with_readers
from dragoman.service.http.errors import request_id
from dragoman.service.http.middleware import DEGRADED_HEADER, note_degraded
from dragoman.service.http.threads import Threads
from dragoman.service.reports.service import record_search
from dragoman.service.runtime import Runtime
from dragoman.service.search.schemas import SearchRequest
from dragoman.store.validation import describe

T = TypeVar("T")

PASSAGE_CHARS = 2_000
"""The longest passage of a document where an answer has one for each hit."""
_LISTED = 10


def search_request(**fields: Any) -> SearchRequest:
    """A search by these fields of ``POST /v1/search``.

    Raises:
        InvalidRequest: a field is not valid.
    """
    try:
        return SearchRequest(**fields)
    except ValidationError as fault:
        raise InvalidRequest(describe(fault.errors())) from fault


def passage_options(settings: Settings, hits: int) -> dict[str, int]:
    """Snippets that are as long as an answer of so many hits has room for, to be read in place of the document."""
    return {"length": max(50, min(PASSAGE_CHARS, longest_snippets(settings.search.answer_bytes, hits)))}


async def find(
    body: SearchRequest,
    request: Request,
    runtime: Runtime,
    settings: Settings,
    answer: Callable[[SearchResponse], Any],
    warnings: Iterable[str] = (),
) -> Response:
    """Search as ``POST /v1/search`` does; the response is what ``answer`` makes of it, as JSON.

    What the form has no room for is in the header X-Dragoman-Degraded: degraded stages, what was read only in part, and
    ``warnings`` about the request.
    """
    identifier = request_id(request)
    query = with_readers(body, request, settings).as_query()
    threads: Threads = request.app.state.threads
    if settings.log.log_queries:
        request.state.query = body.query

    def work(cancelled: Cancelled) -> Response:
        results = runtime.search.search(query, identifier, cancelled)
        note_degraded(request, results.degraded)
        record_search(runtime.recording, query, results)
        notes = [*({"stage": "request", "reason": warning} for warning in warnings), *fields_of(results.degraded)]
        notes += [{"stage": "truncated", "reason": part} for part in _first(results.truncated)]
        headers = {DEGRADED_HEADER: json.dumps(notes)} if notes else {}
        return Response(as_json(answer(results)), media_type="application/json", headers=headers)

    ahead = runtime.search.query_ahead(query)
    return await threads.run(request, work, waits=runtime.search.waits(query), ahead=ahead)


def _first(parts: list[str]) -> list[str]:
    """The first of them, and how many more there are: a header has little room."""
    more = [f"and {len(parts) - _LISTED} more"] if len(parts) > _LISTED else []
    return [*parts[:_LISTED], *more]


def address_of(hit: Hit, base: str = "") -> str:
    """Where a document is to be read: the ``url`` of its metadata, or its address in this service."""
    return document_address(hit.collection, hit.id, hit.metadata, base)


def document_address(collection: str, id: str, metadata: dict[str, Any] | None, base: str = "") -> str:
    """As :func:`address_of`; ``base`` comes before an address in this service."""
    url = (metadata or {}).get("url")
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        return url
    return f"{base}/v1/collections/{quote(collection, safe='')}/documents/{quote(id, safe='')}"
