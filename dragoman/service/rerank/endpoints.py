"""``POST /v1/rerank`` (Cohere v1, Jina), ``POST /v2/rerank`` (Cohere v2) and ``POST /rerank`` (TEI)."""

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
from dragoman.service.rerank.response import answer_v1, answer_v2, best, check_scored, warnings
from dragoman.service.rerank.schemas import Rank, RerankAnswerV1, RerankAnswerV2, RerankTei, RerankV1, RerankV2
from dragoman.service.runtime import Runtime

router = APIRouter(route_class=StrictRoute, tags=["search"])


@router.post("/v1/rerank", response_model_exclude_none=True)
async def rerank_v1(body: RerankV1, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> RerankAnswerV1:
    """Rerank documents in the format of Cohere v1 and Jina."""
    ranking = await _rank(body, body.texts, request, runtime, settings)
    return answer_v1(request_id(request), body, ranking)


@router.post("/v2/rerank", response_model_exclude_none=True)
async def rerank_v2(body: RerankV2, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> RerankAnswerV2:
    """Rerank documents in the format of Cohere v2."""
    ranking = await _rank(body, lambda: body.documents, request, runtime, settings)
    return answer_v2(request_id(request), body, ranking)


@router.post("/rerank", response_model_exclude_none=True)
async def rerank_tei(
    body: RerankTei, request: Request, response: Response, runtime: RuntimeDep, settings: SettingsDep
) -> list[Rank]:
    """Rerank texts in the format of text-embeddings-inference. Warnings are in the header X-Dragoman-Degraded."""
    ranking = await _rank(body, lambda: body.texts, request, runtime, settings)
    reasons = [{"stage": "rerank", "reason": reason} for reason in warnings(ranking, None)]
    if reasons:
        response.headers[DEGRADED_HEADER] = json.dumps(reasons)
    return [
        Rank(index=index, score=score, text=body.texts[index] if body.return_text else None)
        for index, score in best(ranking, body.top_n)
    ]


async def _rank(
    body: RerankV1 | RerankV2 | RerankTei,
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
