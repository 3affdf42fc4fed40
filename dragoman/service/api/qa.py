"""``/v1/qa``."""

from __future__ import annotations

from pathlib import Path

import anyio.from_thread
from fastapi import APIRouter, Request, Response

from dragoman.service.api.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.admission import Searches
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.http.middleware import note_degraded
from dragoman.service.inference.reading import NO_READER
from dragoman.service.schemas.qa import ConfiguredReader, QaRequest, QaResponse

router = APIRouter(prefix="/v1/qa", route_class=StrictRoute, tags=["reading"])


@router.get("")
async def reader(settings: SettingsDep) -> ConfiguredReader:
    """Whether questions can be answered, and by what; nothing is loaded."""
    if settings.reader is None:
        return ConfiguredReader(model=None, advice=NO_READER)
    return ConfiguredReader(model=Path(settings.reader).name)


@router.post("", response_model=QaResponse)
async def qa(body: QaRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Answer a question by parts of a context, or of the documents that a search finds.

    Question and text may be in different languages. 503 unless `DRAGOMAN_READER` names a reader.
    """
    identifier = request_id(request)
    searches: Searches = request.app.state.searches
    if settings.log_queries:
        request.state.query = body.question

    def cancelled() -> bool:
        return anyio.from_thread.run(request.is_disconnected)

    def answer() -> Response:
        found = runtime.qa.answer(body, identifier, cancelled)
        note_degraded(request, found.degraded)
        return Response(found.model_dump_json(exclude_unset=True), media_type="application/json")

    return await searches.run(answer, cancelled, waits=True)
