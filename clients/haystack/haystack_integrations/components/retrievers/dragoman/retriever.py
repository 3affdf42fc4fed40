"""The retriever."""

from typing import Any

from haystack import Document, component
from haystack.utils import Secret
from haystack_integrations.common.dragoman.connected import DEFAULT_TIMEOUT, DEFAULT_URL, Connected, default_key
from haystack_integrations.common.dragoman.filters import as_filter
from haystack_integrations.common.dragoman.service import PASSAGE_CHARS, identifier, metadata_of, search_body

_TOP_K = 10


@component
class DragomanRetriever(Connected):
    """Documents in any language for a query in another.

    A document's content is the passage that matches best, verbatim. Its meta has the document's metadata and the hit's
    ``collection``, ``id``, ``language``, ``title``, ``score``, ``relevance``, ``snippet_start``, ``highlights`` and
    what else was asked for.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: Secret | None = None,
        top_k: int | None = None,
        collections: list[str] | None = None,
        filters: dict[str, Any] | None = None,
        method: str | None = None,
        rerank: dict[str, Any] | bool | None = None,
        tables: list[str] | None = None,
        query_language: str | None = None,
        reader_languages: list[str] | None = None,
        translate_snippets: bool | None = None,
        passage_chars: int = PASSAGE_CHARS,
        min_relevance: float = 0.0,
        options: dict[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Most parameters have the meaning that they have in ``POST /v1/search``.

        :param api_key: a key with the scope ``search``; the variable DRAGOMAN_KEY when left out.
        :param top_k: how many documents; 10 when it is in ``options`` neither.
        :param filters: in Haystack's form or in Dragoman's.
        :param passage_chars: the longest passage, 50 to 2,000 characters.
        :param min_relevance: the least ``relevance``, a probability; documents below it are left out.
        :param options: further fields of ``POST /v1/search``.
        :raises ValueError: ``top_k`` is given, and ``options`` have another one.
        """
        in_options = (options or {}).get("top_k")
        if None not in (top_k, in_options) and top_k != in_options:
            raise ValueError(f"top_k is {top_k}, and options say {in_options}: give one of them")
        fields = {
            "top_k": top_k,
            "collections": collections,
            "filters": filters,
            "method": method,
            "rerank": rerank,
            "tables": tables,
            "query_language": query_language,
            "reader_languages": reader_languages,
            "translate_snippets": translate_snippets,
            "passage_chars": passage_chars,
            "min_relevance": min_relevance,
            "options": options,
        }
        Connected.__init__(self, url, api_key or default_key(), timeout, fields)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The documents that a query finds, best first; ``filters`` replace those of the component."""
        return self._answer(self._service.search(self._body(query, filters, top_k)))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """As :meth:`run`."""
        return self._answer(await self._service.asearch(self._body(query, filters, top_k)))

    def _body(self, query: str, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        fields = dict(self.fields)
        stored, own_top_k = fields.pop("filters"), fields.pop("top_k")
        passage_chars, options = fields.pop("passage_chars"), dict(fields.pop("options") or {})
        del fields["min_relevance"]
        chosen = as_filter(stored if filters is None else filters)
        counts = top_k, options.pop("top_k", None), own_top_k
        count = next((count for count in counts if count is not None), _TOP_K)
        return search_body(query, count, passage_chars, filter=chosen, **fields) | options

    def _answer(self, hits: list[dict[str, Any]]) -> dict[str, list[Document]]:
        least = self.fields["min_relevance"]
        return {"documents": [_document(hit) for hit in hits if hit["relevance"] >= least]}


def _document(hit: dict[str, Any]) -> Document:
    return Document(id=identifier(hit), content=hit["snippet"], meta=metadata_of(hit), score=hit["score"])
