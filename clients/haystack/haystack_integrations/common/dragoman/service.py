"""Requests to a Dragoman service. The packages for LangChain, LlamaIndex and Haystack have copies of this file."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import httpx

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT = 60.0
PASSAGE_CHARS = 2_000
"""The longest passage that a search may be asked for."""
_BATCH_TEXTS, _BATCH_CHARS = 128, 200_000
"""Most texts and characters of one request for embeddings, below the service's own limits."""

_LOG = logging.getLogger(__name__)


class DragomanError(Exception):
    """The service cannot be reached, or it refused; ``status`` is that of HTTP, None where there was no answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """A service at an address. Usable from many threads, and from many event loops."""

    def __init__(self, url: str, key: str | None = None, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._options: dict[str, Any] = {
            "base_url": url.rstrip("/"),
            "headers": {"Authorization": f"Bearer {key}"} if key else {},
            "timeout": timeout,
        }
        self._client = httpx.Client(**self._options)

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._options = state["_options"]
        self._client = httpx.Client(**self._options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Service:
        return self

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            DragomanError: there is none, or it is an error.
        """
        try:
            return _read(self._client.post(path, json=body))
        except httpx.TransportError as fault:
            raise _unreachable(self._options["base_url"], fault) from fault

    async def apost(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """As :meth:`post`. Connections belong to an event loop, so each request has its own."""
        try:
            async with httpx.AsyncClient(**self._options) as client:
                return _read(await client.post(path, json=body))
        except httpx.TransportError as fault:
            raise _unreachable(self._options["base_url"], fault) from fault

    def search(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The hits of a search."""
        return _hits(self.post("/v1/search", body))

    async def asearch(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """As :meth:`search`."""
        return _hits(await self.apost("/v1/search", body))

    def rerank(self, query: str, texts: Sequence[str], **options: Any) -> list[tuple[int, float]]:
        """The places of texts and the probabilities that they answer a query, best first."""
        return _ranking(self.post("/v1/rerank", _rerank_body(query, texts, options))) if texts else []

    async def arerank(self, query: str, texts: Sequence[str], **options: Any) -> list[tuple[int, float]]:
        """As :meth:`rerank`."""
        return _ranking(await self.apost("/v1/rerank", _rerank_body(query, texts, options))) if texts else []

    def embed(self, texts: Sequence[str], kind: str, **options: Any) -> list[list[float]]:
        """The vectors of texts; ``kind`` is ``query`` or ``passage``."""
        bodies = _embedding_bodies(texts, kind, options)
        return [vector for body in bodies for vector in _vectors(self.post("/v1/embeddings", body))]

    async def aembed(self, texts: Sequence[str], kind: str, **options: Any) -> list[list[float]]:
        """As :meth:`embed`."""
        bodies = _embedding_bodies(texts, kind, options)
        return [vector for body in bodies for vector in _vectors(await self.apost("/v1/embeddings", body))]


def search_body(query: str, top_k: int, passage_chars: int, **fields: Any) -> dict[str, Any]:
    """A request of ``POST /v1/search``; fields that are None are left out."""
    body = {"query": query, "top_k": top_k, "snippets": {"length": passage_chars}}
    return body | _given(fields)


def metadata_of(hit: dict[str, Any]) -> dict[str, Any]:
    """A hit's fields and its document's metadata in one; of two of one name, the document's is ``metadata.NAME``."""
    fields = {name: field for name, field in hit.items() if name not in ("snippet", "metadata")}
    stored = hit["metadata"] or {}
    return {f"metadata.{name}" if name in fields else name: field for name, field in stored.items()} | fields


def identifier(hit: dict[str, Any]) -> str:
    """A document's name among those of all collections."""
    return f"{hit['collection']}/{hit['id']}"


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: field for name, field in fields.items() if field is not None}


def _rerank_body(query: str, texts: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    return {"query": query, "documents": list(texts)} | _given(options)


def _embedding_bodies(texts: Sequence[str], kind: str, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or sum(map(len, batch)) + len(text) > _BATCH_CHARS):
            yield {"input": batch, "input_type": kind} | _given(options)
            batch = []
        batch.append(text)
    if batch:
        yield {"input": batch, "input_type": kind} | _given(options)


def _vectors(answer: dict[str, Any]) -> list[list[float]]:
    return [entry["embedding"] for entry in answer["data"]]


def _hits(answer: dict[str, Any]) -> list[dict[str, Any]]:
    for part in answer["degraded"]:
        _LOG.warning("the search was degraded: %s: %s", part["stage"], part["reason"])
    for part in answer["truncated"]:
        _LOG.warning("the search was cut: %s", part)
    hits: list[dict[str, Any]] = answer["hits"]
    return hits


def _ranking(answer: dict[str, Any]) -> list[tuple[int, float]]:
    for part in answer.get("failed") or ():
        _LOG.warning("document %s could not be scored: %s", part["index"], part["reason"])
    for part in answer.get("truncated") or ():
        _LOG.warning("document %s was read in part", part)
    for warning in answer["meta"].get("warnings") or ():
        _LOG.warning("%s", warning)
    return [(result["index"], result["relevance_score"]) for result in answer["results"]]


def _read(response: httpx.Response) -> dict[str, Any]:
    if response.is_success:
        answer: dict[str, Any] = response.json()
        return answer
    try:
        message = str(response.json()["message"])
    except (ValueError, KeyError, TypeError):  # a proxy answers in a form of its own
        message = response.text[:1_000]
    raise DragomanError(f"{response.status_code}: {message}", response.status_code)


def _unreachable(url: str, fault: Exception) -> DragomanError:
    return DragomanError(f"{url} does not answer: {fault or type(fault).__name__}")
