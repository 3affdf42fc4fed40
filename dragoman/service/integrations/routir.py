"""``/integrations/routir``: ``/search``, ``/score`` and ``/avail`` of RoutIR, which fuses and reranks over services.

A configuration of RoutIR names this address in ``server_imports``. It lists the services by ``GET /avail``, searches by
``{"service", "query", "limit"}`` and scores by ``{"service", "query", "passages"}``:
https://github.com/hltcoe/routir, ``src/routir/serve.py`` and ``src/routir/models/relay.py``.
"""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, StrictInt

from dragoman.engine.core.limits import DOCUMENTS, QUERY_CHARS, TEXT_CHARS
from dragoman.engine.search.response import SearchResponse
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.middleware import DEGRADED_HEADER
from dragoman.service.integrations.searching import find, search_request
from dragoman.service.rerank.endpoints import rerank_v2
from dragoman.service.rerank.schemas import RerankV2
from dragoman.store.validation import AtFirstFault, Name, NotBlank, Text, TolerantBody

router = APIRouter(prefix="/integrations/routir", route_class=StrictRoute, tags=["integrations"])


class RoutirSearch(TolerantBody):
    """What RoutIR asks a search service."""

    service: Name = Field(description="A collection or an alias.")
    query: NotBlank = Field(max_length=QUERY_CHARS)
    limit: StrictInt = Field(default=10, ge=1)
    subset: Literal["none"] | None = Field(default=None, description="Services here have no subsets.")


class RoutirScore(TolerantBody):
    """What RoutIR asks a service that scores."""

    service: Name = Field(description="Any name; X-Dragoman-Degraded says if another reranker scored.")
    query: NotBlank = Field(max_length=QUERY_CHARS)
    passages: Annotated[
        list[Annotated[Text, Field(max_length=TEXT_CHARS)]], Field(min_length=1, max_length=DOCUMENTS), AtFirstFault
    ]


class RoutirServices(BaseModel):
    """The services by what they do."""

    search: list[str] = Field(description="Collections and aliases.")
    score: list[str] = Field(description="The reranker.")
    content: list[str] = []
    fuse: list[str] = []
    decompose_query: list[str] = []


class _Answered(BaseModel):
    query: str
    service: str
    processed: bool = True
    cached: bool = False
    timestamp: float


class RoutirRanking(_Answered):
    """Documents found, by id."""

    scores: dict[str, float]


class RoutirScores(_Answered):
    """A score for each passage, in their order."""

    scores: list[float | None] = Field(description="null for a passage that could not be scored.")


@router.get("/avail")
def list_routir_services(runtime: RuntimeDep) -> RoutirServices:
    """The services that RoutIR may relay to."""
    collections = [info.name for info in runtime.collections.all()]
    aliases = [alias.alias for alias in runtime.collections.aliases.all()]
    reranker = runtime.models.reranker_name()
    return RoutirServices(search=sorted(collections + aliases), score=[] if reranker is None else [reranker])


@router.post("/search", response_model=RoutirRanking)
async def search_for_routir(
    body: RoutirSearch, request: Request, runtime: RuntimeDep, settings: SettingsDep
) -> Response:
    """Search one collection as a service of RoutIR."""

    def answer(results: SearchResponse) -> dict[str, Any]:
        return _head(body) | {"scores": {hit.id: hit.score for hit in results.hits}}

    query = search_request(query=body.query, collections=[body.service], top_k=body.limit)
    return await find(query, request, runtime, settings, answer, body.unknown_fields())


@router.post("/score", response_model=RoutirScores)
async def score_for_routir(
    body: RoutirScore, request: Request, response: Response, runtime: RuntimeDep, settings: SettingsDep
) -> dict[str, Any]:
    """Score passages as a service of RoutIR."""
    asked = RerankV2(query=body.query, documents=body.passages, model=body.service)
    ranking = await rerank_v2(asked, request, runtime, settings)
    scores: list[float | None] = [None] * len(body.passages)
    for result in ranking.results:
        scores[result.index] = result.relevance_score
    for failure in ranking.failed or ():
        scores[failure.index] = None
    failed = [f"passages[{failure.index}]: {failure.reason}" for failure in ranking.failed or ()]
    warnings = [*body.unknown_fields(), *(ranking.meta.warnings or ()), *failed]
    if warnings:
        response.headers[DEGRADED_HEADER] = json.dumps([{"stage": "rerank", "reason": text} for text in warnings])
    return _head(body) | {"scores": scores}


def _head(body: RoutirSearch | RoutirScore) -> dict[str, Any]:
    return {
        "query": body.query,
        "service": body.service,
        "processed": True,
        "cached": False,
        "timestamp": time.time(),
    }
