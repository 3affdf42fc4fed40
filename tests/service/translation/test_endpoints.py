from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.offsets import check_counted
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN

pytestmark = pytest.mark.slow

LIMITS = {"translator": "upper", "translate_texts": 5, "translate_chars": 2_000, "worker_queue": 40, "worker_batch": 4}


@pytest.fixture(scope="module")
def translating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("translating"), STANDING_IN, **LIMITS) as running:
        yield running


def translate(running: Server, **body: Any) -> httpx.Response:
    return running.client.post("/v1/translate", json={"source": "de", "target": "en"} | body)


def test_one_text_and_several(translating: Server) -> None:
    response = translate(translating, text="ein Haus")
    assert response.status_code == 200
    sentence = {"text": "EIN HAUS", "source": {"start": 0, "end": 8}, "status": "ok", "reasons": []}
    assert response.json() == {"texts": ["EIN HAUS"], "sentences": [[sentence]], "model": "upper"}
    counted = translate(translating, texts=["a", "🌋 ein Haus"], offsets="utf16").json()["sentences"]
    assert [sentence["source"] for sentence in counted[1]] == [{"start": 0, "end": 11}]
    answer = translate(translating, texts=["ja", "nein"]).json()
    assert answer["texts"] == ["JA", "NEIN"] and len(answer["sentences"]) == 2


def test_a_translation_that_was_cut_off_is_named(translating: Server) -> None:
    answer = translate(translating, texts=["ja", "nein. endless. doch", "wort"]).json()
    assert answer["texts"] == ["JA", "NEIN. ENDLESS. DOCH", "WORT"] and answer["truncated"] == [1]
    (_, cut, _) = answer["sentences"][1]
    assert (cut["status"], cut["reasons"]) == ("draft", [{"code": "length", "source": None, "text": None}])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n ", " \n "),
        ("Ja. Nein!\n\nDoch  ", "JA. NEIN!\n\nDOCH  "),
        ("  ja. 12. 🙂", "  JA. 12. 🙂"),
        ("wort " * 200, "WORT " * 200),
    ],
)
def test_texts_keep_their_white_space(translating: Server, text: str, expected: str) -> None:
    assert translate(translating, texts=[text, "ja"]).json()["texts"] == [expected, "JA"]


def test_sentences_are_joined_as_the_target_language_does(translating: Server) -> None:
    answer = translate(translating, text="a。b。", source="zh", target="en").json()
    assert answer["texts"] == ["A。 B。"]
    assert translate(translating, text="a. b.\nc.", target="zh").json()["texts"] == ["A.B.\nC."]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "give either text or texts"),
        ({"text": "a", "texts": ["b"]}, "either text or texts, not both"),
        ({"text": None, "texts": None}, "give either text or texts"),
        ({"texts": []}, "texts: "),
        ({"texts": "a"}, "texts: "),
        ({"texts": ["a", 1]}, r"texts\[1\]: "),
        ({"text": "a\u0000"}, "text: "),
        ({"text": "a", "source": "xx"}, "source: .*xx"),
        ({"text": "a", "target": "klingon"}, "target: .*klingon"),
        ({"text": "a", "target": "de"}, "target: 'de' is the language of the source already"),
        ({"text": "a", "source": None}, "source: "),
        ({"text": "a", "beam": 3}, "beam: "),
        ({"texts": ["a"] * 6}, "texts: 6 of them; at most 5"),
        ({"text": "a" * 2001}, "2001 characters together; at most 2000"),
    ],
)
def test_what_cannot_be_translated_is_refused_by_name(translating: Server, body: dict[str, Any], message: str) -> None:
    check_error(translate(translating, **body), 422, message)


@pytest.mark.parametrize("field", ["source", "target"])
def test_a_language_that_the_translator_does_not_know_is_a_503_with_advice(translating: Server, field: str) -> None:
    advice = f"{field}: upper does not know 'fr'; it knows de, en, sw, zh; DRAGOMAN_TRANSLATOR can name another"
    check_error(translate(translating, **{"text": "a", field: "fr"}), 503, advice)


def test_a_translation_of_anyone_is_checked_sentence_by_sentence(translating: Server) -> None:
    text = "Rund 2.500 Hafenarbeiter streiken. Der Vulkan spuckt Asche."
    body = {"source": "de", "target": "en", "text": text, "translation": "About 1,000 dockers strike. volcano ash."}
    answer = translating.client.post("/v1/translate/check", json=body).json()
    first, second = answer["sentences"]
    assert text[slice(*first["source"].values())] == "Rund 2.500 Hafenarbeiter streiken."
    assert body["translation"][slice(*first["translation"].values())] == "About 1,000 dockers strike."
    assert first["status"] == answer["status"] == "failed" and second["status"] != "failed"
    assert {"code": "number", "source": "2.500", "text": "1,000"} in first["reasons"]
    assert answer["reasons"] == first["reasons"] + second["reasons"] and answer["degraded"] == []


def test_japanese_names_are_checked_by_their_kanji(translating: Server) -> None:
    for translation, named in (("Kubo came yesterday.", False), ("Honda came yesterday.", True)):
        body = {"source": "ja", "target": "en", "text": "昨日、久保が来た。", "translation": translation}
        reasons = translating.client.post("/v1/translate/check", json=body).json()["reasons"]
        assert any(reason["code"] == "name" for reason in reasons) is named


