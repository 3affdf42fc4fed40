"""The components against the service at DRAGOMAN_URL that scripts/integrations.py fills."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from llama_index.core import MockEmbedding, PromptTemplate, get_response_synthesizer
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index.retrievers.dragoman import DragomanEmbedding, DragomanError, DragomanRerank, DragomanRetriever

QUERY = "volcano ash"


def nodes() -> list[NodeWithScore]:
    texts = ("Die Bank senkt den Zins.", "Der Vulkan speit Asche.")
    return [NodeWithScore(node=TextNode(text=text), score=0.1) for text in texts]


def test_a_node_has_the_evidence_of_its_hit() -> None:
    first = DragomanRetriever(collections=["news_de"], query_language="en").retrieve(QUERY)[0]
    assert first.node.node_id == "news_de/vulkan"
    assert first.text == "Der Vulkan spuckte Asche über die ganze Insel."
    metadata = first.metadata
    assert (metadata["collection"], metadata["id"], metadata["language"]) == ("news_de", "vulkan", "de")
    assert metadata["year"] == 2020 and metadata["metadata.score"] == "1:0"
    assert first.score == metadata["score"] > 0 and 0 < metadata["relevance"] <= 1
    shown = {first.text[match["start"] : match["end"]] for match in metadata["highlights"] if match["field"] == "text"}
    assert "Vulkan" in shown
    read = first.node.get_content(metadata_mode=MetadataMode.LLM)
    assert "year: 2020" in read and "language: de" in read and "highlights" not in read


def test_fields_of_a_search_reach_the_service() -> None:
    retriever = DragomanRetriever(filter={"year": 2020}, method="psq", rerank=False, tables=["words"])
    assert [node.metadata["id"] for node in retriever.retrieve(QUERY)] == ["vulkan"]
    assert [node.metadata["id"] for node in asyncio.run(retriever.aretrieve(QUERY))] == ["vulkan"]
    assert DragomanRetriever(min_relevance=1.1).retrieve(QUERY) == []
    assert len(DragomanRetriever(similarity_top_k=1).retrieve(QUERY)) == 1
    assert len(DragomanRetriever(top_k=1).retrieve(QUERY)) == 1
    assert len(DragomanRetriever(similarity_top_k=1, top_k=1).retrieve(QUERY)) == 1
    with pytest.raises(ValueError, match="similarity_top_k is 3, and top_k is 5"):
        DragomanRetriever(similarity_top_k=3, top_k=5)
    assert DragomanRetriever().similarity_top_k == 10
    with pytest.raises(DragomanError, match="unknown_field") as refusal:
        DragomanRetriever(unknown_field=1).retrieve(QUERY)
    assert refusal.value.status == 422
    with pytest.raises(ValueError, match="tabels"):
        DragomanRerank(tabels=["words"])
    with pytest.raises(DragomanError, match="does not answer"):
        DragomanRetriever("http://127.0.0.1:9").retrieve(QUERY)


def test_it_serves_a_query_engine() -> None:
    synthesizer = get_response_synthesizer(llm=MockLLM(), text_qa_template=PromptTemplate("{context_str} {query_str}"))
    engine = RetrieverQueryEngine(
        DragomanRetriever(collections=["news_de"]), synthesizer, node_postprocessors=[DragomanRerank(top_n=1)]
    )
    response = engine.query(QUERY)
    assert [node.metadata["id"] for node in response.source_nodes] == ["vulkan"]
    assert "Der Vulkan spuckte Asche" in str(response)


def test_a_reranker_orders_nodes_across_languages() -> None:
    reranker = DragomanRerank(query_language="en", document_language="de")
    first, second = reranker.postprocess_nodes(nodes(), query_str="volcano eruption")
    assert first.text == "Der Vulkan speit Asche." and 1 >= first.score > second.score >= 0
    (best,) = asyncio.run(DragomanRerank(top_n=1).apostprocess_nodes(nodes(), query_str="volcano eruption"))
    assert best.text == first.text
    assert reranker.postprocess_nodes([], query_str="volcano") == []
    with pytest.raises(ValueError, match="query_str"):
        reranker.postprocess_nodes(nodes())


def test_embeddings_tell_queries_and_texts_apart() -> None:
    embedding = DragomanEmbedding()
    query, text = embedding.get_query_embedding("volcano"), embedding.get_text_embedding("volcano")
    assert query != text and len(query) == 384
    assert asyncio.run(embedding.aget_query_embedding("volcano")) == pytest.approx(query, abs=1e-5)
    vectors = embedding.get_text_embedding_batch([node.text for node in nodes()] * 20)
    assert len(vectors) == 40
    assert embedding.similarity(query, vectors[1]) > embedding.similarity(query, vectors[0])
    assert asyncio.run(embedding.aget_text_embedding_batch(["volcano"]))[0] == pytest.approx(text, abs=1e-5)


def test_components_are_written_without_their_key() -> None:
    for component in (DragomanEmbedding(url="http://search", api_key="secret"), DragomanRerank(api_key="secret")):
        assert "secret" not in component.to_json() and "secret" not in repr(component)
    again = DragomanEmbedding.from_json(DragomanEmbedding(url="http://search").to_json())
    assert again.url == "http://search" and again.class_name() == "DragomanEmbedding" != MockEmbedding.class_name()
    embedding = pickle.loads(pickle.dumps(DragomanEmbedding()))  # noqa: S301
    assert len(embedding.get_query_embedding("volcano")) == 384
