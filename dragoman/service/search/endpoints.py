"""``POST /v1/search``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from dragoman.engine.core.answer import Degraded, as_json, fields_of
from dragoman.engine.core.trec import TREC_TYPE, one_collection, trec_run
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.search.response import SearchResponse
from dragoman.service.dependencies import RuntimeDep, SettingsDep, with_readers
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.http.middleware import DEGRADED_HEADER, note_degraded
from dragoman.service.http.threads import Threads
from dragoman.service.reports.service import record_search
from dragoman.service.search.schemas import SearchRequest

router = APIRouter(prefix="/v1/search", route_class=StrictRoute, tags=["search"])

_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The documents found. With `Accept: application/x-trec-run` a TREC run of"
        " `qid Q0 docid rank score tag` lines. A docid is the document's id where the request names one collection"
        " alone, else `collection/id`; white space, control characters and % in it are percent-encoded. The header"
        " X-Dragoman-Degraded then has the JSON of `degraded`, unless that is empty.",
        "content": {TREC_TYPE: {"schema": {"type": "string"}}},
    }
}


@router.post("", response_model=SearchResponse, responses=_RESPONSES)
async def search(body: SearchRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Search collections in any language with a query in any language that the tables translate from."""
    identifier = request_id(request)
    body = with_readers(body, request, settings)
    query = body.as_query()
    threads: Threads = request.app.state.threads
    if settings.log.log_queries:
        request.state.query = body.query

    def answer(cancelled: Cancelled) -> Response:
        results = runtime.search.search(query, identifier, cancelled)
        note_degraded(request, results.degraded)
        record_search(runtime.recording, query, results)
        # serialised here, because FastAPI would validate the response again, on another thread
        return Response(as_json(results), media_type="application/json")

    def run(cancelled: Cancelled) -> Response:
        lines, degraded, method = runtime.search.run(query, cancelled)
        note_degraded(request, degraded)
        written = trec_run(
            body.query_id or identifier, lines, f"dragoman-{method}", alone=one_collection(body.collections)
        )
        return Response(written, media_type=TREC_TYPE, headers=_degraded_header(degraded))

    work = run if TREC_TYPE in request.headers.get("accept", "") else answer
    ahead = runtime.search.query_ahead(query)
    return await threads.run(request, work, waits=runtime.search.waits(query), ahead=ahead)


def _degraded_header(degraded: Sequence[Degraded]) -> dict[str, str]:
    """A TREC run cannot list degraded stages, so a header does."""
    return {DEGRADED_HEADER: json.dumps(fields_of(degraded))} if degraded else {}
