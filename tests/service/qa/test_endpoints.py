"""``/v1/qa`` with a real reader, whose answers are real spans though nobody trained it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from dragoman.engine.models import model_host
from dragoman.engine.models.readers import find_spans
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from tests.support.backbones import tiny_reader
from tests.support.errorbody import check_error
from tests.support.job_client import finished, read, submit
from tests.support.offsets import check_counted, cut
from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for

pytestmark = pytest.mark.slow

VOLCANO = "Der Vulkan spuckt Asche 🌋. Die Schiffe liegen im Hafen.\nEine Biene fliegt über die Wiese!"
DOCUMENTS = [
    {"id": "a", "text": "Der Vulkan spuckt Asche. Schiffe liegen im Hafen.", "title": "Vulkan"},
    {"id": "b", "text": "Eine Biene fliegt über die Wiese."},
    {"id": "c", "text": "Mlima mrefu.", "language": "sw"},
]


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("reading")
    with server(folder / "data", reader=tiny_reader(folder / "reader"), qa_chars=20_000) as running:
        write_documents(running)
        yield running


def write_documents(running: Server) -> None:
    running.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
    headers = {"content-type": "application/x-ndjson"}
    imported = running.client.post("/v1/collections/de/documents", content=ndjson(DOCUMENTS), headers=headers)
    assert imported.json()["accepted"] == 3


def ask(running: Server, **body: Any) -> httpx.Response:
    return running.client.post("/v1/qa", json=body)


def answered(running: Server, **body: Any) -> dict[str, Any]:
    response = ask(running, **body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_answers_are_spans_of_the_context_with_their_sentences(reading: Server) -> None:
    found = answered(reading, question="what lies in the harbour", context=VOLCANO)
    assert found["answers"] and "passages" not in found and found["model"] == "reader"
    for answer in found["answers"]:
        assert VOLCANO[answer["start"] : answer["end"]] == answer["text"]
        assert answer["sentence"] in VOLCANO and answer["text"] in answer["sentence"]
        end = answer["sentence_start"] + len(answer["sentence"])
        assert VOLCANO[answer["sentence_start"] : end] == answer["sentence"]
        assert answer["sentence_start"] <= answer["start"] and answer["end"] <= end
        assert "document" not in answer and "gloss" not in answer
    assert [one["score"] for one in found["answers"]] == sorted(
        (one["score"] for one in found["answers"]), reverse=True
    )
    assert sum(one["score"] for one in found["answers"]) + found["no_answer"] == pytest.approx(1)
    assert found["found"] == ("good" if found["answers"][0]["score"] >= found["no_answer"] else "weak")


def test_places_are_counted_in_utf16_where_that_is_asked_for(reading: Server) -> None:
    asked = {"question": "wo 🌋", "question_language": "en", "gloss": True}
    for where in ({"context": "🌋 " + VOLCANO, "context_language": "de"}, {"collections": ["de"]}):
        answer = answered(reading, **asked, **where)
        counted = answered(reading, **asked, **where, offsets="utf16")
        for answer16, one in zip(counted["answers"], answer["answers"], strict=True):
            context = where.get("context") or next(d["text"] for d in DOCUMENTS if d["id"] == one["document"]["id"])
            check_counted(answer16, one, lambda span, text=context: text)
            end = answer16["sentence_start"] + len(one["sentence"].encode("utf-16-le")) // 2
            assert cut(context, answer16["sentence_start"], end) == one["sentence"]
            assert (answer16["start"] > one["start"]) == ("🌋" in context[: one["start"]])
        passages = zip(counted.get("passages", []), answer.get("passages", []), strict=True)
        for hit16, hit in passages:
            document = next(document for document in DOCUMENTS if document["id"] == hit["id"])
            check_counted(hit16, hit, lambda span, document=document: document[span["field"]])


def test_a_long_context_is_read_to_its_end(reading: Server) -> None:
    context = "Schiffe liegen im Hafen. " * 400
    found = answered(reading, question="wo", context=context, question_language="de", context_language="de")
    assert all(context[one["start"] : one["end"]] == one["text"] for one in found["answers"])
    last = answered(reading, question="wo", context=context + VOLCANO, question_language="de", context_language="de")
    assert last["answers"] != found["answers"]


def test_languages_that_differ_are_read_with_the_second_query(reading: Server) -> None:
    same = answered(reading, question="wo", context=VOLCANO, question_language="de", context_language="de")
    other = answered(reading, question="wo", context=VOLCANO, question_language="en", context_language="de")
    assert same["no_answer"] != other["no_answer"]
    detected = answered(reading, question="Wo liegen die Schiffe?", context=VOLCANO)
    assert detected["query"].pop("language_probability") > 0.9
    assert detected["query"] == {"text": "Wo liegen die Schiffe?", "language": "de", "detected": True}
    assert other["query"] == {"text": "wo", "language": "en", "detected": False, "language_probability": 1.0}
    named = answered(
        reading, question="Wo liegen die Schiffe?", context=VOLCANO, question_language="de", context_language="de"
    )
    assert detected["answers"] == named["answers"]


def test_requests_at_the_same_time_are_answered_as_single_ones(reading: Server) -> None:
    bodies = [{"question": f"was {n}", "context": VOLCANO * (n % 4 + 1), "question_language": "en"} for n in range(24)]

    def results(body: dict[str, Any]) -> list[tuple[int, int, float]]:
        found = answered(reading, **body)
        return [(one["start"], one["end"], round(one["score"], 3)) for one in found["answers"]]

    alone = [results(body) for body in bodies]
    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(results, bodies)) == alone


def test_documents_that_search_finds_are_read(reading: Server) -> None:
    found = answered(reading, question="Wo fliegt die Biene?", collections=["de"], question_language="de")
    hits = reading.client.post(
        "/v1/search", json={"query": "Wo fliegt die Biene?", "collections": ["de"], "query_language": "de"}
    ).json()["hits"]
    assert [one["id"] for one in found["passages"]] == [one["id"] for one in hits]
    texts = {one["id"]: one["text"] for one in DOCUMENTS}
    assert found["answers"]
    for answer in found["answers"]:
        document = answer["document"]
        assert document["collection"] == "de" and document["id"] in {one["id"] for one in hits}
        assert texts[document["id"]][answer["start"] : answer["end"]] == answer["text"]


def test_words_of_answers_and_passages_are_glossed_where_that_is_asked(reading: Server) -> None:
    asked = {"source": "en", "target": "de", "activate": True}
    table = "bee\tBiene\nvolcano\tVulkan\nash\tAsche\nships\tSchiffe\nharbour\tHafen\nmeadow\tWiese\n"
    reading.client.put("/v1/tables/words", params=asked, content=table.encode()).raise_for_status()
    texts = {one["id"]: one["text"] for one in DOCUMENTS}
    try:
        for more in ({"context": VOLCANO, "context_language": "de"}, {"collections": ["de"]}):
            body = {"question": "what does a bee do", "question_language": "en"} | more
            found = answered(reading, **body, gloss=True)
            assert found["answers"] and any(answer["gloss"] for answer in found["answers"])
            for answer in found["answers"]:
                text = texts[answer["document"]["id"]] if "document" in answer else VOLCANO
                end = answer["sentence_start"] + len(answer["sentence"])
                for one in answer["gloss"]:
                    assert one["field"] == "text" and answer["sentence_start"] <= one["start"] < one["end"] <= end
                    word = text[one["start"] : one["end"]]
                    assert f"{one['translations'][0]}\t{word}" in table.splitlines()
            assert all(hit["gloss"] for hit in found.get("passages", ()))
            assert "gloss" not in ask(reading, **body, gloss=False).text
            unasked = answered(reading, **body)
            assert any("gloss" in answer for answer in unasked["answers"])
            assert not any("gloss" in hit for hit in unasked.get("passages", ()))
    finally:
        reading.client.post("/v1/tables/words/deactivate").raise_for_status()


def test_nothing_found_is_no_answer(reading: Server) -> None:
    found = answered(reading, question="xyzzy", collections=["de"], question_language="en")
    assert (found["answers"], found["passages"]) == ([], [])
    assert (found["no_answer"], found["found"]) == (1.0, "none")


def test_all_collections_are_searched_where_none_is_named(reading: Server) -> None:
    named = answered(reading, question="Wo fliegt die Biene?", collections=["de"], question_language="de")
    every = answered(reading, question="Wo fliegt die Biene?", question_language="de")
    assert rounded(every | {"request_id": ""}) == rounded(named | {"request_id": ""})


def test_passages_are_whole_hits(reading: Server) -> None:
    found = answered(reading, question="Wo ist der Vulkan?", question_language="de")
    body = {"query": "Wo ist der Vulkan?", "query_language": "de", "top_k": 5}
    hits = reading.client.post("/v1/search", json=body).json()["hits"]
    assert found["passages"] == hits
    assert any(one["table"] is None for hit in hits for one in hit["highlights"])


def test_a_language_that_cannot_be_told_is_reported(reading: Server) -> None:
    found = answered(reading, question="12?", context="12")
    assert [one["stage"] for one in found["degraded"]] == ["detect", "detect"]
    assert (
        answered(reading, question="12?", context="12", question_language="de", context_language="de")["degraded"] == []
    )


def test_a_language_that_the_reader_did_not_learn_is_detected_and_named(reading: Server) -> None:
    harbour = "Le navi sono nel porto. Il vulcano dorme."
    italian = answered(reading, question="Dove sono le navi?", context=harbour)
    assert italian["query"]["language"] == "it"
    assert [one["reason"].partition(":")[0] for one in italian["degraded"]] == ["question", "context"]
    assert all("did not learn to read 'it'" in one["reason"] for one in italian["degraded"])
    assert answered(reading, question="Navi?", context=harbour)["query"]["language"] == "it"
    german = answered(reading, question="Wo liegen die Schiffe?", context=VOLCANO)
    assert german["query"]["language"] == "de" and german["degraded"] == []


def test_long_documents_are_read_in_part_and_it_says_so(reading: Server) -> None:
    reading.client.post("/v1/collections", json={"name": "long", "language": "de"}).raise_for_status()
    documents = [{"id": f"d{n}", "text": "Der Hafen liegt im Norden. " * 500} for n in range(2)]
    headers = {"content-type": "application/x-ndjson"}
    reading.client.post("/v1/collections/long/documents", content=ndjson(documents), headers=headers)
    found = answered(reading, question="Wo liegt der Hafen?", collections=["long"], question_language="de")
    assert found["truncated"] == ["long/d1: 6500 of 13500 characters were read"]
    reading.client.delete("/v1/collections/long")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "question"),
        ({"question": "wo", "context_language": "de"}, "context_language"),
        ({"question": "wo", "context": "a", "collections": ["de"]}, "not both"),
        ({"question": " ", "context": "a"}, "question"),
        ({"question": "wo", "context": "\n"}, "context"),
        ({"question": "wo", "context": "a", "question_language": "xx"}, "question_language"),
        ({"question": "wo", "context": "a", "context_language": "deutsch"}, "context_language"),
        ({"question": "wo", "collections": ["de"], "context_language": "de"}, "context_language"),
        ({"question": "wo", "collections": []}, "collections"),
        ({"question": "w" * 10_001, "context": "a"}, "question"),
        ({"question": "wo xyz " * 100, "context": "a"}, "question: .* subwords; at most"),
        ({"question": "Biene " * 100, "question_language": "de"}, "question: .* subwords; at most"),
        ({"question": "wo", "context": "a" * 20_001}, "context"),
        ({"question": "wo", "context": "a" * (1 << 20)}, "context"),
        ({"question": 3, "context": "a"}, "question"),
        ({"question": "wo", "context": "a", "extra": 1}, "extra"),
        ({"question": "wo", "context": "a", "gloss": "yes"}, "gloss"),
    ],
)  # fmt: skip
def test_bad_input_names_the_field(reading: Server, body: dict[str, Any], field: str) -> None:
    check_error(ask(reading, **body), 422, field)


@pytest.mark.parametrize("field", ["question", "context"])
def test_lone_surrogates_are_refused(reading: Server, field: str) -> None:
    body = {"question": '"wo"', "context": '"da"'} | {field: '"\\ud800"'}
    content = "{" + ", ".join(f'"{name}": {value}' for name, value in body.items()) + "}"
    response = reading.client.post("/v1/qa", content=content, headers={"content-type": "application/json"})
    check_error(response, 422, field)


def test_an_unknown_collection_is_not_found(reading: Server) -> None:
    check_error(ask(reading, question="wo", collections=["nowhere"]), 404, "nowhere")


def test_without_a_reader_it_says_how_to_get_one(tmp_path: Path) -> None:
    with server(tmp_path, reader="off") as running:
        check_error(ask(running, question="wo", context="da"), 503, "DRAGOMAN_READER")
        told = running.client.get("/v1/qa").json()
        assert told["model"] is None and "DRAGOMAN_READER" in told["advice"]


def test_it_is_told_by_what_questions_are_answered(reading: Server) -> None:
    told = reading.client.get("/v1/qa").json()
    assert (told["model"], told["advice"]) == ("reader", None)


def test_a_reader_that_cannot_be_loaded_leaves_the_passages_and_fails_jobs(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with server(tmp_path / "data", reader=missing, statement_reader=missing, job_retry_seconds=1) as running:
        write_documents(running)
        found = answered(running, question="Wo fliegt die Biene?", collections=["de"])
        assert next(one["id"] for one in found["passages"]) == "b"
        assert "qa" in [one["stage"] for one in found["degraded"]]
        assert found["answers"] == [] and found["no_answer"] is None and found["found"] is None
        assert ask(running, question="wo", context="da").status_code == 503
        judged = answered(running, statement="Die Biene fliegt.", collections=["de"])
        assert (judged["label"], judged["probability"]) == ("unknown", None) and judged["passages"]
        assert "qa" in [one["stage"] for one in judged["degraded"]]
        line = {"custom_id": "q", "question": "Wo fliegt die Biene?", "collections": ["de"]}
        id = submit(running.client, [line], "qa")
        assert finished(running.client, id)["counts"] == {"total": 1, "completed": 0, "failed": 1}
        (error,) = read(running.client, id, "errors")
        assert error["error"]["status"] == 503 and "reader" in error["error"]["message"]


def test_a_reader_that_takes_too_long_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    freed = Event()

    def slow(scorer: Any, parts: Any) -> Any:
        freed.wait(60)
        return find_spans(scorer, parts)

    monkeypatch.setattr(model_host, "find_spans", slow)
    settings = Settings.load(data_dir=tmp_path / "data", reader=str(tiny_reader(tmp_path / "reader")), worker_seconds=1)
    with TestClient(create_app(settings)) as client:
        try:
            client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
            headers = {"content-type": "application/x-ndjson"}
            client.post("/v1/collections/de/documents", content=ndjson(DOCUMENTS), headers=headers)
            question = {"question": "Wo fliegt die Biene?", "question_language": "de"}
            refused = client.post("/v1/qa", json=question | {"context": VOLCANO})
            check_error(refused, 503, "")
            found = client.post("/v1/qa", json=question | {"collections": ["de"]}).json()
            assert found["passages"][0]["id"] == "b" and found["answers"] == []
            assert "qa" in [one["stage"] for one in found["degraded"]]
        finally:
            freed.set()


def test_what_a_disconnected_client_asked_is_not_read(reading: Server) -> None:
    def disconnect(number: int) -> None:
        body = {"question": f"was fliegt {number}", "context": VOLCANO * 200}
        with pytest.raises(httpx.ReadTimeout):
            reading.client.post("/v1/qa", json=body, timeout=httpx.Timeout(5, read=0.05))

    before = windows_read(reading)
    answered(reading, question="was fliegt", context=VOLCANO * 200)
    of_each = windows_read(reading) - before
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(disconnect, range(32)))
    wait_for(lambda: "waiting" not in of_reading(reading))
    assert answered(reading, question="was fliegt", context=VOLCANO)["model"] == "reader"
    assert windows_read(reading) - before < 16 * of_each


def windows_read(running: Server) -> float:
    """How many windows have been read."""
    lines = running.client.get("/metrics").text.splitlines()
    counted = [line for line in lines if line.startswith('dragoman_batch_texts_sum{task="read"}')]
    return sum(float(line.split()[-1]) for line in counted)


def of_reading(running: Server) -> str:
    """What metrics say of windows to read, such as those that wait."""
    lines = running.client.get("/metrics").text.splitlines()
    return "\n".join(line for line in lines if 'task="read"' in line and not line.endswith(" 0.0"))


def test_a_job_answers_as_the_endpoint(reading: Server) -> None:
    asked = [
        {"question": "was fliegt", "context": VOLCANO},
        {"question": "Wo fliegt die Biene?", "collections": ["de"], "question_language": "de"},
        {"question": "wo", "collections": ["nowhere"]},
    ]
    lines = [{"custom_id": f"q{n}", **body} for n, body in enumerate(asked)]
    id = submit(reading.client, [*lines, {"custom_id": "bad", "question": " "}], "qa")
    assert finished(reading.client, id)["counts"] == {"total": 4, "completed": 2, "failed": 2}
    for line, body in zip(read(reading.client, id, "results"), asked, strict=False):
        expected = answered(reading, **body) | {"request_id": line["custom_id"]}
        assert rounded(line["response"]) == rounded(expected)
    errors = {one["custom_id"]: one["error"] for one in read(reading.client, id, "errors")}
    assert errors["q2"]["status"] == 404
    assert errors["bad"]["status"] == 422 and "question" in errors["bad"]["message"]
    run = reading.client.get(f"/v1/jobs/{id}/results", params={"format": "trec"}).text
    assert run.splitlines()[0].split()[::3] == ["q1", "1"]


def rounded(response: dict[str, Any]) -> dict[str, Any]:
    """A response without what may differ in the last digits."""
    answers = [one | {"score": round(one["score"], 3)} for one in response["answers"]]
    return {**response, "answers": answers, "no_answer": round(response["no_answer"], 3), "passages": None}
