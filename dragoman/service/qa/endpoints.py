"""``/v1/qa``."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from dragoman.engine.core.answer import as_json
from dragoman.engine.core.errors import NotInstalled
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.readers import reader_place
from dragoman.engine.qa.response import QaResponse, StatementResponse
from dragoman.service.dependencies import RuntimeDep, SettingsDep, with_readers
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.http.middleware import note_degraded
from dragoman.service.http.threads import Threads
from dragoman.service.qa.schemas import ConfiguredReader, QaRequest
from dragoman.service.reports.service import record_retrieval

router = APIRouter(prefix="/v1/qa", route_class=StrictRoute, tags=["reading"])


@router.get("")
async def reader(settings: SettingsDep) -> ConfiguredReader:
    """Whether questions can be answered and statements judged, and by what; nothing is loaded."""
    try:
        statements = reader_place(settings, "statements").name
    except NotInstalled:
        statements = None
    try:
        return ConfiguredReader(model=reader_place(settings, "answers").name, statements=statements)
    except NotInstalled as fault:
        return ConfiguredReader(model=None, advice=str(fault), statements=statements)


@router.post("", response_model=QaResponse | StatementResponse)
async def qa(body: QaRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Answer a question by parts of a context, or of the documents that a search finds; or judge a statement by them.

    Question and text may be in different languages. 503 where there is no reader.
    """
    identifier = request_id(request)
    body = with_readers(body, request, settings)
    threads: Threads = request.app.state.threads
    if settings.log.log_queries:
        request.state.query = body.asked

    def answer(cancelled: Cancelled) -> Response:
        record = partial(record_retrieval, runtime.recording, identifier)
        answers = runtime.qa.answer(body.as_query(), identifier, cancelled, retrieved=record)
        note_degraded(request, answers.degraded)
        return Response(as_json(answers), media_type="application/json")

    return await threads.run(request, answer, waits=True)
