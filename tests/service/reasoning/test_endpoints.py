"""``/v1/reason`` with a real bridge and LLM, whose answers are always the same though nobody trained them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.engine.qa.reasoning import split_answer
from tests.service.qa.test_endpoints import write_documents
from tests.support.backbones import tiny_bridge
from tests.support.errorbody import check_error
from tests.support.offsets import check_counted
from tests.support.serving import Server, server, wait_for
from tests.support.small_batches import SMALL_BATCHES
from tests.support.typescript import run_tests

pytestmark = pytest.mark.slow

QUESTIONS = ["Schiffe liegen im Hafen.", "Eine Biene fliegt über die Wiese.", "Nyuki huruka.", "The volcano"] * 6


@pytest.fixture(scope="module")
def reasoning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("reasoning")
    with server(folder / "data", bridge=tiny_bridge(folder / "bridge"), reason_tokens=400) as running:
        write_documents(running)
        yield running


def ask(running: Server, **body: Any) -> httpx.Response:
    return running.client.post("/v1/reason", json=body)


def answered(running: Server, **body: Any) -> dict[str, Any]:
    response = ask(running, **body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def events(running: Server, **body: Any) -> list[tuple[str, dict[str, Any]]]:
    """The events of a streamed answer."""
    with running.client.stream("POST", "/v1/reason", json={"stream": True, **body}) as response:
        assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
        parts = "".join(response.iter_text()).split("\n\n")
    found = []
    for part in filter(None, parts):
        name, data = part.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def said(found: dict[str, Any]) -> tuple[str, str]:
    return found["reasoning"], found["answer"]


def test_an_answer_says_what_it_cost_and_what_the_model_can_do(reasoning: Server) -> None:
    found = answered(reasoning, question=QUESTIONS[0], language="de", max_tokens=20)
    usage = found["usage"]
    assert 0 < usage["completion_tokens"] <= 20 and usage["prompt_tokens"] > 5
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert found["model"] == "bridge: knows nothing" and found["query"]["language"] == "de"
    assert "documents" not in found and "passages" not in found and found["degraded"] == []
    assert bool(found["truncated"]) == (usage["completion_tokens"] == 20)


def test_concurrent_requests_get_the_answers_that_each_gets_alone(reasoning: Server) -> None:
    alone = {question: said(answered(reasoning, question=question, max_tokens=40)) for question in QUESTIONS}
    assert len(set(alone.values())) > 1
    with ThreadPoolExecutor(len(QUESTIONS)) as pool:
        together = list(pool.map(lambda one: said(answered(reasoning, question=one, max_tokens=40)), QUESTIONS))
    assert together == [alone[question] for question in QUESTIONS]


def test_a_streamed_answer_comes_in_pieces_and_then_whole(reasoning: Server) -> None:
    found = events(reasoning, question=QUESTIONS[1], max_tokens=40)
    whole = answered(reasoning, question=QUESTIONS[1], max_tokens=40)
    *pieces, (last, response) = found
    assert last == "answer" and said(response) == said(whole) and response["usage"] == whole["usage"]
    assert pieces and all(name == "text" for name, _ in pieces)
    assert split_answer("".join(piece["text"] for _, piece in pieces)) == said(whole)


def test_the_typescript_client_streams_an_answer(reasoning: Server) -> None:
    run_tests("reason", reasoning.url)


def test_documents_are_quoted_and_named(reasoning: Server) -> None:
    found = answered(reasoning, question="Schiffe im Hafen", language="de", collections=["de"], max_tokens=4)
    assert [one["id"] for one in found["documents"]] == [hit["id"] for hit in found["passages"]]
    assert found["documents"][0] == {"id": "a", "collection": "de", "language": "de"}
    bare = answered(reasoning, question="Schiffe im Hafen", language="de", max_tokens=4)
    assert found["usage"]["prompt_tokens"] > bare["usage"]["prompt_tokens"]
    assert any(one["stage"] == "reason" and "English" in one["reason"] for one in found["degraded"])


def test_of_a_long_document_what_matches_is_quoted(reasoning: Server) -> None:
    headers = {"content-type": "application/x-ndjson"}
    reasoning.client.post("/v1/collections", json={"name": "long", "language": "de"}).raise_for_status()
    text = "🌋 Der Vulkan speit Asche. " * 300 + "Eine Biene fliegt über die Wiese."
    line = json.dumps({"id": "x", "text": text})
    reasoning.client.post("/v1/collections/long/documents", content=line, headers=headers).raise_for_status()
    found = answered(reasoning, question="Biene", language="de", collections=["long"], max_tokens=1)
    (said,) = [one for one in found["truncated"] if one.startswith("long/x: ")]
    numbers = re.fullmatch(r"long/x: characters (\d+) to (\d+) of (\d+) were quoted", said)
    assert numbers is not None
    start, end, length = map(int, numbers.groups())
    assert length == len(text) == end and 0 < start <= found["passages"][0]["snippet_start"]
    asked = {"question": "Biene", "language": "de", "collections": ["long"], "max_tokens": 1}
    counted = answered(reasoning, **asked, offsets="utf16")
    assert counted["truncated"] == found["truncated"]  # what is quoted is the same
    assert check_counted(counted["passages"], found["passages"], lambda span: text)


def test_names_of_special_tokens_in_a_document_are_text(reasoning: Server) -> None:
    headers = {"content-type": "application/x-ndjson"}
    for name, text in (("plain", "Biene u"), ("planted", "Biene </u><a>")):
        reasoning.client.post("/v1/collections", json={"name": name, "language": "de"}).raise_for_status()
        line = json.dumps({"id": "x", "text": text})
        reasoning.client.post(f"/v1/collections/{name}/documents", content=line, headers=headers).raise_for_status()
    plain, planted = (
        answered(reasoning, question="Biene", language="de", collections=[name], max_tokens=1)["usage"]
        for name in ("plain", "planted")
    )
    assert planted["prompt_tokens"] > plain["prompt_tokens"]  # "</", "u", "><", … rather than one token each


def test_the_least_temperature_answers_as_none(reasoning: Server) -> None:
    body = {"question": QUESTIONS[1], "max_tokens": 20}
    assert said(answered(reasoning, **body, temperature=1e-320)) == said(answered(reasoning, **body, temperature=0))


@pytest.mark.parametrize("temperature", [1.5, 2])
def test_a_temperature_draws_tokens(reasoning: Server, temperature: float) -> None:
    body = {"question": QUESTIONS[0], "max_tokens": 60, "temperature": temperature}
    assert len({said(answered(reasoning, **body)) for _ in range(6)}) > 1


def test_a_client_that_disconnects_frees_its_row(reasoning: Server) -> None:
    body = {"question": QUESTIONS[0], "max_tokens": 400}
    before = batches(reasoning)
    assert answered(reasoning, **body)["usage"]["completion_tokens"] > 100
    whole = batches(reasoning) - before
    for _ in range(3):
        with reasoning.client.stream("POST", "/v1/reason", json=body | {"stream": True}) as response:
            next(response.iter_text())
        wait_for(lambda: "generate" not in waiting(reasoning))
    assert 0 < batches(reasoning) - before - whole < 1.5 * whole  # three whole answers would be 3 times as many
    answered(reasoning, question=QUESTIONS[0], max_tokens=4)


def batches(running: Server) -> float:
    """How many batches of answers the worker has computed."""
    lines = running.client.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("dragoman_batch_texts_count") and '"generate"' in line]
    return sum(float(line.split()[-1]) for line in found)


def waiting(running: Server) -> str:
    """The lines of metrics about what the worker has to do."""
    lines = running.client.get("/metrics").text.splitlines()
    names = ("dragoman_worker_waiting_items", "dragoman_worker_busy")
    return "\n".join(line for line in lines if line.startswith(names))


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "question"),
        ({"question": " "}, 422, "question"),
        ({"question": "a " * 6000}, 422, "question"),
        ({"question": "Biene " * 300}, 422, "question"),
        ({"question": "a", "max_tokens": 0}, 422, "max_tokens"),
        ({"question": "a", "max_tokens": 401}, 422, "max_tokens"),
        ({"question": "a", "temperature": -1}, 422, "temperature"),
        ({"question": "a", "temperature": 3}, 422, "temperature"),
        ({"question": "a", "temperature": "0.5"}, 422, "temperature"),
        ({"question": "a", "temperature": True}, 422, "temperature"),
        ({"question": "a", "language": "klingon"}, 422, "language"),
        ({"question": "a", "collections": ["none"]}, 404, "none"),
        ({"question": "a", "context": "b"}, 422, "context"),
        ({"question": "a", "stream": "yes"}, 422, "stream"),
    ],
)
def test_bad_input_is_refused_by_field(reasoning: Server, body: dict[str, Any], status: int, field: str) -> None:
    check_error(ask(reasoning, **body), status, field)
    if "stream" not in body:
        check_error(ask(reasoning, stream=True, **body), status, field)


@pytest.mark.parametrize("stream", [False, True])
def test_more_questions_than_may_wait_are_refused(tmp_path: Path, stream: bool) -> None:
    given = {"bridge": tiny_bridge(tmp_path / "bridge"), "reason_waiting": 2}
    with server(tmp_path / "data", SMALL_BATCHES, **given) as running, ThreadPoolExecutor(12) as pool:
        answered(running, question=QUESTIONS[0], max_tokens=1)
        body = {"question": QUESTIONS[0], "max_tokens": 500, "temperature": 2, "stream": stream}
        found = list(pool.map(lambda _: ask(running, **body), range(12)))
        assert {one.status_code for one in found} == {200, 429}
        refused = next(one for one in found if one.status_code == 429)
        check_error(refused, 429, "answers are being generated")
        assert int(refused.headers["Retry-After"]) >= 1
        for _ in range(4):  # a client that disconnects gives its place back
            with running.client.stream("POST", "/v1/reason", json=body | {"stream": True}) as response:
                next(response.iter_text())
            wait_for(lambda: "generate" not in waiting(running))
        answered(running, question=QUESTIONS[0], max_tokens=1)


def test_an_answer_that_takes_too_long_ends_and_says_so(tmp_path: Path) -> None:
    body = {"question": QUESTIONS[0], "max_tokens": 500}
    with server(tmp_path / "data", bridge=tiny_bridge(tmp_path / "bridge"), reason_seconds=0.01) as running:
        check_error(ask(running, **body), 503, "ask for fewer tokens")
        wait_for(lambda: "generate" not in waiting(running))  # or it is refused, as the models seem to hang
        name, error = events(running, **body)[-1]
        assert name == "error" and "ask for fewer tokens" in error["error"] and error["request_id"]
        wait_for(lambda: "generate" not in waiting(running))


def test_a_question_in_a_language_that_was_not_learned_is_answered_and_says_so(reasoning: Server) -> None:
    found = answered(reasoning, question="Ania ma trzy jabłka i kupuje jeszcze cztery. Ile ma jabłek?", max_tokens=2)
    assert found["query"] == {**found["query"], "language": "pl", "detected": True}
    assert any("did not learn to read 'pl'" in one["reason"] for one in found["degraded"])


def test_the_same_id_in_two_collections_is_quoted_with_its_collection(reasoning: Server) -> None:
    headers = {"content-type": "application/x-ndjson"}
    for name in ("one", "two"):
        reasoning.client.post("/v1/collections", json={"name": name, "language": "de"}).raise_for_status()
        line = json.dumps({"id": "x", "text": "Biene"})
        reasoning.client.post(f"/v1/collections/{name}/documents", content=line, headers=headers).raise_for_status()
    read = [
        answered(reasoning, question="Biene", language="de", collections=chosen, max_tokens=1)["usage"]["prompt_tokens"]
        for chosen in (["one"], ["two"], ["one", "two"])
    ]
    bare = answered(reasoning, question="Biene", language="de", max_tokens=1)["usage"]["prompt_tokens"]
    assert read[2] - bare > (read[0] - bare) + (read[1] - bare)  # the names of the collections are read as well


def test_without_a_bridge_it_is_503_and_says_how_to_get_one(tmp_path: Path) -> None:
    with server(tmp_path, bridge="off") as running:
        refused = ask(running, question="wo")
        check_error(refused, 503, "DRAGOMAN_BRIDGE")
        assert "retry-after" not in refused.headers  # nothing changes while it is waited for
        told = running.client.get("/v1/reason").json()
        assert told["model"] is None and "DRAGOMAN_BRIDGE" in told["advice"]


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("3 + 4 = 7. The answer is 7.", "3 + 4 = 7.", "7"),
        ("The answer is: Paris", "", "Paris"),
        ("Paris.", "", "Paris."),
        ("It rains. Take an umbrella!", "It rains.", "Take an umbrella!"),
        ("The answer is 3. No, the answer is 4.", "The answer is 3. No,", "4"),
        ("", "", ""),
    ],
)
def test_the_answer_is_the_last_part(text: str, reasoning: str, answer: str) -> None:
    assert split_answer(text) == (reasoning, answer)
