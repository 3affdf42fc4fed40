"""``POST /v1/search``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import anyio.from_thread
from fastapi import APIRouter, Request, Response

from dragoman.service.api.admission import Searches
from dragoman.service.api.dependencies import RuntimeDep
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


@router.post("", response_model=SearchResponse, responses=_RESPONSES)
async def search(body: SearchRequest, request: Request, runtime: RuntimeDep) -> Response:
    """Search collections in any language for a query in any language that tables translate from."""
    identifier = request_id(request)
    searches: Searches = request.app.state.searches

    def gone() -> bool:
        return anyio.from_thread.run(request.is_disconnected)

    def answer() -> Response:
        found = runtime.search.search(body, identifier, gone)
        # written here, and not by FastAPI, which checks the answer again, and on yet another thread
        return Response(found.model_dump_json(exclude_unset=True), media_type="application/json")

    def run() -> Response:
        lines, degraded = runtime.search.run(body, gone)
        written = trec_run(body.query_id or identifier, lines, f"dragoman-{body.method}")
        return Response(written, media_type=TREC_TYPE, headers=_degraded_header(degraded))

    work = run if TREC_TYPE in request.headers.get("accept", "") else answer
    return await searches.run(work, gone, waits=runtime.search.waits(body))


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


def _degraded_header(degraded: Sequence[Degraded]) -> dict[str, str]:
    """A run has no place for what stages did less than was asked: it is told in a header."""
    return {DEGRADED_HEADER: json.dumps([one.model_dump() for one in degraded])} if degraded else {}


def _encoded(id: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), id)
