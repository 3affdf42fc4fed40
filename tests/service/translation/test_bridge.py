"""``/v1/translate`` by a bridge: a real encoder and LLM, which translate nonsense that is always the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.qa.test_endpoints import write_documents
from tests.support.backbones import tiny_bridge
from tests.support.errorbody import check_error
from tests.support.job_client import done, finished, submit
from tests.support.serving import Server, server, wait_for

pytestmark = pytest.mark.slow

TEXTS = ["Schiffe liegen im Hafen.", "Eine Biene fliegt über die Wiese.", "Der Vulkan speit Asche."]
QUALITY = {"de": 41.5, "sw": 12.0}


@pytest.fixture(scope="module")
def translating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("translating")
    bridge = tiny_bridge(folder / "bridge", stage="translation", quality=QUALITY, measured_on="two sentences")
    with server(folder / "data", translator=bridge, bridge=tiny_bridge(folder / "reasoning")) as running:
        write_documents(running)
        yield running


def translate(running: Server, **body: Any) -> httpx.Response:
    return running.client.post("/v1/translate", json={"source": "de", "target": "en"} | body)


def test_the_answer_says_how_good_the_translator_is(translating: Server) -> None:
    found = translate(translating, text=TEXTS[0]).json()
    assert found["model"] == "bridge" and len(found["texts"]) == 1 and found["texts"][0]
    ((sentence,),) = found["sentences"]
    if sentence["status"] == "failed":  # nonsense is, for the most part
        assert sentence["text"] is None and found["texts"] == [TEXTS[0]] and sentence["reasons"]
    assert found["quality"] == {"chrf": 41.5, "measured_on": "two sentences"}
    configured = translating.client.get("/v1/translate").json()
    assert configured == {"model": "bridge", "target": "en", "sources": {"de": found["quality"]}}


@pytest.mark.parametrize(("source", "target"), [("sw", "en"), ("fr", "en"), ("en", "de"), ("de", "sw")])
def test_a_pair_that_is_not_good_enough_is_a_503_with_advice(translating: Server, source: str, target: str) -> None:
    response = translate(translating, text="a", source=source, target=target)
    check_error(response, 503, f"no translator from '{source}' into '{target}' is good enough to serve.*translates de")
    assert "DRAGOMAN_TRANSLATOR" in response.text


def test_texts_get_the_same_translations_alone_and_together(translating: Server) -> None:
    alone = [translate(translating, text=text).json()["texts"][0] for text in TEXTS]
    assert len(set(alone)) > 1
    assert translate(translating, texts=TEXTS).json()["texts"] == alone
    with ThreadPoolExecutor(9) as pool:
        together = list(pool.map(lambda text: translate(translating, text=text).json()["texts"][0], 3 * TEXTS))
    assert together == 3 * alone
    both = translate(translating, text=f"{TEXTS[0]}\n\n12. {TEXTS[1]}").json()["texts"][0]
    assert both == f"{alone[0]}\n\n12. {alone[1]}"


def test_a_job_that_translates_beside_them_changes_no_translation(translating: Server) -> None:
    alone = [translate(translating, text=text).json()["texts"][0] for text in TEXTS]
    search = {"query": "Biene", "query_language": "en", "method": "none", "translate_snippets": True, "rerank": False}
    job = submit(translating.client, [search | {"custom_id": str(number)} for number in range(20)], "search")
    with ThreadPoolExecutor(4) as pool:
        while done(translating.client, job) < 20:
            together = list(pool.map(lambda text: translate(translating, text=text).json()["texts"][0], 3 * TEXTS))
            assert together == 3 * alone
    assert finished(translating.client, job)["counts"]["completed"] == 20


def test_a_translation_that_does_not_end_is_named(translating: Server) -> None:
    found = translate(translating, texts=TEXTS).json()
    for place, text in enumerate(TEXTS):
        own = translate(translating, text=text).json()
        assert (place in found.get("truncated", [])) == ("truncated" in own)


def test_snippets_are_translated_into_english_alone(translating: Server) -> None:
    search = {"query": "Biene", "query_language": "de", "method": "none", "translate_snippets": True, "rerank": False}
    found = translating.client.post("/v1/search", json=search | {"query_language": "en"}).json()
    assert next(hit["snippet_translation"] for hit in found["hits"] if hit["language"] == "de")["sentences"]
    headers = {"content-type": "application/x-ndjson"}
    translating.client.post("/v1/collections", json={"name": "sw", "language": "sw"}).raise_for_status()
    line = json.dumps({"id": "1", "text": "Biene nyuki"})
    translating.client.post("/v1/collections/sw/documents", content=line, headers=headers).raise_for_status()
    found = translating.client.post("/v1/search", json=search | {"collections": ["sw"]}).json()
    assert [hit["snippet_translation"] for hit in found["hits"]] == [None]
    (missing,) = [one for one in found["degraded"] if one["stage"] == "translate_snippets"]
    assert "snippets in sw were not translated into de" in missing["reason"]


def test_what_a_disconnected_client_wanted_is_not_computed(translating: Server) -> None:
    texts = [f"{text} {number}" for number in range(33) for text in TEXTS]
    with pytest.raises(httpx.ReadTimeout):
        translating.client.post(
            "/v1/translate", json={"source": "de", "target": "en", "texts": texts}, timeout=httpx.Timeout(5, read=0.05)
        )
    wait_for(lambda: _generating(translating) == 0)
    assert translate(translating, text=TEXTS[0]).status_code == 200


def _generating(running: Server) -> float:
    """The sentences that wait for the next batch of a bridge."""
    lines = running.client.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith('dragoman_worker_waiting_items{task="generate"}')]
    return sum(float(line.rsplit(" ", 1)[1]) for line in found)


def test_a_bridge_of_the_second_stage_is_no_translator(tmp_path: Path) -> None:
    with server(tmp_path / "data", translator=tiny_bridge(tmp_path / "bridge")) as running:
        check_error(translate(running, text="a"), 503, "the translator cannot be loaded.*its stage is 'task'")
