"""The bridges of the package at work in a service that was told nothing: what they say is right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.serving import Server, server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("shipped"), worker_seconds=120, reason_seconds=120) as opened:
        yield opened


def test_a_sentence_is_translated_and_the_answer_says_how_well(running: Server) -> None:
    configured = running.client.get("/v1/translate").json()
    assert configured["model"] == "translation" and configured["target"] == "en"
    assert all(figures["chrf"] >= 30 for figures in configured["sources"].values())
    body = {"texts": ["Wo ist der Bahnhof?", "Ich trinke jeden Morgen Kaffee."], "source": "de", "target": "en"}
    answer = running.client.post("/v1/translate", json=body).json()
    where, coffee = (text.casefold() for text in answer["texts"])
    assert "where" in where and "station" in where
    assert "coffee" in coffee and "morning" in coffee
    assert answer["quality"]["chrf"] >= 30


def test_what_is_shown_has_the_numbers_of_the_source_and_obeys_a_glossary(running: Server) -> None:
    text = "Rund 2.500 Hafenarbeiter haben am Montag in Hamburg die Arbeit niedergelegt."
    place = "/v1/tables/mine?source=de&target=en&kind=glossary&activate=true"
    assert running.client.put(place, content="Hafenarbeiter\tdock workers\n").status_code == 201
    answer = running.client.post("/v1/translate", json={"text": text, "source": "de", "target": "en"}).json()
    ((sentence,),) = answer["sentences"]
    if sentence["status"] == "failed":
        assert sentence["text"] is None and sentence["reasons"] and answer["texts"] == [text]
    else:
        assert "2,500" in sentence["text"] and "dock workers" in sentence["text"], sentence
        assert sentence["status"] == "draft" and sentence["reasons"]  # "lost their jobs" is not what was said
    assert running.client.post("/v1/tables/mine/deactivate").status_code == 200


def test_an_answers_sentence_is_translated_and_checked(running: Server) -> None:
    context = "Der Vulkan spuckt Asche. Die Schiffe liegen im Hafen."
    languages = {"question_language": "en", "context_language": "de"}
    body = {"question": "Where are the ships?", "context": context, "translate": True, **languages}
    answer = running.client.post("/v1/qa", json=body).json()["answers"][0]
    (sentence,) = answer["translation"]["sentences"]
    assert answer["sentence"][slice(*sentence["source"].values())] == answer["sentence"]
    if sentence["status"] == "failed":
        assert answer["translation"]["text"] == answer["sentence"] and answer["gloss"] == []  # there is no table
    else:
        assert answer["translation"]["text"] == sentence["text"] != answer["sentence"]


def test_out_of_english_it_does_not_translate(running: Server) -> None:
    response = running.client.post("/v1/translate", json={"text": "The ship.", "source": "en", "target": "de"})
    assert response.status_code == 503 and "into 'en'" in response.json()["message"]


def test_a_word_problem_is_solved_and_the_answer_says_its_limits(running: Server) -> None:
    question = "Anna hat 3 Äpfel und kauft 4 dazu. Wie viele Äpfel hat sie jetzt?"
    answer = running.client.post("/v1/reason", json={"question": question, "language": "de", "max_tokens": 80}).json()
    assert answer["answer"].rstrip(".") == "7" and answer["degraded"] == [], answer
    assert answer["model"].startswith("reasoning") and "word problems" in answer["model"]


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "Anna hat 3 Äpfel und kauft 4 dazu. Wie viele Äpfel hat sie jetzt?"),
        ("ru", "У Анны 3 яблока, и она покупает ещё 4. Сколько у неё яблок?"),
    ],
)
def test_the_language_of_a_question_is_detected(running: Server, language: str, question: str) -> None:
    answer = running.client.post("/v1/reason", json={"question": question, "max_tokens": 4}).json()
    assert answer["query"]["language"] == language and answer["query"]["detected"]
    assert not any(one["stage"] in ("reason", "detect") for one in answer["degraded"])
