"""Statements at ``/v1/qa``, with a real reader, whose judgements are consistent though nobody trained it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.service.qa.test_endpoints import VOLCANO, answered, ask, write_documents
from tests.support.backbones import tiny_statement_reader
from tests.support.errorbody import check_error
from tests.support.job_client import finished, read, submit
from tests.support.serving import Server, server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("judging")
    own = tiny_statement_reader(folder / "statements")
    with server(folder / "data", reader="off", statement_reader=own, qa_chars=20_000) as running:
        write_documents(running)
        yield running


def check_judgement(found: dict[str, Any]) -> None:
    assert found["label"] in ("true", "false")
    assert 0.5 <= found["probability"] <= 1
    assert found["model"] == "statements"


@pytest.mark.parametrize("statement", ["The ships lie in the harbour.", "Die Biene schläft nicht.", "🌋"])
def test_a_statement_is_judged_by_a_context_and_its_evidence_is_a_sentence_of_it(
    judging: Server, statement: str
) -> None:
    found = answered(judging, statement=statement, context=VOLCANO, question_language="en", context_language="de")
    check_judgement(found)
    if evidence := found.get("evidence"):
        assert evidence["text"] == VOLCANO[evidence["start"] : evidence["end"]]
    assert "passages" not in found and "answers" not in found


def test_some_evidence_is_found_and_is_whole_sentences(judging: Server) -> None:
    texts = [f"Schiffe liegen im Hafen {n}. Eine Biene fliegt. {n} Wolken ziehen." for n in range(12)]
    found = [answered(judging, statement=f"Wolken {n}", context=text) for n, text in enumerate(texts)]
    evidence = [(one["evidence"], text) for one, text in zip(found, texts, strict=True) if "evidence" in one]
    assert evidence
    for one, text in evidence:
        assert one["text"] == text[one["start"] : one["end"]] and one["text"].endswith(".")


def test_words_of_the_evidence_are_glossed_where_that_is_asked(judging: Server) -> None:
    asked = {"source": "en", "target": "de", "activate": True}
    table = b"ships\tSchiffe\nharbour\tHafen\nclouds\tWolken\nbee\tBiene\n"
    judging.client.put("/v1/tables/words", params=asked, content=table).raise_for_status()
    try:
        glossed = []
        for n in range(12):
            text = f"Schiffe liegen im Hafen {n}. Eine Biene fliegt. {n} Wolken ziehen."
            body = {"statement": f"clouds {n}", "question_language": "en", "context": text, "context_language": "de"}
            if evidence := answered(judging, **body, gloss=True).get("evidence"):
                glossed += [(text[one["start"] : one["end"]], one["translations"][0]) for one in evidence["gloss"]]
                assert all(
                    evidence["start"] <= one["start"] < one["end"] <= evidence["end"] for one in evidence["gloss"]
                )
            assert "gloss" not in ask(judging, **body, gloss=False).text
        pairs = {tuple(reversed(line.split("\t"))) for line in table.decode().splitlines()}
        assert glossed and set(glossed) <= pairs
    finally:
        judging.client.post("/v1/tables/words/deactivate").raise_for_status()


def test_a_long_context_is_judged_by_one_of_its_windows(judging: Server) -> None:
    found = answered(judging, statement="Die Biene schläft.", context=VOLCANO * 150)
    check_judgement(found)


def test_statements_at_the_same_time_are_judged_as_single_ones(judging: Server) -> None:
    bodies = [{"statement": f"Die Biene {n} schläft", "context": VOLCANO * (1 + n % 3)} for n in range(12)]

    def judged(body: dict[str, Any]) -> Any:
        return answered(judging, **body)

    alone = [judged(body) for body in bodies]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(judged, bodies))
    for one, other in zip(alone, together, strict=True):
        assert one["label"] == other["label"]
        assert one["probability"] == pytest.approx(other["probability"], abs=5e-3)


def test_a_statement_is_judged_by_what_search_finds(judging: Server) -> None:
    found = answered(judging, statement="Eine Biene fliegt über die Wiese.", collections=["de"])
    check_judgement(found)
    assert found["passages"][0]["id"] == "b"
    if evidence := found.get("evidence"):
        assert evidence["document"]["collection"] == "de"


def test_where_nothing_is_found_the_label_is_unknown(judging: Server) -> None:
    found = answered(judging, statement="xyzzy", collections=["de"], question_language="en")
    assert found["passages"] == [] and "evidence" not in found
    assert (found["label"], found["probability"]) == ("unknown", None)


def test_a_job_judges_as_the_endpoint(judging: Server) -> None:
    bodies = [
        {"statement": "Eine Biene fliegt.", "context": VOLCANO},
        {"statement": "Eine Biene fliegt.", "collections": ["de"]},
    ]
    id = submit(judging.client, [{"custom_id": str(n), **body} for n, body in enumerate(bodies)], "qa")
    assert finished(judging.client, id)["counts"] == {"total": 2, "completed": 2, "failed": 0}
    for number, line in enumerate(sorted(read(judging.client, id, "results"), key=lambda one: one["custom_id"])):
        own = answered(judging, **bodies[number])
        assert line["response"]["label"] == own["label"]
        assert line["response"]["probability"] == pytest.approx(own["probability"], abs=5e-3)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"context": "a"}, "question or statement"),
        ({"question": "wo", "statement": "da", "context": "a"}, "not both"),
        ({"statement": "", "context": "a"}, "statement"),
        ({"statement": "w" * 10_001, "context": "a"}, "statement"),
        ({"statement": "wo xyz " * 100, "context": "a"}, "statement: .* subwords; at most"),
        ({"statement": "wo", "context": "a" * (1 << 20)}, "context"),
        ({"statement": "wo", "context": "a", "question_language": "xx"}, "question_language"),
    ],
)
def test_bad_input_names_the_field(judging: Server, body: dict[str, Any], field: str) -> None:
    check_error(ask(judging, **body), 422, field)


def test_a_lone_surrogate_is_refused(judging: Server) -> None:
    content = '{"statement": "\\ud800", "context": "a"}'
    response = judging.client.post("/v1/qa", content=content, headers={"content-type": "application/json"})
    check_error(response, 422, "statement")


def test_readers_are_off_and_on_by_themselves(judging: Server, tmp_path: Path) -> None:
    told = judging.client.get("/v1/qa").json()
    assert told["statements"] == "statements" and told["model"] is None and "DRAGOMAN_READER" in told["advice"]
    check_error(ask(judging, question="wo", context="da"), 503, "DRAGOMAN_READER")
    with server(tmp_path, statement_reader="off") as running:
        check_error(ask(running, statement="da", context="da"), 503, "DRAGOMAN_STATEMENT_READER")
        assert running.client.get("/v1/qa").json()["statements"] is None
