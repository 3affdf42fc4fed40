"""The package for LangChain with a key; `make integrations` runs its own tests, and the other packages."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.service.integrations.conftest import Keyed

pytestmark = pytest.mark.slow
PACKAGE = Path(__file__).parents[3] / "clients" / "langchain"


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(PACKAGE))
    return pytest.importorskip("langchain_dragoman")


def test_langchain_retrieves_and_reranks_with_a_key(served: Keyed, package: Any) -> None:
    connection = {"url": served.server.url, "api_key": served.search_key}
    retriever = package.DragomanRetriever(collections=["news"], filter={"year": 2020}, **connection)
    (document,) = retriever.invoke("volcano ash")
    assert (document.id, document.page_content) == ("news/vulkan", "Der Vulkan spuckte Asche.")
    assert document.metadata["topic"] == "nature" and document.metadata["highlights"]
    documents = asyncio.run(retriever.ainvoke("volcano ash", filter=None, k=3))
    reranker = package.DragomanReranker(top_n=1, **connection)
    assert reranker.compress_documents(documents, "volcano ash")[0].metadata["relevance_score"] > 0
    with pytest.raises(package.DragomanError, match="401") as refusal:
        package.DragomanRetriever(url=served.server.url).invoke("volcano")
    assert refusal.value.status == 401


def test_the_number_of_documents_may_have_either_name(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    service = sys.modules[f"{package.__name__}.service"].Service
    monkeypatch.setattr(service, "search", lambda self, body: asked.append(body["top_k"]) or [])
    retriever = package.DragomanRetriever(options={"top_k": 6})
    for fields in ({}, {"k": 5}, {"top_k": 4}):
        retriever.invoke("volcano", **fields)
    package.DragomanRetriever(k=7).invoke("volcano")
    assert asked == [6, 5, 4, 7]
