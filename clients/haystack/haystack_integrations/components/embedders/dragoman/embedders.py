"""The embedders: of queries, and of documents."""

from dataclasses import replace
from typing import Any

from haystack import Document, component
from haystack.utils import Secret
from haystack_integrations.common.dragoman.connected import DEFAULT_TIMEOUT, DEFAULT_URL, Connected, default_key


@component
class DragomanTextEmbedder(Connected):
    """The vector of a query, by the service's encoder."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: Secret | None = None,
        model: str | None = None,
        dimensions: int | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Parameters have the meaning that they have in ``POST /v1/embeddings``.

        :param api_key: a key with the scope ``search``; the variable DRAGOMAN_KEY when left out.
        """
        Connected.__init__(self, url, api_key or default_key(), timeout, {"model": model, "dimensions": dimensions})

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """The vector of a text that is searched for."""
        return {"embedding": self._service.embed([text], "query", **self.fields)[0]}

    @component.output_types(embedding=list[float])
    async def run_async(self, text: str) -> dict[str, list[float]]:
        """As :meth:`run`."""
        return {"embedding": (await self._service.aembed([text], "query", **self.fields))[0]}


@component
class DragomanDocumentEmbedder(Connected):
    """The vectors of documents, by the service's encoder."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        api_key: Secret | None = None,
        model: str | None = None,
        dimensions: int | None = None,
        meta_fields_to_embed: list[str] | None = None,
        embedding_separator: str = "\n",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Parameters have the meaning that they have in ``POST /v1/embeddings``.

        :param api_key: a key with the scope ``search``; the variable DRAGOMAN_KEY when left out.
        :param meta_fields_to_embed: fields of the meta that come before the content.
        :param embedding_separator: what stands between them.
        """
        fields = {
            "model": model,
            "dimensions": dimensions,
            "meta_fields_to_embed": meta_fields_to_embed,
            "embedding_separator": embedding_separator,
        }
        Connected.__init__(self, url, api_key or default_key(), timeout, fields)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """The documents with their vectors."""
        return _embedded(documents, self._service.embed(self._texts(documents), "passage", **self._options()))

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document]) -> dict[str, list[Document]]:
        """As :meth:`run`."""
        return _embedded(documents, await self._service.aembed(self._texts(documents), "passage", **self._options()))

    def _texts(self, documents: list[Document]) -> list[str]:
        return [self._text(document) for document in documents]

    def _text(self, document: Document) -> str:
        names = self.fields["meta_fields_to_embed"] or ()
        shown = [str(document.meta[name]) for name in names if document.meta.get(name) is not None]
        return str(self.fields["embedding_separator"]).join([*shown, document.content or ""])

    def _options(self) -> dict[str, Any]:
        return {"model": self.fields["model"], "dimensions": self.fields["dimensions"]}


def _embedded(documents: list[Document], vectors: list[list[float]]) -> dict[str, list[Document]]:
    pairs = zip(documents, vectors, strict=True)
    return {"documents": [replace(document, embedding=vector) for document, vector in pairs]}
