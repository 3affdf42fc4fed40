"""``POST /v1/read``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from dragoman.engine.core.answer import as_json
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.read.response import ReadResponse
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.http.middleware import note_degraded
from dragoman.service.http.threads import Threads
from dragoman.service.read.schemas import ReadRequest

router = APIRouter(prefix="/v1/read", route_class=StrictRoute, tags=["reading"])


@router.post("", response_model=ReadResponse)
async def read(body: ReadRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """A whole document with all matches of a query, its sentences, and its words glossed in the reader's language.

    What there is no time or no room for is named in `degraded` or `truncated`.
    """
    identifier = request_id(request)
    threads: Threads = request.app.state.threads
    if settings.log.log_queries and body.query is not None:
        request.state.query = body.query

    def answer(cancelled: Cancelled) -> Response:
        document = runtime.reading.read(body.as_query(), identifier, cancelled)
        note_degraded(request, document.degraded)
        return Response(as_json(document), media_type="application/json")

    return await threads.run(request, answer, waits=body.query is not None)
