"""``POST /v1/rerank`` and ``POST /rerank`` (Cohere v1, Jina, Voyage and TEI), ``POST /v2/rerank`` (Cohere v2).

Clients whose base URL ends in ``/v1`` ask ``/v1/v1/rerank`` or ``/v1/v2/rerank``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

from fastapi import APIRouter, Request, Response

from dragoman.engine.observability.tracing import span
from dragoman.engine.rerank.request import Ranking
from dragoman.engine.settings import Settings
from dragoman.service.dependencies import RuntimeDep, SettingsDep, with_readers
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.http.middleware import DEGRADED_HEADER
from dragoman.service.http.threads import Threads
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.rerank.response import answer_tei, answer_v1, answer_v2, check_scored, warnings
from dragoman.service.rerank.schemas import (
    Rank,
    Rerank,
    RerankAnswerV1,
    RerankAnswerV2,
    RerankEither,
    RerankV1,
    RerankV2,
)
from dragoman.service.runtime import Runtime

router = APIRouter(route_class=StrictRoute, tags=["search"])


@router.post("/rerank", operation_id="rerank_in_either_form", response_model_exclude_none=True)
@router.post("/v1/rerank", response_model_exclude_none=True)
@router.post("/v1/v1/rerank", response_model_exclude_none=True, include_in_schema=False)
async def rerank(
    body: RerankEither, request: Request, response: Response, runtime: RuntimeDep, settings: SettingsDep
) -> RerankAnswerV1 | list[Rank]:
    """Rerank texts in the format of text-embeddings-inference, or documents in that of Cohere v1, Jina and Voyage.

    TEI's answer is for `texts`; its warnings are in the header X-Dragoman-Degraded.
    """
    if isinstance(body, RerankV1):
        ranking = await _rank(body, body.texts, request, runtime, settings)
        return answer_v1(request_id(request), body, ranking)
    texts = body.texts
    ranking = await _rank(body, lambda: texts, request, runtime, settings)
    reasons = [{"stage": "rerank", "reason": reason} for reason in warnings(ranking, body)]
    if reasons:
        response.headers[DEGRADED_HEADER] = json.dumps(reasons)
    return answer_tei(body, ranking)


@router.post("/v2/rerank", response_model_exclude_none=True)
@router.post("/v1/v2/rerank", response_model_exclude_none=True, include_in_schema=False)
async def rerank_v2(body: RerankV2, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> RerankAnswerV2:
    """Rerank documents in the format of Cohere v2."""
    ranking = await _rank(body, lambda: body.documents, request, runtime, settings)
    return answer_v2(request_id(request), body, ranking)


async def _rank(
    body: Rerank,
    texts: Callable[[], Sequence[str]],
    request: Request,
    runtime: Runtime,
    settings: Settings,
) -> Ranking:
    with span("rerank"), runtime.traffic.live():
        if settings.log.log_queries:
            request.state.query = body.query
        asked = with_readers(body, request, settings)
        started = time.perf_counter()
        until = time.monotonic() + settings.worker.worker_seconds
        threads: Threads = request.app.state.threads
        begun = await threads.run(
            request, lambda _: runtime.rerank_requests.begin(asked.as_query(), texts()), waits=True
        )
        try:
            await wait_for_futures(begun.pending.futures, request, until, all_of=True)
            scores = begun.pending.finish()
        finally:
            begun.pending.cancel()
        ranking = begun.ranking(scores, raw=bool(body.raw_scores))
        runtime.metrics.rerank(
            "partial" if ranking.best and ranking.failed else "reranked" if ranking.best else "degraded"
        )
        if ranking.failed:
            request.state.degraded = ["rerank:partial"]
        check_scored(ranking, len(scores.values))
        runtime.metrics.stage("rerank", time.perf_counter() - started)
        return ranking
