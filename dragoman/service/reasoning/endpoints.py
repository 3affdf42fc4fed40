"""``/v1/reason``."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from dragoman.engine.core.answer import as_json, fields_of
from dragoman.engine.core.errors import NotInstalled, Unavailable
from dragoman.engine.core.names import model_name
from dragoman.engine.models.generation import about_bridge, bridge_place
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.qa.reasoning import Underway
from dragoman.engine.qa.response import ReasonResponse
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import report_fault, request_id
from dragoman.service.http.middleware import note_degraded
from dragoman.service.http.threads import Threads, caller_of
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.reasoning.schemas import ConfiguredReasoner, ReasonRequest
from dragoman.service.runtime import Runtime

router = APIRouter(prefix="/v1/reason", route_class=StrictRoute, tags=["reading"])

EVENTS = "text/event-stream"
ADVICE = "ask for fewer tokens"
"""What helps where an answer takes too long."""


@router.get("")
async def reasoner(settings: SettingsDep) -> ConfiguredReasoner:
    """Whether there is a model that reasons; nothing is loaded."""
    try:
        place = bridge_place(settings)
        about = about_bridge(str(place)) or {}
        return ConfiguredReasoner(model=str(about.get("name", model_name(str(place)))))
    except NotInstalled as fault:
        return ConfiguredReasoner(model=None, advice=str(fault))


@router.post(
    "",
    response_model=ReasonResponse,
    responses={200: {"content": {EVENTS: {}}, "description": "The answer, or its events where it is streamed"}},
)
async def reason(body: ReasonRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Have the LLM answer a question in a language that it does not know, with documents where collections are given.

    Streamed, `text` events hold the answer's pieces, and the last event, `answer`, the whole response; or `error`.
    503 where there is no bridge.
    """
    identifier = request_id(request)
    until = time.monotonic() + settings.qa.reason_seconds
    threads: Threads = request.app.state.threads
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()
    if settings.log.log_queries:
        request.state.query = body.question

    def emit(piece: str | None) -> None:
        loop.call_soon_threadsafe(pieces.put_nowait, piece)

    def begin(cancelled: Cancelled) -> Underway:
        return runtime.reasoning.begin(body.as_query(), identifier, cancelled, emit if body.stream else None)

    with ExitStack() as place:
        place.enter_context(runtime.reasoning.answers.place(caller_of(request)))
        underway = await threads.run(request, begin, waits=True)
        held = place.pop_all()
    underway.generating.future.add_done_callback(
        lambda _: held.close()
    )  # events that nobody reads never begin, nor end
    note_degraded(request, underway.response.degraded)
    if body.stream:
        underway.generating.future.add_done_callback(lambda _: emit(None))
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        events = _events(underway, pieces, until, runtime, identifier)
        return StreamingResponse(events, media_type=EVENTS, headers=headers)
    try:
        with runtime.traffic.live():
            await wait_for_futures([underway.generating.future], request, until, advice=ADVICE)
    finally:
        underway.generating.cancel()
    return Response(as_json(underway.finish()), media_type="application/json")


async def _events(
    underway: Underway, pieces: asyncio.Queue[str | None], until: float, runtime: Runtime, identifier: str
) -> AsyncIterator[str]:
    """The events of an answer; the generation ends with the client's connection."""
    try:
        with runtime.traffic.live():
            while (piece := await asyncio.wait_for(pieces.get(), max(0.0, until - time.monotonic()))) is not None:
                yield _event("text", {"text": piece})
        underway.generating.future.result()
        yield _event("answer", fields_of(underway.finish()))
    except TimeoutError:
        late = Unavailable(f"the model took too long; {ADVICE}, or try again")
        yield _event("error", late.body(identifier))
    except Exception as fault:
        yield _event("error", report_fault(fault, identifier).body(identifier))
    finally:
        underway.generating.cancel()


def _event(name: str, content: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"
