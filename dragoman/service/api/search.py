"""``POST /v1/search``."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from dragoman.service.api.dependencies import RuntimeDep
from dragoman.service.api.errors import request_id
from dragoman.service.api.requests import StrictRoute
from dragoman.service.schemas.search import SearchRequest, SearchResponse
from dragoman.service.search import RunLine

router = APIRouter(prefix="/v1/search", route_class=StrictRoute, tags=["search"])

TREC_TYPE = "application/x-trec-run"

_UNSAFE = re.compile(r"[%\s\x00-\x20\x7f-\xa0]")
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The documents found; as a TREC run where that is accepted: `qid Q0 docid rank score tag` lines,"
        " with white space, control characters and % in ids percent-encoded.",
        "content": {TREC_TYPE: {"schema": {"type": "string"}}},
    }
}


@router.post("", response_model=SearchResponse, responses=_RESPONSES)
def search(body: SearchRequest, request: Request, runtime: RuntimeDep) -> SearchResponse | Response:
    """Search collections in any language for a query in any language that tables translate from."""
    identifier = request_id(request)
    if TREC_TYPE in request.headers.get("accept", ""):
        lines = runtime.search.run(body)
        return Response(trec_run(body.query_id or identifier, lines, f"dragoman-{body.method}"), media_type=TREC_TYPE)
    return runtime.search.search(body, identifier)


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


def _encoded(id: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), id)
