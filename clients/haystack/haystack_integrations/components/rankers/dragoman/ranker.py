"""The ranker."""

from dataclasses import replace
from typing import Any

from haystack import Document, component
from haystack.utils import Secret
from haystack_integrations.common.dragoman.connected import DEFAULT_TIMEOUT, DEFAULT_URL, Connected, default_key


@component
class DragomanRanker(Connected):
    """Orders documents in any languages by a query, with the service's reranker and its translation tables.

    A document's score becomes the probability that it answers the query.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: Secret | None = None,
        top_k: int | None = None,
        model: str | None = None,
        tables: list[str] | None = None,
        query_language: str | None = None,
        document_language: str | None = None,
        reader_languages: list[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Parameters have the meaning that they have in ``POST /v1/rerank``.

        :param api_key: a key with the scope ``search``; the variable DRAGOMAN_KEY when left out.
        :param top_k: how many of the best to return; all when left out.
        """
        fields = {
            "top_k": top_k,
            "model": model,
            "tables": tables,
            "query_language": query_language,
            "document_language": document_language,
            "reader_languages": reader_languages,
        }
        Connected.__init__(self, url, api_key or default_key(), timeout, fields)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """The best documents for a query, best first."""
        return _ranked(documents, self._service.rerank(query, _texts(documents), **self._options(top_k)))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """As :meth:`run`."""
        return _ranked(documents, await self._service.arerank(query, _texts(documents), **self._options(top_k)))

    def _options(self, top_k: int | None) -> dict[str, Any]:
        return self.fields if top_k is None else self.fields | {"top_k": top_k}


def _texts(documents: list[Document]) -> list[str]:
    return [document.content or "" for document in documents]


def _ranked(documents: list[Document], ranking: list[tuple[int, float]]) -> dict[str, list[Document]]:
    return {"documents": [replace(documents[place], score=score) for place, score in ranking]}
