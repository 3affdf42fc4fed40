"""``POST /v1/embeddings``, ``GET /v1/models`` (OpenAI), ``POST /v2/embed`` (Cohere), ``/embed`` and ``/info`` (TEI).

Queries and passages are encoded differently, so the encoder has two names: its own for passages, and one that ends in
``-query``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.engine.core.turns import on_behalf_of
from dragoman.engine.models.encoding import EmbeddedText, EncoderInfo, precision_of
from dragoman.engine.models.loading import encoder_name
from dragoman.engine.models.tasks import EmbedText
from dragoman.engine.settings import Settings
from dragoman.service.dependencies import RuntimeDep, SettingsDep, run_among_few
from dragoman.service.embeddings.schemas import (
    CohereMeta,
    CohereRequest,
    CohereResponse,
    CohereUnits,
    EmbeddingItem,
    EmbeddingsRequest,
    EmbeddingsResponse,
    EmbeddingUsage,
    Kind,
    ModelEntry,
    ModelList,
    TeiInfo,
    TeiModelType,
    TeiPooling,
    TeiRequest,
)
from dragoman.service.embeddings.vectors import FORMS, Vectors, cut, list_numbers, pack_floats, scale_to_unit
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.http.middleware import DEGRADED_HEADER
from dragoman.service.http.threads import caller_of
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.runtime import Runtime

router = APIRouter(route_class=StrictRoute, tags=["search"])

_QUERY = "-query"
_AT_ONCE = 256
"""Texts of a request that wait for the encoder at a time: the queue has room for others."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors (texts, width) of texts, how many tokens they have together, and what encoded them."""

    vectors: Vectors
    tokens: int
    info: EncoderInfo


