"""``offsets: utf16``: what JavaScript cuts by them is what Python cuts by those in code points."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.service.api.search_corpus import NDJSON, corpus
from tests.support.errorbody import check_error
from tests.support.job_client import finished, read, submit
from tests.support.offsets import check_counted, cut
from tests.support.searching import ndjson

pytestmark = pytest.mark.slow

__all__ = ["corpus"]  # a fixture that all tests here use

WORDS = st.sampled_from(["Vulkan", "Asche", "🌋", "𠮷𠮷", "Haus", "🐝.", "Bienen!", "Rauch", "👩\u200d👧\n"])
TEXTS = st.lists(WORDS, max_size=30).map(" ".join)
PATH = "/v1/collections/offsets/documents"


@pytest.fixture
def offsets(client: httpx.Client) -> Any:
    client.post("/v1/collections", json={"name": "offsets", "language": "de"}).raise_for_status()
    yield
    client.delete("/v1/collections/offsets")


def asked(client: httpx.Client, path: str, **body: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same request answered in code units, and in code points."""
    counted, answer = (
        client.post(path, json=body | more).raise_for_status().json() for more in ({"offsets": "utf16"}, {})
    )
    return counted, answer


def check_hits(counted: dict[str, Any], answer: dict[str, Any], documents: dict[str, dict[str, str]]) -> int:
    differing = 0
    for hit16, hit in zip(counted["hits"], answer["hits"], strict=True):
        document = documents[hit["id"]]
        words = hit["attention"]["query_words"]
        assert [
            cut(answer["query"]["text"], word["start"], word["end"]) for word in hit16["attention"]["query_words"]
        ] == [word["text"] for word in words]
        del hit16["attention"]["query_words"], hit["attention"]["query_words"]
        differing += check_counted(hit16, hit, lambda span, document=document: document[span["field"]])
        snippets = [{"text": hit16["snippet"], "start": hit16["snippet_start"]}, *hit16["snippets"]]
        for snippet in snippets:
            units = len(snippet["text"].encode("utf-16-le")) // 2
            assert cut(document["text"], snippet["start"], snippet["start"] + units) == snippet["text"]
    return differing


SHOWN = {"gloss": True, "explain": {"attention": True}, "snippets": {"count": 3, "length": 60}}


@given(title=TEXTS, text=TEXTS)
@examples(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_hits_of_any_text(client: httpx.Client, offsets: None, title: str, text: str) -> None:
    document = {"id": "a", "title": f"🌋 {title}", "text": f"Vulkan {text} Asche"}
    assert not client.post(PATH, content=ndjson([document]), headers=NDJSON).json()["rejected"]
    body = {"query": "🌋 volcano 𠮷 ash", "query_language": "en", "collections": ["offsets"], **SHOWN}
    counted, answer = asked(client, "/v1/search", **body)
    assert len(answer["hits"]) == 1
    check_hits(counted, answer, {"a": document})
    assert counted["next"] == answer["next"]
    reading = {"collection": "offsets", "id": "a", "reader_language": "en", "query": "volcano ash"}
    counted, answer = asked(client, "/v1/read", **reading, query_language="en")
    check_counted(counted, answer, lambda span: document[span["field"]])


def test_lines_of_jobs_have_them_too(client: httpx.Client, offsets: None) -> None:
    document = {"id": "a", "text": "🌋 Vulkan 🌋"}
    client.post(PATH, content=ndjson([document]), headers=NDJSON).raise_for_status()
    line = {
        "custom_id": "1",
        "query": "volcano",
        "query_language": "en",
        "collections": ["offsets"],
        "offsets": "utf16",
    }
    job = submit(client, [line], "search")
    finished(client, job)
    (result,) = read(client, job, "results")
    (highlight,) = result["response"]["hits"][0]["highlights"]
    assert (highlight["start"], highlight["end"]) == (3, 9)


@pytest.mark.parametrize(
    "path", ["/v1/search", "/v1/qa", "/v1/read", "/v1/tag", "/v1/translate", "/v1/translate/check"]
)
def test_another_unit_is_refused_by_name(client: httpx.Client, path: str) -> None:
    check_error(client.post(path, json={"offsets": "bytes"}), 422, "offsets")
