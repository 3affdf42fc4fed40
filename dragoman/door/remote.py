"""The calls of the door over HTTP, with httpx: to a service that runs, here or elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from dragoman.door.calls import Call, Name
from dragoman.engine.core.errors import InternalError, InvalidRequest, ServiceError, Unavailable, from_status

T = TypeVar("T")

SECONDS = 600.0
"""How long a request may take; a service has deadlines of its own, which are shorter."""
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Route:
    """Where a call goes: a method, an address with the places that it names, and whether its fields are a query."""

    method: str
    path: str
    as_query: bool = False
    media_type: str = "application/json"
    streams: bool = False
    """Whether the answer is a stream of lines."""


ROUTES: dict[Name, Route] = {
    "search": Route("POST", "/v1/search"),
    "ask": Route("POST", "/v1/qa"),
    "read": Route("POST", "/v1/read"),
    "lookup": Route("GET", "/v1/lookup", True),
    "suggest": Route("GET", "/v1/suggest", True),
    "rank": Route("POST", "/v1/rerank"),
    "translate": Route("POST", "/v1/translate"),
    "check_translation": Route("POST", "/v1/translate/check"),
    "tag": Route("POST", "/v1/tag"),
    "collections": Route("GET", "/v1/collections", True),
    "create_collection": Route("POST", "/v1/collections"),
    "get_collection": Route("GET", "/v1/collections/{name}", True),
    "change_collection": Route("PATCH", "/v1/collections/{name}"),
    "truncate_collection": Route("POST", "/v1/collections/{name}/truncate", True),
    "get_statistics": Route("GET", "/v1/collections/{name}/stats", True),
    "aliases": Route("GET", "/v1/aliases", True),
    "set_alias": Route("PUT", "/v1/aliases/{alias}"),
    "delete_alias": Route("DELETE", "/v1/aliases/{alias}", True),
    "delete_collection": Route("DELETE", "/v1/collections/{name}", True),
    "add_documents": Route("POST", "/v1/collections/{name}/documents", True, "application/x-ndjson"),
    "list_documents": Route("GET", "/v1/collections/{name}/documents", True),
    "export_documents": Route("GET", "/v1/collections/{name}/export", True, streams=True),
    "delete_documents": Route("POST", "/v1/collections/{name}/documents/delete"),
    "get_document": Route("GET", "/v1/collections/{name}/documents/{id}", True),
    "change_document": Route("PATCH", "/v1/collections/{name}/documents/{id}"),
    "delete_document": Route("DELETE", "/v1/collections/{name}/documents/{id}", True),
    "tables": Route("GET", "/v1/tables", True),
    "add_table": Route("PUT", "/v1/tables/{name}", True, "application/octet-stream"),
    "get_table": Route("GET", "/v1/tables/{name}", True),
    "patch_table": Route("PATCH", "/v1/tables/{name}"),
    "activate_table": Route("POST", "/v1/tables/{name}/versions/{version}/activate", True),
    "deactivate_table": Route("POST", "/v1/tables/{name}/deactivate", True),
    "delete_table_version": Route("DELETE", "/v1/tables/{name}/versions/{version}", True),
    "report": Route("GET", "/v1/reports/{kind}", True),
    "get_backup": Route("GET", "/v1/backup", True, streams=True),
    "restore_backup": Route("POST", "/v1/backup", True, "application/gzip"),
    "look_up": Route("GET", "/v1/tables/{name}/terms/{term}", True),
}


class Remote:
    """Sends calls to a service. Usable from many threads."""

    def __init__(self, url: str, key: str | None = None, seconds: float = SECONDS) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, headers=_headers(key), timeout=seconds)

    def send(self, call: Call[T]) -> T:
        """The answer to a call.

        Raises:
            ServiceError: the service's error; :class:`Unavailable` where it cannot be reached.
        """
        _check_open(self._client)
        try:
            if ROUTES[call.name].streams:
                return call.read(self._stream(call))
            response = self._client.request(**_request(call))
        except httpx.TransportError as fault:
            raise _unreachable(self.url, fault) from fault
        return _read_answer(call, response)

    def _stream(self, call: Call[Any]) -> Iterator[bytes]:
        """The bytes of an answer that is streamed, its status read already."""
        stack = ExitStack()
        with stack:
            response = stack.enter_context(self._client.stream(**_request(call)))
            if response.is_error:
                response.read()
                _answer(response)
            resources = stack.pop_all()
        return _parts_of(response, resources)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


class AsyncRemote:
    """Sends calls to a service from an event loop."""

    def __init__(self, url: str, key: str | None = None, seconds: float = SECONDS) -> None:
        self.url = url
        self._client = httpx.AsyncClient(base_url=url, headers=_headers(key), timeout=seconds)

    async def send(self, call: Call[T]) -> T:
        """The answer to a call.

        Raises:
            ServiceError: the service's error; :class:`Unavailable` where it cannot be reached.
        """
        _check_open(self._client)
        request = _request(call)
        if call.body is not None:
            request["content"] = _later(call.body)
        try:
            response = await self._client.request(**request)
        except httpx.TransportError as fault:
            raise _unreachable(self.url, fault) from fault
        return _read_answer(call, response)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _headers(key: str | None) -> dict[str, str]:
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InvalidRequest("key: has other characters than a key has")
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def _request(call: Call[Any]) -> dict[str, Any]:
    route = ROUTES[call.name]
    path = route.path.format(**{name: quote(text, safe="") for name, text in call.place.items()})
    request: dict[str, Any] = {"method": route.method, "url": path}
    if route.as_query:
        request["params"] = call.parameters()
    else:
        request["content"] = call.content()
    if call.body is not None:
        request["content"] = _chunks(call.body)
    headers = {"Content-Type": route.media_type} if "content" in request else {}
    if call.if_match is not None:
        headers["If-Match"] = f'"{call.if_match}"'
    return {**request, "headers": headers}


def _chunks(parts: Iterable[bytes]) -> Iterable[bytes]:
    """The same bytes in pieces that are worth a packet."""
    gathered = bytearray()
    for part in parts:
        gathered += part
        if len(gathered) >= _CHUNK:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def _parts_of(response: httpx.Response, resources: ExitStack) -> Iterator[bytes]:
    with resources:
        yield from response.iter_bytes()


async def _later(parts: Iterable[bytes]) -> Any:
    for part in _chunks(parts):
        yield part


def _answer(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    try:
        message = str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        message = f"{response.status_code} {response.reason_phrase}"
    raise from_status(response.status_code, message)


def _read_answer(call: Call[T], response: httpx.Response) -> T:
    """What a call reads of its answer.

    Raises:
        InternalError: it is none that a service gives.
    """
    try:
        return call.read(_answer(response))
    except (ValueError, KeyError, TypeError) as fault:
        raise InternalError(f"{response.request.url} answered as no service of Dragoman does") from fault


def _check_open(client: httpx.Client | httpx.AsyncClient) -> None:
    if client.is_closed:
        raise Unavailable("the database is closed")


def _unreachable(url: str, fault: httpx.TransportError) -> ServiceError:
    reason = str(fault) or type(fault).__name__
    return Unavailable(f"{url} cannot be reached: {reason}")
