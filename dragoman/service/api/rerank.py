"""``POST /v1/rerank`` (Cohere v1, Jina), ``POST /v2/rerank`` (Cohere v2) and ``POST /rerank`` (TEI)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from dragoman.service.api.dependencies import RuntimeDep, SettingsDep
from dragoman.service.api.errors import request_id
from dragoman.service.api.requests import StrictRoute
from dragoman.service.api.search import DEGRADED_HEADER
from dragoman.service.api.waiting import settled
from dragoman.service.errors import InternalError, InvalidRequest, TooManyRequests
from dragoman.service.rerank_request import Ranking, begin, ranking
from dragoman.service.runtime import Runtime
from dragoman.service.schemas.rerank import (
    ApiVersion,
    DocumentFields,
    DocumentReturned,
    Failed,
    Meta,
    Rank,
    RerankAnswerV1,
    RerankAnswerV2,
    RerankTei,
    RerankV1,
    RerankV2,
    Result,
    Usage,
)
from dragoman.service.settings import Settings
from dragoman.service.tracing import span

router = APIRouter(route_class=StrictRoute, tags=["search"])


@router.post("/v1/rerank", response_model_exclude_none=True)
async def rerank_v1(body: RerankV1, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> RerankAnswerV1:
    """Rerank documents, in the form of Cohere's first version, and of Jina."""
    try:
        texts = body.texts()
    except ValueError as fault:
        raise InvalidRequest(str(fault)) from fault
    found = await _ranked(body, texts, request, runtime, settings)
    return RerankAnswerV1(
        id=request_id(request),
        model=found.model,
        results=_results(found, body.top_n, body.documents if body.return_documents else None),
        meta=_meta("1", found, body.model),
        usage=Usage(total_tokens=found.tokens),
        failed=_failed(found),
        truncated=found.truncated or None,
    )


@router.post("/v2/rerank", response_model_exclude_none=True)
async def rerank_v2(body: RerankV2, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> RerankAnswerV2:
    """Rerank documents, in the form of Cohere's second version."""
    found = await _ranked(body, body.documents, request, runtime, settings)
    return RerankAnswerV2(
        id=request_id(request),
        results=_results(found, body.top_n, None),
        meta=_meta("2", found, body.model),
        failed=_failed(found),
        truncated=found.truncated or None,
    )


@router.post("/rerank", response_model_exclude_none=True)
async def rerank_tei(
    body: RerankTei, request: Request, response: Response, runtime: RuntimeDep, settings: SettingsDep
) -> list[Rank]:
    """Rerank texts, in the form of text-embeddings-inference. What is not as asked for is told in a header."""
    found = await _ranked(body, body.texts, request, runtime, settings)
    told = [{"stage": "rerank", "reason": reason} for reason in _warnings(found, None)]
    if told:
        response.headers[DEGRADED_HEADER] = json.dumps(told)
    return [
        Rank(index=index, score=score, text=body.texts[index] if body.return_text else None)
        for index, score in _best(found, body.top_n)
    ]


async def _ranked(
    body: RerankV1 | RerankV2 | RerankTei,
    texts: Sequence[str],
    request: Request,
    runtime: Runtime,
    settings: Settings,
) -> Ranking:
    with span("rerank"):
        return await _reranked(body, texts, request, runtime, settings)


async def _reranked(
    body: RerankV1 | RerankV2 | RerankTei,
    texts: Sequence[str],
    request: Request,
    runtime: Runtime,
    settings: Settings,
) -> Ranking:
    if settings.log_queries:
        request.state.query = body.query
    started = time.perf_counter()
    until = time.monotonic() + settings.worker_seconds
    if not runtime.reranks.acquire(blocking=False):
        raise TooManyRequests("too many rerank requests are being read; try again in a moment")
    try:
        about, pending = await asyncio.to_thread(begin, runtime, settings, body, texts)
    finally:
        runtime.reranks.release()
    try:
        await settled(pending.futures, request, until, all_of=True)
        scores = pending.finish()
    finally:
        pending.cancel()
    found = ranking(about, scores, raw=bool(body.raw_scores))
    runtime.metrics.rerank("partial" if found.best and found.failed else "reranked" if found.best else "degraded")
    if found.failed:
        request.state.degraded = ["rerank:partial"]
    if not found.best:
        raise InternalError(f"none of {len(texts)} documents could be scored: {found.failed[0]}")
    runtime.metrics.stage("rerank", time.perf_counter() - started)
    return found


def _best(found: Ranking, top_n: int | None) -> list[tuple[int, float]]:
    return found.best[: top_n or None]


def _results(found: Ranking, top_n: int | None, documents: Sequence[str | DocumentFields] | None) -> list[Result]:
    """The best, with the documents as they were given where there are any."""
    return [
        Result(
            index=index,
            relevance_score=score,
            document=None if documents is None else _returned(documents[index]),
        )
        for index, score in _best(found, top_n)
    ]


def _returned(document: str | DocumentFields) -> DocumentReturned:
    given = {"text": document} if isinstance(document, str) else document.model_dump()
    return DocumentReturned.model_validate(given)


def _failed(found: Ranking) -> list[Failed] | None:
    return [Failed(index=index, reason=reason) for index, reason in sorted(found.failed.items())] or None


def _meta(version: str, found: Ranking, asked: str | None) -> Meta:
    return Meta(api_version=ApiVersion(version=version), warnings=_warnings(found, asked) or None)


def _warnings(found: Ranking, asked: str | None) -> list[str]:
    told = []
    if asked is not None and asked != found.model:
        told.append(f"scored by the model {found.model!r}, as there is none named {asked[:100]!r}")
    if found.failed:
        told.append(f"{len(found.failed)} documents could not be scored and are left out")
    if found.query_cut:
        told.append("only the beginning of the query was read, to leave room for the documents")
    if found.truncated:
        told.append(f"{len(found.truncated)} documents were read only up to their first 800 subwords")
    return told