@router.post("/v1/embeddings", response_model=EmbeddingsResponse)
async def embeddings(body: EmbeddingsRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Vectors of texts in the format of OpenAI and Voyage. Warnings are in the header X-Dragoman-Degraded."""
    kind = _kind_of(body.model, settings)
    if body.input_type is not None:
        kind = "query" if body.input_type == "query" else "passage"
    size = body.dimensions if body.dimensions is not None else body.output_dimension
    embedded = await _embed(body.input, kind, request, runtime, settings)
    vectors = cut(embedded.vectors, embedded.info, size, "dimensions")

    def write() -> bytes:
        forms: list[Any] = pack_floats(vectors) if body.encoding_format == "base64" else list_numbers(vectors)
        answer = EmbeddingsResponse.model_construct(
            items=[EmbeddingItem.model_construct(index=index, embedding=form) for index, form in enumerate(forms)],
            model=_name_of(kind, settings),
            usage=EmbeddingUsage(prompt_tokens=embedded.tokens, total_tokens=embedded.tokens),
        )
        return answer.model_dump_json().encode()

    return _respond(await run_among_few(write), body.unknown_fields())


@router.get("/v1/models")
async def models(request: Request, settings: SettingsDep) -> ModelList:
    """The encoder's two names: for passages, and for queries."""
    created = request.app.state.started_at
    return ModelList(
        entries=[ModelEntry(id=_name_of(kind, settings), created=created) for kind in ("passage", "query")]
    )


@router.post("/v2/embed", response_model=CohereResponse)
@router.post("/v1/v2/embed", response_model=CohereResponse, include_in_schema=False)
async def embed_cohere(body: CohereRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Vectors of texts in the format of Cohere v2."""
    texts = body.texts_of_request()
    if not texts or (body.texts and body.inputs):
        raise InvalidRequest("texts: send texts, or inputs with texts, and not both")
    kind = _kind_of(body.model, settings)
    if body.input_type is not None:
        kind = "passage" if body.input_type == "search_document" else "query"
    embedded = await _embed(texts, kind, request, runtime, settings)
    vectors = cut(embedded.vectors, embedded.info, body.output_dimension, "output_dimension")
    units = CohereUnits(input_tokens=embedded.tokens)

    def write() -> bytes:
        answer = CohereResponse.model_construct(
            id=request_id(request),
            embeddings={name: FORMS[name](vectors) for name in dict.fromkeys(body.embedding_types or ["float"])},
            texts=texts,
            meta=CohereMeta(billed_units=units, warnings=body.unknown_fields() or None),
        )
        return answer.model_dump_json(exclude_none=True).encode()

    return _respond(await run_among_few(write), [])


@router.post("/embed", response_model=list[list[float]])
async def embed_tei(body: TeiRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Vectors of texts in the format of text-embeddings-inference. Warnings are in the header X-Dragoman-Degraded."""
    kind: Kind = "query" if body.prompt_name == "query" else "passage"
    embedded = await _embed(body.inputs, kind, request, runtime, settings)
    vectors = cut(embedded.vectors, embedded.info, body.dimensions, "dimensions")
    if body.normalize is not False:
        vectors = scale_to_unit(vectors)
    content = await run_among_few(lambda: json.dumps(list_numbers(vectors)).encode())
    return _respond(content, body.unknown_fields())


@router.get("/info")
async def info(request: Request, runtime: RuntimeDep, settings: SettingsDep) -> TeiInfo:
    """The encoder in the words of text-embeddings-inference; it is loaded if it was not."""
    encoder = await _encoder(request, runtime, time.monotonic() + settings.worker.worker_seconds)
    return TeiInfo(
        model_id=encoder_name(settings),
        model_dtype=precision_of(encoder.identity) or "float32",
        model_type=TeiModelType(embedding=TeiPooling(pooling=encoder.pooling)),
        max_input_length=encoder.max_length,
        max_client_batch_size=settings.embedding.embed_texts,
        max_concurrent_requests=settings.search.concurrent_searches,
        max_batch_tokens=settings.worker.worker_batch_tokens,
        auto_truncate=True,
        version=version("dragoman"),
    )


def _name_of(kind: Kind, settings: Settings) -> str:
    return encoder_name(settings) + (_QUERY if kind == "query" else "")


def _kind_of(model: str | None, settings: Settings) -> Kind:
    """Whether a model's name stands for queries or for passages.

    Raises:
        NotFound: there is no such model.
    """
    names: dict[str | None, Kind] = {None: "passage"}
    names |= {_name_of("passage", settings): "passage", _name_of("query", settings): "query"}
    if model not in names:
        passages, queries = (_name_of(kind, settings) for kind in ("passage", "query"))
        raise NotFound(
            f"model: there is no {(model or '')[:100]!r}; there is {passages!r} for passages, {queries!r} for queries"
        )
    return names[model]


async def _encoder(request: Request, runtime: Runtime, until: float) -> EncoderInfo:
    """The encoder, loaded now if necessary."""
    loaded = runtime.models.description("encoder")
    if loaded is None:
        futures = runtime.models.load("encoder")
        await wait_for_futures(futures, request, until)
        loaded = futures[0].result()
    encoder: EncoderInfo = loaded
    return encoder


async def _embed(texts: Sequence[str], kind: Kind, request: Request, runtime: Runtime, settings: Settings) -> Embedded:
    """The vectors of texts, encoded with those of other requests.

    Raises:
        InvalidRequest: the texts exceed the limits of one request.
        ServiceError: the queue is full, or the encoder cannot be loaded, fails or takes too long.
    """
    limits = settings.embedding
    if len(texts) > limits.embed_texts:
        raise InvalidRequest(f"texts: {len(texts)} of them; at most {limits.embed_texts} are allowed in a request")
    if (chars := sum(map(len, texts))) > limits.embed_chars:
        raise InvalidRequest(f"texts: {chars} characters together; at most {limits.embed_chars} are allowed")
    until = time.monotonic() + settings.worker.worker_seconds
    with runtime.traffic.live():
        encoder = await _encoder(request, runtime, until)
        results: list[EmbeddedText] = []
        for start in range(0, len(texts), _AT_ONCE):
            with on_behalf_of(caller_of(request)):
                futures = runtime.models.worker.submit(EmbedText(kind), texts[start : start + _AT_ONCE])
            await wait_for_futures(futures, request, until)
            results += [future.result() for future in futures]
    return Embedded(np.stack([result.vector for result in results]), sum(result.tokens for result in results), encoder)


def _respond(content: bytes, warnings: Sequence[str]) -> Response:
    """The response, with warnings in a header, as these forms have no room for them."""
    reasons = [{"stage": "embeddings", "reason": reason} for reason in warnings]
    return Response(
        content, media_type="application/json", headers={DEGRADED_HEADER: json.dumps(reasons)} if reasons else None
    )
