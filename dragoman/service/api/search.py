"""``POST /v1/search``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import anyio.from_thread
from fastapi import APIRouter, Request, Response

from dragoman.service.api.dependencies import RuntimeDep, SettingsDep
from dragoman.service.api.errors import request_id
from dragoman.service.api.requests import StrictRoute
from dragoman.service.schemas.search import Degraded, SearchRequest, SearchResponse
from dragoman.service.search import RunLine

router = APIRouter(prefix="/v1/search", route_class=StrictRoute, tags=["search"])

TREC_TYPE = "application/x-trec-run"
DEGRADED_HEADER = "X-Dragoman-Degraded"

_UNSAFE = re.compile(r"[%\s\x00-\x20\x7f-\xa0]")
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The documents found; as a TREC run where that is accepted: `qid Q0 docid rank score tag` lines,"
        " with white space, control characters and % in ids percent-encoded; the header X-Dragoman-Degraded then has"
        " the JSON of `degraded`, unless that is empty.",
        "content": {TREC_TYPE: {"schema": {"type": "string"}}},
    }
}


@router.post("", response_model=SearchResponse, response_model_exclude_unset=True, responses=_RESPONSES)
def search(
    body: SearchRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep
) -> SearchResponse | Response:
    """Search collections in any language for a query in any language that tables translate from."""
    identifier = request_id(request)
    if settings.log_queries:
        request.state.query = body.query

    def gone() -> bool:
        return anyio.from_thread.run(request.is_disconnected)

    if TREC_TYPE in request.headers.get("accept", ""):
        lines, degraded = runtime.search.run(body, gone)
        _leave_for_the_log(request, degraded)
        run = trec_run(body.query_id or identifier, lines, f"dragoman-{body.method}")
        return Response(run, media_type=TREC_TYPE, headers=_degraded_header(degraded))
    found = runtime.search.search(body, identifier, gone)
    _leave_for_the_log(request, found.degraded)
    return found


def trec_run(query_id: str, lines: list[RunLine], tag: str) -> str:
    """The lines of a TREC run, each with its end.

    An id is percent-encoded where it holds white space, control characters or %; where several collections
    have a document of one id, both are written ``collection/id``.
    """
    ids = [line.id for line in lines]
    shared = {id for id in ids if ids.count(id) > 1} if len(set(ids)) < len(ids) else set()
    written = [f"{line.collection}/{line.id}" if line.id in shared else line.id for line in lines]
    topic = _encoded(query_id)
    return "".join(
        f"{topic} Q0 {_encoded(id)} {rank} {line.score!r} {tag}\n"
        for rank, (id, line) in enumerate(zip(written, lines, strict=True), 1)
    )


def _leave_for_the_log(request: Request, degraded: Sequence[Degraded]) -> None:
    request.state.degraded = sorted({f"{one.stage}:{one.cause}" for one in degraded})


def _degraded_header(degraded: Sequence[Degraded]) -> dict[str, str]:
    """A run has no place for what stages did less than was asked: it is told in a header."""
    return {DEGRADED_HEADER: json.dumps([one.model_dump() for one in degraded])} if degraded else {}


def _encoded(id: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), id)
