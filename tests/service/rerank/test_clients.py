"""Other people's rerank clients against the service, each as its users call it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.support.serving import server
from tests.support.standing_in import STANDING_IN

pytestmark = pytest.mark.slow

QUERY = "the volcano and its ash"
DOCUMENTS = ["Das Schiff liegt im Hafen", "Die Asche auf dem Feld", "Der Vulkan und die Asche"]
PROVIDERS = [("cohere", "/v1/rerank"), ("jina", "/v1/rerank"), ("text-embeddings-inference", "/rerank")]
TABLE = b"volcano\tVulkan\t1\t1\nash\tAsche\t1\t1\n"


@pytest.fixture(scope="module")
def clients() -> Any:
    """The clients, which are imported in the process that tests them alone."""
    return importlib.import_module("tests.support.rerank_clients")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server(tmp_path_factory.mktemp("clients"), STANDING_IN) as running:
        asked = {"source": "en", "target": "de", "activate": True}
        assert running.client.put("/v1/tables/words", params=asked, content=TABLE).status_code == 201
        yield running.url.rstrip("/")


def test_cohere_v1(clients: Any, url: str) -> None:
    client = clients.cohere.Client(api_key="any", base_url=url)
    found = client.rerank(model="links", query=QUERY, documents=DOCUMENTS, top_n=2, return_documents=True)
    assert [one.index for one in found.results] == [2, 1]
    assert [one.document.text for one in found.results if one.document] == [DOCUMENTS[2], DOCUMENTS[1]]
    assert 1 > found.results[0].relevance_score > found.results[1].relevance_score > 0


def test_cohere_v2(clients: Any, url: str) -> None:
    client = clients.cohere.ClientV2(api_key="any", base_url=url)
    found = client.rerank(model="links", query=QUERY, documents=DOCUMENTS)
    assert [one.index for one in found.results] == [2, 1, 0]


def test_cohere_reports_a_mistake(clients: Any, url: str) -> None:
    with pytest.raises(clients.cohere.UnprocessableEntityError) as raised:
        clients.cohere.ClientV2(api_key="any", base_url=url).rerank(model="links", query=QUERY, documents=[])
    assert "documents" in str(raised.value.body)


def test_langchain(clients: Any, url: str) -> None:
    client = clients.CohereRerank(cohere_api_key=SecretStr("any"), base_url=url, model="links", top_n=2)
    found = client.compress_documents([clients.Document(page_content=text) for text in DOCUMENTS], QUERY)
    assert [one.page_content for one in found] == [DOCUMENTS[2], DOCUMENTS[1]]
    assert found[0].metadata["relevance_score"] > found[1].metadata["relevance_score"]


def nodes(clients: Any) -> list[Any]:
    return [clients.NodeWithScore(node=clients.TextNode(text=text), score=0.1) for text in DOCUMENTS]


def test_llama_index_with_cohere(clients: Any, url: str) -> None:
    client = clients.LlamaIndexCohere(api_key="any", base_url=url, model="links", top_n=2)
    found = client.postprocess_nodes(nodes(clients), clients.QueryBundle(QUERY))
    assert [one.node.get_content() for one in found] == [DOCUMENTS[2], DOCUMENTS[1]]


def test_llama_index_with_tei(clients: Any, url: str) -> None:
    client = clients.TextEmbeddingInference(base_url=url, model_name="links", top_n=2)
    found = client.postprocess_nodes(nodes(clients), clients.QueryBundle(QUERY))
    assert [one.node.get_content() for one in found] == [DOCUMENTS[2], DOCUMENTS[1]]


@pytest.mark.parametrize(("provider", "path"), PROVIDERS)
def test_rerankers(clients: Any, url: str, provider: str, path: str) -> None:
    ranker = clients.APIRanker("links", api_key="any", api_provider=provider, verbose=0, url=url + path)
    found = ranker.rank(query=QUERY, docs=DOCUMENTS, doc_ids=["ship", "ash", "both"])
    assert [one.document.doc_id for one in found.results] == ["both", "ash", "ship"]
    scores = [one.score for one in found.results]
    assert scores == sorted(scores, reverse=True)


@pytest.fixture(scope="module")
def keyed(url: str) -> Iterator[tuple[str, str]]:
    """The service once it has a key, and the key; to be asked for after all tests without one."""
    made = httpx.post(f"{url}/v1/keys", json={"scopes": ["search"]}, trust_env=False)
    yield url, made.json()["key"]


def test_all_clients_work_with_a_key(clients: Any, keyed: tuple[str, str]) -> None:
    url, key = keyed
    asked = {"model": "links", "query": QUERY, "documents": DOCUMENTS}
    first = clients.cohere.Client(api_key=key, base_url=url).rerank(**asked)
    second = clients.cohere.ClientV2(api_key=key, base_url=url).rerank(**asked)
    assert [one.index for one in first.results] == [one.index for one in second.results] == [2, 1, 0]
    langchain = clients.CohereRerank(cohere_api_key=SecretStr(key), base_url=url, model="links", top_n=1)
    found = langchain.compress_documents([clients.Document(page_content=text) for text in DOCUMENTS], QUERY)
    assert [one.page_content for one in found] == [DOCUMENTS[2]]
    for client in (
        clients.LlamaIndexCohere(api_key=key, base_url=url, model="links", top_n=1),
        clients.TextEmbeddingInference(base_url=url, model_name="links", top_n=1, auth_token=f"Bearer {key}"),
    ):
        (node,) = client.postprocess_nodes(nodes(clients), clients.QueryBundle(QUERY))
        assert node.node.get_content() == DOCUMENTS[2]
    for provider, path in PROVIDERS:
        ranker = clients.APIRanker("links", api_key=key, api_provider=provider, verbose=0, url=url + path)
        assert ranker.rank(query=QUERY, docs=DOCUMENTS, doc_ids=[0, 1, 2]).results[0].document.doc_id == 2


def test_clients_see_that_their_key_is_refused(clients: Any, keyed: tuple[str, str]) -> None:
    with pytest.raises(clients.cohere.UnauthorizedError) as raised:
        clients.cohere.ClientV2(api_key="any", base_url=keyed[0]).rerank(
            model="links", query=QUERY, documents=DOCUMENTS
        )
    assert "not an API key of this service" in str(raised.value.body)
