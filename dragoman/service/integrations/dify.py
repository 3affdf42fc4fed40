"""``POST /retrieval``: an external knowledge base for Dify, and for what speaks its form, as RAGFlow does.

Dify adds ``/retrieval`` to the address that its users enter, and posts ``knowledge_id``, ``query``,
``retrieval_setting`` and ``metadata_condition``:
https://docs.dify.ai/en/use-dify/knowledge/external-knowledge-api and https://github.com/langgenius/dify,
``api/services/external_knowledge_service.py`` and ``api/core/rag/entities/metadata_entities.py``. While it registers an
address it posts no body at all. It then takes 403, 404 and 502 alone for failures, so a key that is not known is 403
here. Its errors have ``error_code`` and ``error_msg``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, StrictBool, StrictFloat, StrictInt
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from dragoman.engine.core.errors import Forbidden, InvalidRequest, NotFound, ServiceError, TooManyRequests, Unauthorized
from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.engine.search.response import SearchResponse
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute, bearer
from dragoman.service.http.errors import request_id
from dragoman.service.integrations.dify_conditions import MetadataCondition, read_conditions
from dragoman.service.integrations.searching import find, passage_options, search_request
from dragoman.store.validation import Name, NotBlank, TolerantBody

PATH = "/retrieval"
_BAD_AUTHORIZATION, _REFUSED, _NO_KNOWLEDGE = 1001, 1002, 2001
"""Dify's codes; of other errors the code is the HTTP status."""
_TOP_K = 10


class DifyRoute(StrictRoute):
    """A route whose errors have Dify's fields beside the service's."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_with_codes(request: Request) -> Response:
            try:
                if "content-type" not in request.headers:
                    raise InvalidRequest("the body is missing: send knowledge_id, query and retrieval_setting as JSON")
                return await handle(request)
            except (ServiceError, HTTPException) as fault:  # FastAPI wraps what reading the body raised
                error = fault.__cause__ if isinstance(fault, HTTPException) else fault
                if not isinstance(error, ServiceError) or error.status >= 500:
                    raise
                return _error_response(error, request_id(request))

        return handle_with_codes


class DifyErrors:
    """Answers requests of Dify that are refused before they reach the route."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self.app(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        except (Unauthorized, Forbidden, TooManyRequests) as fault:
            refusal: ServiceError = fault
            if isinstance(fault, Unauthorized) and bearer(scope):
                refusal = Forbidden(str(fault), fault.reason)
            await _error_response(refusal, scope["state"]["request_id"])(scope, receive, send)


def _error_response(fault: ServiceError, identifier: str) -> Response:
    code = fault.status
    if isinstance(fault, Unauthorized):
        code = _BAD_AUTHORIZATION
    elif isinstance(fault, Forbidden):
        code = _REFUSED
    elif isinstance(fault, NotFound):
        code = _NO_KNOWLEDGE
    body = {**fault.body(identifier), "error_code": code, "error_msg": str(fault)}
    return Response(json.dumps(body), fault.status, headers=fault.headers, media_type="application/json")


router = APIRouter(route_class=DifyRoute, tags=["integrations"])


class RetrievalSetting(TolerantBody):
    """How many records, and how relevant ones."""

    top_k: Annotated[StrictInt, Field(ge=1)] | None = Field(default=None, description="10 when left out.")
    score_threshold: Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)] | None = Field(
        default=None, description="Least relevance of a record."
    )


class Retrieval(TolerantBody):
    """What Dify asks."""

    knowledge_id: Name = Field(description="A collection or an alias.")
    query: NotBlank = Field(max_length=QUERY_CHARS)
    retrieval_setting: RetrievalSetting | None = None
    metadata_condition: MetadataCondition | None = None
    use_kg: Literal[False] | StrictBool | None = Field(
        default=None, description="RAGFlow's: there is no knowledge graph here, so only false is allowed."
    )


class RetrievalRecord(BaseModel):
    """A passage of a document."""

    content: str = Field(description="The part of the text that matches best, verbatim, at most 2,000 characters.")
    score: float = Field(description="The probability that the document answers the query.")
    title: str = Field(description="The document's title, or else its id.")
    metadata: dict[str, Any] = Field(
        description="The document's metadata, with its `document_id`, `collection` and `language` where it has none."
    )


class RetrievalAnswer(BaseModel):
    """What Dify reads."""

    records: list[RetrievalRecord]


@router.post(PATH, response_model=RetrievalAnswer)
async def retrieve_for_dify(body: Retrieval, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Retrieve passages as an external knowledge base of Dify."""
    if body.use_kg:
        raise InvalidRequest("use_kg: there is no knowledge graph here; only false is allowed")
    setting = body.retrieval_setting or RetrievalSetting()
    threshold, top_k = setting.score_threshold or 0, setting.top_k or _TOP_K

    def answer(results: SearchResponse) -> dict[str, Any]:
        records = [
            {
                "content": hit.snippet,
                "score": hit.relevance,
                "title": hit.title or hit.id,
                "metadata": {"document_id": hit.id, "collection": hit.collection, "language": hit.language}
                | hit.metadata,
            }
            for hit in results.hits
            if hit.relevance >= threshold
        ]
        return {"records": records}

    query = search_request(
        query=body.query,
        collections=[body.knowledge_id],
        top_k=top_k,
        filter=None if body.metadata_condition is None else read_conditions(body.metadata_condition),
        snippets=passage_options(settings, top_k),
    )
    return await find(query, request, runtime, settings, answer, [*body.unknown_fields(), *setting.unknown_fields()])