def test_both_sides_of_a_check_are_counted_in_utf16_where_that_is_asked_for(translating: Server) -> None:
    sides = {
        "text": "🌋 Der Vulkan raucht. Das Haus steht.",
        "translation": "🌋🌋 The volcano smokes. The house stands.",
    }
    names = {"source": "text", "translation": "translation"}
    body = {"source": "de", "target": "en", **sides}
    answer, counted = (
        translating.client.post("/v1/translate/check", json=body | more).json()["sentences"]
        for more in ({}, {"offsets": "utf16"})
    )
    for side, name in names.items():
        for aligned, aligned16 in zip(answer, counted, strict=True):
            assert check_counted([aligned16[side]], [aligned[side]], lambda span, name=name: sides[name]) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"translation": None}, "translation: "),
        ({"translation": "a" * 2000}, "2001 characters together; at most 2000"),
        ({"target": "klingon"}, "target: .*klingon"),
        ({"more": 1}, "more: "),
        ({"text": "a. " * 1001, "translation": "b"}, "at most"),
    ],
)
def test_what_cannot_be_checked_is_refused_by_name(translating: Server, body: dict[str, Any], message: str) -> None:
    whole = {"source": "de", "target": "en", "text": "a", "translation": "b"} | body
    check_error(translating.client.post("/v1/translate/check", json=whole), 422, message)


def test_missing_languages_are_named(translating: Server) -> None:
    response = translating.client.post("/v1/translate", json={"text": "a"})
    check_error(response, 422, "source: .*target: ")


def test_a_text_that_fails_leaves_other_clients_theirs(translating: Server) -> None:
    with ThreadPoolExecutor(8) as clients:
        poisoned = clients.submit(translate, translating, text="poison")
        others = [clients.submit(translate, translating, text=f"text{n}") for n in range(8)]
        check_error(poisoned.result(), 500, "the service failed")
        assert [one.result().json()["texts"] for one in others] == [[f"TEXT{n}"] for n in range(8)]


def test_the_translator_is_named(translating: Server) -> None:
    assert translating.client.get("/v1/translate").json() == {"model": "upper"}


def test_without_a_translator_nothing_is_translated_and_the_answer_says_how_to_get_one(tmp_path: Path) -> None:
    advice = "there is no translator: set DRAGOMAN_TRANSLATOR to the folder or the Hugging Face name"
    with server(tmp_path, translator="off") as running:
        check_error(translate(running, text="Der Vulkan speit Asche."), 503, advice)
        search = {"query": "volcano", "query_language": "en", "translate_snippets": True}
        check_error(running.client.post("/v1/search", json=search), 503, advice)
        assert running.client.post("/v1/search", json=search | {"translate_snippets": False}).status_code == 200
        configured = running.client.get("/v1/translate").json()
        assert configured["model"] is None and configured["advice"].startswith(advice)
        headers = {"content-type": "application/x-ndjson"}
        line = json.dumps({"custom_id": "a", **search})
        path = f"/v1/jobs/{running.client.post('/v1/jobs?type=search', content=line, headers=headers).json()['id']}"
        wait_for(lambda: running.client.get(path).json()["status"] == "completed")
        errors = running.client.get(f"{path}/errors").text  # at once: to try it again would not help
        assert "there is no translator" in errors


def test_a_broken_model_is_a_503(tmp_path: Path) -> None:
    with server(tmp_path, translator=tmp_path / "nowhere") as running:
        check_error(translate(running, text="a"), 503, "the translator cannot be loaded")
        assert running.client.get("/healthz").json() == {"status": "ok"}


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.4")
    with server(tmp_path, STANDING_IN, translator="upper", worker_queue=8, worker_batch=4) as running:
        yield running


def test_many_clients_share_batches_and_too_many_are_told_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    monkeypatch.setenv("STANDING_IN_GATE", str(gate))
    whole = {"worker_batch_seconds": 0}  # or the pace of what is held would count
    with (
        server(tmp_path / "data", STANDING_IN, translator="upper", worker_queue=8, worker_batch=4, **whole) as running,
        ThreadPoolExecutor(41) as clients,
    ):
        held = clients.submit(translate, running, text="hold")
        wait_for(lambda: "translating 1: hold\n" in running.log)
        asked = [clients.submit(translate, running, text=f"text{n}") for n in range(40)]
        wait_for(lambda: sum(one.done() for one in asked) == 32)
        for one in asked:
            if one.done():
                check_error(one.result(), 429, "8 texts are waiting to be computed")
                assert one.result().headers["retry-after"] == "1"
        waiting = [n for n, one in enumerate(asked) if not one.done()]
        gate.touch()
        assert held.result().json()["texts"] == ["HOLD"]
        assert [asked[n].result().json()["texts"] for n in waiting] == [[f"TEXT{n}"] for n in waiting]
        wait_for(lambda: sum(line.startswith("translating 4:") for line in running.log) == 2)
        assert "dragoman_batch_texts_bucket" in running.client.get("/metrics").text


def test_what_a_client_asked_that_went_away_is_not_computed(slow: Server) -> None:
    assert translate(slow, text="load").status_code == 200
    texts = [f"gone{n}" for n in range(30)]
    with pytest.raises(httpx.ReadTimeout):
        slow.client.post(
            "/v1/translate", json={"source": "de", "target": "en", "texts": texts}, timeout=httpx.Timeout(5, read=0.2)
        )
    time.sleep(1.5)
    assert translate(slow, text="stays").json()["texts"] == ["STAYS"]
    log = "".join(slow.log)
    assert "gone0" in log
    assert "gone29" not in log


def test_stopping_answers_what_waits(slow: Server) -> None:
    assert translate(slow, text="load").status_code == 200
    with ThreadPoolExecutor(1) as clients:
        waiting = clients.submit(translate, slow, texts=[f"t{n}" for n in range(12)])
        while "t0" not in "".join(slow.log):
            time.sleep(0.02)
        slow._process.terminate()
        assert waiting.result().status_code in (200, 503)
    assert slow._process.wait(30) in (0, -signal.SIGTERM)
