"""LangChain's standard tests and more, against the service at DRAGOMAN_URL that scripts/integrations.py fills."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_dragoman import DragomanEmbeddings, DragomanError, DragomanReranker, DragomanRetriever
from langchain_tests.integration_tests import EmbeddingsIntegrationTests, RetrieversIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

QUERY = "volcano ash"
DOCUMENTS = [Document(page_content=text) for text in ("Die Bank senkt den Zins.", "Der Vulkan speit Asche.")]


class TestDragomanRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[DragomanRetriever]:
        return DragomanRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"collections": ["news_de"]}

    @property
    def retriever_query_example(self) -> str:
        return QUERY


class TestDragomanEmbeddings(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[DragomanEmbeddings]:
        return DragomanEmbeddings


class TestDragomanEmbeddingsUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[DragomanEmbeddings]:
        return DragomanEmbeddings

    @property
    def init_from_env_params(self) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
        environment = {"DRAGOMAN_KEY": "secret", "DRAGOMAN_URL": "http://search"}
        return environment, {}, {"api_key": "secret", "url": "http://search"}


def test_a_document_has_the_evidence_of_its_hit() -> None:
    first = DragomanRetriever(collections=["news_de"], query_language="en").invoke(QUERY)[0]
    assert first.id == "news_de/vulkan" and first.page_content == "Der Vulkan spuckte Asche über die ganze Insel."
    metadata = first.metadata
    assert (metadata["collection"], metadata["id"], metadata["language"]) == ("news_de", "vulkan", "de")
    assert metadata["year"] == 2020 and metadata["metadata.score"] == "1:0"
    assert 0 < metadata["relevance"] <= 1 and metadata["score"] > 0
    matches = [highlight for highlight in metadata["highlights"] if highlight["field"] == "text"]
    shown = {first.page_content[match["start"] : match["end"]]: match["query_term"] for match in matches}
    assert metadata["snippet_start"] == 0 and shown["Vulkan"] == "volcano"


def test_fields_of_a_search_are_given_once_or_for_a_query() -> None:
    retriever = DragomanRetriever(filter={"year": 2020}, method="psq", rerank=False, tables=["words"])
    assert [document.metadata["id"] for document in retriever.invoke(QUERY)] == ["vulkan"]
    assert {document.metadata["year"] for document in retriever.invoke(QUERY, filter={"year": {"$lt": 2020}})} == {2010}
    assert len(retriever.invoke(QUERY, filter=None, top_k=1)) == 1
    assert DragomanRetriever(min_relevance=1.1).invoke(QUERY) == []
    assert retriever.model_copy(update={"options": {"offset": 1}}).invoke(QUERY) == []


def test_an_error_says_what_the_service_says() -> None:
    with pytest.raises(DragomanError, match="nowhere") as refusal:
        DragomanRetriever(collections=["nowhere"]).invoke(QUERY)
    assert refusal.value.status == 404
    with pytest.raises(DragomanError, match="unknown_field"):
        DragomanRetriever().invoke(QUERY, unknown_field=1)
    with pytest.raises(DragomanError, match="does not answer") as silence:
        DragomanRetriever(url="http://127.0.0.1:9").invoke(QUERY)
    assert silence.value.status is None
    with pytest.raises(ValueError, match="colections"):
        DragomanRetriever(colections=["news_de"])


def test_a_reranker_orders_documents_across_languages() -> None:
    reranker = DragomanReranker(query_language="en", document_language="de")
    first, second = reranker.compress_documents(DOCUMENTS, "volcano eruption")
    assert first.page_content == "Der Vulkan speit Asche."
    assert 1 >= first.metadata["relevance_score"] > second.metadata["relevance_score"] >= 0
    assert DOCUMENTS[1].metadata == {}
    best = asyncio.run(DragomanReranker(top_n=1).acompress_documents(DOCUMENTS, "volcano eruption"))
    assert [document.page_content for document in best] == [first.page_content]
    assert reranker.compress_documents([], "volcano") == []


def test_embeddings_tell_queries_and_documents_apart() -> None:
    embeddings = DragomanEmbeddings()
    query, passage = embeddings.embed_query("volcano"), embeddings.embed_documents(["volcano"])[0]
    assert query != passage
    vectors = embeddings.embed_documents([document.page_content for document in DOCUMENTS] * 100)
    assert len(vectors) == 200 and vectors[0] == pytest.approx(vectors[198], abs=1e-5)
    scores = [sum(a * b for a, b in zip(query, vector, strict=True)) for vector in vectors[:2]]
    assert scores[1] > scores[0]


def test_components_can_be_copied_and_sent_to_another_process() -> None:
    retriever = DragomanRetriever(collections=["news_de"], api_key="secret")
    assert "secret" not in repr(retriever)
    assert retriever.invoke(QUERY)
    for twin in (copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))):  # noqa: S301
        assert twin.invoke(QUERY, k=1)[0].metadata["id"] == "vulkan"


def test_two_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="k is 3, and options say 5"):
        DragomanRetriever(k=3, options={"top_k": 5})
    with pytest.raises(ValueError, match="k is 3, and top_k is 5"):
        DragomanRetriever().invoke(QUERY, k=3, top_k=5)
    with pytest.raises(ValueError, match="k is 3, and top_k is 5"):
        DragomanRetriever(options={"k": 3, "top_k": 5})
    assert len(DragomanRetriever(k=1, options={"top_k": 1}).invoke(QUERY)) == 1
    assert len(DragomanRetriever(k=3).invoke(QUERY, top_k=1)) == 1  # a query replaces what the retriever has
