"""``POST /mcp``: the Model Context Protocol over streamable HTTP, https://modelcontextprotocol.io, without sessions.

A tool is a request to an endpoint of this service by the same caller. So the scopes of a key, what it is limited to,
deadlines and admission are those of ``/v1``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from starlette.types import Message, Receive, Scope, Send

from dragoman.engine.core.errors import Forbidden, InternalError, from_status
from dragoman.installation import require
from dragoman.service.dependencies import SettingsDep
from dragoman.service.http.authentication import needed_scopes
from dragoman.service.integrations.mcp_tools import Action

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext

router = APIRouter(tags=["integrations"])

_ROUTES: dict[Action, tuple[str, str]] = {
    "search": ("POST", "/v1/search"),
    "get_document": ("GET", "/v1/collections/{name}/documents/{id}"),
    "ask": ("POST", "/v1/qa"),
    "lookup": ("GET", "/v1/lookup"),
    "patch_table": ("PATCH", "/v1/tables/{name}"),
}
_MESSAGE = {
    "requestBody": {
        "required": True,
        "description": "A message of JSON-RPC.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


@router.post("/mcp", openapi_extra=_MESSAGE)
async def exchange_mcp_messages(settings: SettingsDep) -> Response:
    """Tools for agents by MCP: search, fetch, answer, look_up_term, and add_term for a key with the scope admin.

    503 where the package `mcp` is not installed.
    """
    require("mcp", "/mcp")
    return _Exchange(await anyio.to_thread.run_sync(_server), settings.requests.body_bytes)


class _Exchange(Response):
    """The response to one message, which the ``mcp`` package reads and answers."""

    def __init__(self, server: Server[Any], body_bytes: int) -> None:
        super().__init__()
        self._server, self._body_bytes = server, body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=self._body_bytes
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)


@cache
def _server() -> Server[Any]:
    """Made at the first message: the package takes a second to import."""
    import mcp.server.streamable_http_manager  # noqa: F401

    from dragoman.service.integrations.mcp_server import make_server

    def of_request(context: ServerRequestContext[Any, Any]) -> _OfRequest:
        assert context.request is not None
        return _OfRequest(context.request)

    return make_server(of_request)


class _OfRequest:
    """Answers tools by the endpoints of the application that a request was sent to, for its caller."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def allows(self, action: Action) -> bool:
        method, path = _ROUTES[action]
        caller = self._request.scope["state"]["caller"]
        return bool(set(needed_scopes(method, path) or ()) & set(caller.scopes))

    async def send(self, action: Action, place: Mapping[str, str], fields: Mapping[str, Any]) -> Any:
        method, path = _ROUTES[action]
        if not self.allows(action):
            raise Forbidden(f"the API key needs the scope {' or '.join(needed_scopes(method, path) or ())} for this")
        parameters = urlencode(fields) if method == "GET" else ""
        content = b"" if method == "GET" else json.dumps(fields).encode()
        scope = self._scope(method, path, place, parameters)
        status, body = await _answer(self._request, scope, content)
        if status >= 400:
            raise from_status(status, body["message"])
        return body

    def _scope(self, method: str, path: str, place: Mapping[str, str], parameters: str) -> Scope:
        named = ("content-type", "accept-language")
        headers = [(name, text) for name, text in self._request.scope["headers"] if name.decode("latin-1") in named]
        quoted = {name: quote(text, safe="") for name, text in place.items()}
        dropped = ("route", "endpoint", "path_params", "router")
        return {name: part for name, part in self._request.scope.items() if name not in dropped} | {
            "method": method,
            "path": path.format(**place),
            "raw_path": path.format(**quoted).encode(),
            "query_string": parameters.encode(),
            "headers": headers,
        }


async def _answer(request: Request, scope: Scope, content: bytes) -> tuple[int, Any]:
    """The status and the JSON of what an endpoint of the application answers."""
    status, parts, sent = 0, bytearray(), False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return await request.receive()
        sent = True
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        parts.extend(message.get("body", b""))

    await scope["app"].router(scope, receive, send)
    if not status:
        raise InternalError("the service gave no answer")
    return status, json.loads(parts)
