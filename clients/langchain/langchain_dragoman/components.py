"""What LangChain asks for, each as requests to a service."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.utils import from_env, secret_from_env
from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from langchain_dragoman.service import (
    DEFAULT_TIMEOUT,
    DEFAULT_URL,
    PASSAGE_CHARS,
    Service,
    identifier,
    metadata_of,
    search_body,
)


class _Connected(BaseModel):
    """The address of a service and a key of it."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(default_factory=from_env("DRAGOMAN_URL", default=DEFAULT_URL))
    """The service's address; ``DRAGOMAN_URL`` when left out."""
    api_key: SecretStr | None = Field(default_factory=secret_from_env("DRAGOMAN_KEY", default=None))
    """A key with the scope ``search``, where the service has keys; ``DRAGOMAN_KEY`` when left out."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds that a request may take."""

    @cached_property
    def _service(self) -> Service:
        return Service(self.url, self.api_key.get_secret_value() if self.api_key else None, self.timeout)


class DragomanRetriever(_Connected, BaseRetriever):
    """Documents in any language for a query in another.

    ``page_content`` is the passage of a document that matches best, verbatim. ``metadata`` has the document's and the
    hit's ``collection``, ``id``, ``language``, ``title``, ``score``, ``relevance``, ``snippet_start``, ``highlights``
    and what else was asked for. Fields have the meaning that they have in ``POST /v1/search``. What a chain gives to
    ``invoke`` beside the query replaces them: ``retriever.invoke("volcano", k=3, filter={"year": 2020})``.
    """

    model_config = ConfigDict(extra="forbid")

    k: int = Field(default=10, ge=1)
    """How many documents; in ``options`` and for a query also ``top_k``, as the service names it.

    Two different numbers are refused with ``ValueError``, but that of a query replaces the retriever's."""
    collections: list[str] | None = None
    filter: dict[str, Any] | None = None
    method: Literal["hybrid", "psq", "smt", "none", "dense"] | None = None
    rerank: dict[str, Any] | Literal[False] | None = None
    tables: list[str] | None = None
    query_language: str | None = None
    reader_languages: list[str] | None = None
    translate_snippets: bool | None = None
    passage_chars: int = PASSAGE_CHARS
    """The longest passage, 50 to 2,000 characters."""
    min_relevance: float = 0.0
    """The least ``relevance``, a probability; documents below it are left out."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further fields of ``POST /v1/search``."""

    @model_validator(mode="after")
    def _check_count(self) -> Self:
        count = _as_the_service_names(self.options).get("top_k")
        if "k" in self.model_fields_set and count is not None and count != self.k:
            raise ValueError(f"k is {self.k}, and options say {count}: give one of them")
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **fields: Any
    ) -> list[Document]:
        return self._documents(self._service.search(self._body(query, fields)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **fields: Any
    ) -> list[Document]:
        return self._documents(await self._service.asearch(self._body(query, fields)))

    def _body(self, query: str, fields: dict[str, Any]) -> dict[str, Any]:
        names = ("collections", "filter", "method", "rerank", "tables", "query_language", "reader_languages")
        own = {name: getattr(self, name) for name in (*names, "translate_snippets")}
        stated = own | _as_the_service_names(self.options) | _as_the_service_names(fields)
        count, chars = stated.pop("top_k", self.k), stated.pop("passage_chars", self.passage_chars)
        return search_body(query, count, chars, **stated)

    def _documents(self, hits: list[dict[str, Any]]) -> list[Document]:
        return [
            Document(id=identifier(hit), page_content=hit["snippet"], metadata=metadata_of(hit))
            for hit in hits
            if hit["relevance"] >= self.min_relevance
        ]


class DragomanReranker(_Connected, BaseDocumentCompressor):
    """Orders documents in any languages by a query, with the service's reranker and its translation tables.

    Each document's ``metadata`` gets ``relevance_score``, the probability that it answers the query.
    """

    top_n: int | None = None
    """How many of the best to return; all when left out."""
    model: str | None = None
    tables: list[str] | None = None
    query_language: str | None = None
    document_language: str | None = None
    reader_languages: list[str] | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """The best documents for a query, best first."""
        ranking = self._service.rerank(query, [document.page_content for document in documents], **self._options())
        return [_scored(documents[place], score) for place, score in ranking]

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """As :meth:`compress_documents`."""
        texts = [document.page_content for document in documents]
        ranking = await self._service.arerank(query, texts, **self._options())
        return [_scored(documents[place], score) for place, score in ranking]

    def _options(self) -> dict[str, Any]:
        names = ("top_n", "model", "tables", "query_language", "document_language", "reader_languages")
        return {name: getattr(self, name) for name in names}


class DragomanEmbeddings(_Connected, Embeddings):
    """The vectors of the service's encoder, in one space for all languages; queries and documents are told apart."""

    model: str | None = None
    dimensions: int | None = None
    """A size that the encoder was trained for; its own when left out."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts that are searched."""
        return self._service.embed(texts, "passage", **self._options())

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self._service.embed([text], "query", **self._options())[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As :meth:`embed_documents`."""
        return await self._service.aembed(texts, "passage", **self._options())

    async def aembed_query(self, text: str) -> list[float]:
        """As :meth:`embed_query`."""
        return (await self._service.aembed([text], "query", **self._options()))[0]

    def _options(self) -> dict[str, Any]:
        return {"model": self.model, "dimensions": self.dimensions}


def _as_the_service_names(fields: dict[str, Any]) -> dict[str, Any]:
    """LangChain's ``k`` is the service's ``top_k``, and either may be given.

    Raises:
        ValueError: both are given, and differ.
    """
    if "k" in fields and "top_k" in fields and fields["k"] != fields["top_k"]:
        raise ValueError(f"k is {fields['k']}, and top_k is {fields['top_k']}: give one of them")
    return {"top_k" if name == "k" else name: field for name, field in fields.items()}


def _scored(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": document.metadata | {"relevance_score": score}})
