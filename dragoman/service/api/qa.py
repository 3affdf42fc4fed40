"""``POST /v1/qa``."""

from __future__ import annotations

import anyio.from_thread
from fastapi import APIRouter, Request

from dragoman.service.api.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.admission import Searches
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.schemas.qa import QaRequest, QaResponse

router = APIRouter(prefix="/v1/qa", route_class=StrictRoute, tags=["reading"])


@router.post("", response_model_exclude_none=True)
async def qa(body: QaRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> QaResponse:
    """Answer a question by parts of a context, or of the documents that a search of collections finds.

    Question and text may be in different languages. 503 unless `DRAGOMAN_READER` names a reader.
    """
    identifier = request_id(request)
    searches: Searches = request.app.state.searches
    if settings.log_queries:
        request.state.query = body.question

    def cancelled() -> bool:
        return anyio.from_thread.run(request.is_disconnected)

    return await searches.run(lambda: runtime.qa.answer(body, identifier, cancelled), cancelled, waits=True)
