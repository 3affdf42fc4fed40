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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.engine.core.errors import Forbidden, InvalidRequest, Unauthorized
from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.engine.search.response import SearchResponse
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute, bearer
from dragoman.service.integrations.dify_conditions import MetadataCondition, read_conditions
from dragoman.service.integrations.searching import find, passage_options, search_request
from dragoman.store.validation import Name, NotBlank, TolerantBody

PATH = "/retrieval"
_CODES = {401: 1001, 403: 1002, 404: 2001}
"""Dify's codes of bad headers, refused keys and unknown knowledge; of other errors the code is the HTTP status."""
_TOP_K = 10


class DifyRoute(StrictRoute):
    """A route that says what is missing where there is no body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_with_body(request: Request) -> Response:
            if "content-type" not in request.headers:
                raise InvalidRequest("the body is missing: send knowledge_id, query and retrieval_setting as JSON")
            return await handle(request)

        return handle_with_body


class DifyRefusals:
    """Refuses keys that are not known as Dify expects it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        except Unauthorized as fault:
            if not _is_for_dify(scope) or not bearer(scope):
                raise
            raise Forbidden(str(fault), fault.reason) from fault


class DifyErrors:
    """Puts Dify's fields beside the service's into every error of its path, whatever refused the request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_for_dify(scope):
            await self.app(scope, receive, send)
            return
        refusal: Message = {}
        parts: list[bytes] = []

        async def send_with_codes(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                refusal.update(message)
                return
            if refusal:
                parts.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                message = {"type": "http.response.body", "body": _with_codes(b"".join(parts), refusal["status"])}
                headers = [header for header in refusal["headers"] if header[0].lower() != b"content-length"]
                headers.append((b"content-length", str(len(message["body"])).encode()))
                await send({**refusal, "headers": headers})
            await send(message)

        await self.app(scope, receive, send_with_codes)


def _is_for_dify(scope: Scope) -> bool:
    path: str = scope.get("path", "")
    return path.rstrip("/") == PATH


def _with_codes(body: bytes, status: int) -> bytes:
    if not body:  # an answer to HEAD
        return b""
    error = json.loads(body)
    return json.dumps({**error, "error_code": _CODES.get(status, status), "error_msg": error["message"]}).encode()


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
