"""What LlamaIndex asks for, each as requests to a service."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import BaseModel, ConfigDict, Field
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.dragoman.service import (
    DEFAULT_TIMEOUT,
    DEFAULT_URL,
    PASSAGE_CHARS,
    Service,
    identifier,
    metadata_of,
    search_body,
)

_TOP_K = 10
_SHOWN_TO_MODELS = ("title", "language")
"""What a language model and an encoder read of a hit beside its text; the document's metadata they read, too."""


def _connect(url: str | None, api_key: str | None, timeout: float) -> Service:
    address, key = os.environ.get("DRAGOMAN_URL", DEFAULT_URL), os.environ.get("DRAGOMAN_KEY")
    return Service(url or address, api_key or key, timeout)


class _Connected(BaseModel):
    """The address of a service and a key of it, which are as those of :class:`DragomanRetriever`."""

    url: str | None = None
    api_key: str | None = Field(default=None, exclude=True, repr=False)
    timeout: float = DEFAULT_TIMEOUT

    @cached_property
    def _service(self) -> Service:
        return _connect(self.url, self.api_key, self.timeout)


class DragomanRetriever(BaseRetriever):
    """Documents in any language for a query in another.

    A node's text is the passage of a document that matches best, verbatim. Its metadata has the document's and the
    hit's ``collection``, ``id``, ``language``, ``title``, ``score``, ``relevance``, ``snippet_start``, ``highlights``
    and what else was asked for. Fields have the meaning that they have in ``POST /v1/search``; ``options`` are further
    ones; ``top_k`` among them is ``similarity_top_k``, which is 10 when both are left out.

    Args:
        url: the service's address; the variable DRAGOMAN_URL when left out.
        api_key: a key with the scope ``search``, where the service has keys; DRAGOMAN_KEY when left out.
        timeout: seconds that a request may take.
        passage_chars: the longest passage, 50 to 2,000 characters.
        min_relevance: the least ``relevance``, a probability; documents below it are left out.

    Raises:
        ValueError: ``similarity_top_k`` and ``top_k`` are given, and differ.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        similarity_top_k: int | None = None,
        collections: Sequence[str] | None = None,
        filter: dict[str, Any] | None = None,
        method: str | None = None,
        rerank: dict[str, Any] | bool | None = None,
        tables: Sequence[str] | None = None,
        query_language: str | None = None,
        reader_languages: Sequence[str] | None = None,
        translate_snippets: bool | None = None,
        passage_chars: int = PASSAGE_CHARS,
        min_relevance: float = 0.0,
        timeout: float = DEFAULT_TIMEOUT,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        top_k = options.pop("top_k", None)
        if None not in (similarity_top_k, top_k) and similarity_top_k != top_k:
            raise ValueError(f"similarity_top_k is {similarity_top_k}, and top_k is {top_k}: give one of them")
        self.similarity_top_k: int = next((count for count in (similarity_top_k, top_k) if count is not None), _TOP_K)
        self.passage_chars = passage_chars
        self.min_relevance = min_relevance
        self.options = options | {
            "collections": collections,
            "filter": filter,
            "method": method,
            "rerank": rerank,
            "tables": tables,
            "query_language": query_language,
            "reader_languages": reader_languages,
            "translate_snippets": translate_snippets,
        }
        self._service = _connect(url, api_key, timeout)
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(self._service.search(self._body(query_bundle)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(await self._service.asearch(self._body(query_bundle)))

    def _body(self, query_bundle: QueryBundle) -> dict[str, Any]:
        return search_body(query_bundle.query_str, self.similarity_top_k, self.passage_chars, **self.options)

    def _nodes(self, hits: list[dict[str, Any]]) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=_node(hit), score=hit["score"]) for hit in hits if hit["relevance"] >= self.min_relevance
        ]


class DragomanRerank(_Connected, BaseNodePostprocessor):
    """Orders nodes in any languages by a query, with the service's reranker and its translation tables.

    A node's score becomes the probability that it answers the query.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    top_n: int | None = Field(default=None, description="How many of the best to return; all when left out.")
    model: str | None = None
    tables: list[str] | None = None
    query_language: str | None = None
    document_language: str | None = None
    reader_languages: list[str] | None = None

    @classmethod
    def class_name(cls) -> str:
        """The name of the class in what is serialised."""
        return "DragomanRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        ranking = self._service.rerank(*self._question(nodes, query_bundle), **self._options())
        return [NodeWithScore(node=nodes[place].node, score=score) for place, score in ranking]

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        ranking = await self._service.arerank(*self._question(nodes, query_bundle), **self._options())
        return [NodeWithScore(node=nodes[place].node, score=score) for place, score in ranking]

    def _question(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None) -> tuple[str, list[str]]:
        if query_bundle is None:
            raise ValueError("a query is needed: postprocess_nodes(nodes, query_str=...)")
        return query_bundle.query_str, [node.node.get_content() for node in nodes]

    def _options(self) -> dict[str, Any]:
        names = ("top_n", "model", "tables", "query_language", "document_language", "reader_languages")
        return {name: getattr(self, name) for name in names}


class DragomanEmbedding(_Connected, BaseEmbedding):
    """The vectors of the service's encoder, in one space for all languages; queries and texts are told apart."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, protected_namespaces=())

    model_name: str = "dragoman"
    model: str | None = Field(default=None, description="A name that GET /v1/models lists.")
    dimensions: int | None = Field(default=None, description="A size that the encoder was trained for.")

    @classmethod
    def class_name(cls) -> str:
        """The name of the class in what is serialised."""
        return "DragomanEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._service.embed([query], "query", **self._options())[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return (await self._service.aembed([query], "query", **self._options()))[0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._service.embed(texts, "passage", **self._options())

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._aget_text_embeddings([text]))[0]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await self._service.aembed(texts, "passage", **self._options())

    def _options(self) -> dict[str, Any]:
        return {"model": self.model, "dimensions": self.dimensions}


def _node(hit: dict[str, Any]) -> TextNode:
    hidden = [name for name in hit if name not in _SHOWN_TO_MODELS]
    return TextNode(
        id_=identifier(hit),
        text=hit["snippet"],
        metadata=metadata_of(hit),
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
        start_char_idx=hit["snippet_start"],
        end_char_idx=hit["snippet_start"] + len(hit["snippet"]),
    )
