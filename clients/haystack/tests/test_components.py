"""The components against the service at DRAGOMAN_URL that scripts/integrations.py fills."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.errors import FilterError
from haystack.utils import Secret
from haystack_integrations.common.dragoman import DragomanError, as_filter
from haystack_integrations.components.embedders.dragoman import DragomanDocumentEmbedder, DragomanTextEmbedder
from haystack_integrations.components.rankers.dragoman import DragomanRanker
from haystack_integrations.components.retrievers.dragoman import DragomanRetriever

QUERY = "volcano ash"
URL = os.environ["DRAGOMAN_URL"]
DOCUMENTS = [Document(content=text) for text in ("Die Bank senkt den Zins.", "Der Vulkan speit Asche.")]
COMPONENTS = (DragomanRetriever, DragomanRanker, DragomanTextEmbedder, DragomanDocumentEmbedder)


def found(retriever: DragomanRetriever, **inputs: Any) -> list[Any]:
    return [document.meta["id"] for document in retriever.run(QUERY, **inputs)["documents"]]


def test_a_document_has_the_evidence_of_its_hit() -> None:
    first = DragomanRetriever(URL, collections=["news_de"], query_language="en").run(QUERY)["documents"][0]
    assert first.id == "news_de/vulkan" and first.content == "Der Vulkan spuckte Asche über die ganze Insel."
    assert (first.meta["collection"], first.meta["id"], first.meta["language"]) == ("news_de", "vulkan", "de")
    assert first.meta["year"] == 2020 and first.meta["metadata.score"] == "1:0"
    assert first.score == first.meta["score"] > 0 and 0 < first.meta["relevance"] <= 1
    matches = [match for match in first.meta["highlights"] if match["field"] == "text"]
    assert "Vulkan" in {first.content[match["start"] : match["end"]] for match in matches}


def test_fields_of_a_search_reach_the_service() -> None:
    retriever = DragomanRetriever(URL, filters={"year": 2020}, method="psq", rerank=False, tables=["words"])
    assert found(retriever) == ["vulkan"]
    assert found(retriever, filters={"field": "meta.year", "operator": "<", "value": 2020}) == ["schlaf"]
    assert len(found(DragomanRetriever(URL), top_k=1)) == 1
    assert len(found(DragomanRetriever(URL, top_k=1))) == 1
    assert len(found(DragomanRetriever(URL, options={"top_k": 1}))) == 1
    assert len(found(DragomanRetriever(URL, options={"top_k": 3}), top_k=1)) == 1
    with pytest.raises(ValueError, match="top_k is 3, and options say 5"):
        DragomanRetriever(URL, top_k=3, options={"top_k": 5})
    assert found(DragomanRetriever(URL, min_relevance=1.1)) == []
    answer = asyncio.run(retriever.run_async(QUERY))
    assert [document.meta["id"] for document in answer["documents"]] == ["vulkan"]
    with pytest.raises(DragomanError, match="unknown_field") as refusal:
        DragomanRetriever(URL, options={"unknown_field": 1}).run(QUERY)
    assert refusal.value.status == 422
    with pytest.raises(DragomanError, match="does not answer"):
        DragomanRetriever("http://127.0.0.1:9").run(QUERY)


@pytest.mark.parametrize(
    ("operator", "value", "ids"),
    [
        ("==", 2020, {"vulkan"}),
        ("!=", 2020, {"schlaf", "berg"}),
        (">", 2010, {"vulkan"}),
        (">=", 2010, {"vulkan", "schlaf"}),
        ("<", 2020, {"schlaf"}),
        ("<=", 2020, {"vulkan", "schlaf"}),
        ("in", [2010, 1], {"schlaf"}),
        ("not in", [2010, 1], {"vulkan", "berg"}),
    ],
)
def test_every_comparison_of_haystack_is_a_filter(operator: str, value: Any, ids: set[str]) -> None:
    filters = {"field": "meta.year", "operator": operator, "value": value}
    assert set(found(DragomanRetriever(URL, collections=["news_de"]), filters=filters)) == ids


def test_conditions_are_joined() -> None:
    year = {"field": "meta.year", "operator": ">=", "value": 2010}
    topic = {"field": "topic", "operator": "==", "value": "nature"}
    retriever = DragomanRetriever(URL, collections=["news_de"])
    assert found(retriever, filters={"operator": "AND", "conditions": [year, topic]}) == ["vulkan"]
    assert set(found(retriever, filters={"operator": "OR", "conditions": [year, topic]})) == {"vulkan", "schlaf"}
    assert set(found(retriever, filters={"operator": "NOT", "conditions": [year, topic]})) == {"schlaf", "berg"}
    assert as_filter({"field": "meta.language", "operator": "==", "value": "x"}) == {"metadata.language": {"$eq": "x"}}
    assert as_filter({"field": "language", "operator": "==", "value": "de"}) == {"language": {"$eq": "de"}}
    for broken in (
        {"operator": "XOR", "conditions": []},
        {"field": "a", "operator": "~", "value": 1},
        {"operator": "=="},
    ):
        with pytest.raises(FilterError):
            as_filter(broken)


def test_a_ranker_orders_documents_across_languages() -> None:
    ranker = DragomanRanker(URL, query_language="en", document_language="de")
    first, second = ranker.run("volcano eruption", DOCUMENTS)["documents"]
    assert first.content == "Der Vulkan speit Asche." and 1 >= first.score > second.score >= 0
    assert DOCUMENTS[1].score is None
    (best,) = asyncio.run(ranker.run_async("volcano eruption", DOCUMENTS, top_k=1))["documents"]
    assert best.content == first.content
    assert ranker.run("volcano", [])["documents"] == []


def test_embedders_tell_queries_and_documents_apart() -> None:
    query = DragomanTextEmbedder(URL).run("volcano")["embedding"]
    (document,) = DragomanDocumentEmbedder(URL).run([Document(content="volcano")])["documents"]
    assert len(query) == len(document.embedding) == 384 and query != document.embedding
    titled = DragomanDocumentEmbedder(URL, meta_fields_to_embed=["title", "none"], embedding_separator=": ")
    (one,) = titled.run([Document(content="spuckt", meta={"title": "Vulkan", "none": None})])["documents"]
    (same,) = asyncio.run(DragomanDocumentEmbedder(URL).run_async([Document(content="Vulkan: spuckt")]))["documents"]
    assert one.embedding == pytest.approx(same.embedding, abs=1e-5)
    assert asyncio.run(DragomanTextEmbedder(URL).run_async("volcano"))["embedding"] == pytest.approx(query, abs=1e-5)


@pytest.mark.parametrize("kind", COMPONENTS, ids=lambda kind: kind.__name__)
def test_a_component_is_written_and_read(kind: Any) -> None:
    written = kind("http://search", timeout=3.0, api_key=Secret.from_env_var("OTHER_KEY")).to_dict()
    assert written["type"] == f"{kind.__module__}.{kind.__name__}"
    assert written["init_parameters"]["api_key"] == {"type": "env_var", "env_vars": ["OTHER_KEY"], "strict": True}
    again = kind.from_dict(written)
    assert (again.url, again.timeout, again.to_dict()) == ("http://search", 3.0, written)
    assert kind.from_dict(kind().to_dict()).to_dict() == kind().to_dict()
    with pytest.raises(ValueError, match="token"):
        kind(api_key=Secret.from_token("secret")).to_dict()


def test_a_pipeline_is_written_read_and_run() -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", DragomanRetriever(URL, collections=["news_de"]))
    pipeline.add_component("ranker", DragomanRanker(URL, top_k=1))
    pipeline.connect("retriever", "ranker")
    again = Pipeline.loads(pipeline.dumps())
    answer = again.run({"retriever": {"query": QUERY}, "ranker": {"query": QUERY}})
    assert [document.meta["id"] for document in answer["ranker"]["documents"]] == ["vulkan"]
