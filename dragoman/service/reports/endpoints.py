"""``POST /v1/events``, ``GET /v1/reports/vocabulary`` and ``GET /v1/reports/searches``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from dragoman.engine.core.answer import as_json
from dragoman.service.dependencies import KNOWN_PARAMETERS, RuntimeDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.reports.schemas import EventBody, EventTaken
from dragoman.store.reports.reports import SearchesReport, VocabularyReport

router = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["reports"])

Limit = Annotated[int, Query(ge=1, le=10_000, description="How many are listed.")]


@router.post("/events", status_code=202)
async def record_event(event: EventBody, runtime: RuntimeDep) -> EventTaken:
    """Record what someone did with a document that a search found, such as a click; soon, in the background.

    The search itself may be recorded later than the event, or not at all.
    """
    return EventTaken(accepted=int(runtime.recording.add(event.as_event())))


@router.get("/reports/vocabulary", response_model=VocabularyReport, dependencies=[KNOWN_PARAMETERS])
def report_vocabulary(runtime: RuntimeDep, limit: Limit = 100) -> Response:
    """The words of queries that no table translated, by language of the documents, the most frequent first.

    Of searches that were recorded hashed they are hashes, which can be counted and not read.
    """
    return Response(as_json(runtime.reports.vocabulary(limit)), media_type="application/json")


@router.get("/reports/searches", response_model=SearchesReport, dependencies=[KNOWN_PARAMETERS])
def report_searches(runtime: RuntimeDep, limit: Limit = 100) -> Response:
    """The queries after which nobody clicked on a hit, those first that were made most often so."""
    return Response(as_json(runtime.reports.searches(limit)), media_type="application/json")
