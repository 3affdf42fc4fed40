"""``/v1/tag`` with the shipped taggers on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.errorbody import check_error
from tests.support.offsets import check_counted
from tests.support.serving import Server, server

pytestmark = pytest.mark.slow

TEXTS = [
    "Angela Merkel besuchte im Mai die Universität Leipzig.",
    "Ангела Меркель посетила Лондон.",
    "安格拉·默克尔访问了伦敦。",
    "Nothing here.",
    "🌋",
]


@pytest.fixture(scope="module")
def tagging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("tagging"), tag_texts=40, tag_chars=3_000) as running:
        yield running


def tagged(running: Server, **body: Any) -> dict[str, Any]:
    response = running.client.post("/v1/tag", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.parametrize("task", ["ner", "pos"])
def test_tags_stand_where_they_say_in_order(tagging: Server, task: str) -> None:
    found = tagged(tagging, texts=TEXTS, task=task)
    assert set(found) == {"results", "model"} and len(found["results"]) == len(TEXTS)
    for text, tags in zip(TEXTS, found["results"], strict=True):
        for tag in tags:
            assert set(tag) == {"text", "start", "end", "label", "score"}
            assert text[tag["start"] : tag["end"]] == tag["text"] and 0 < tag["score"] <= 1
        places = [(tag["start"], tag["end"]) for tag in tags]
        assert places == sorted(places) and all(a[1] <= b[0] for a, b in pairwise(places))


def test_places_are_counted_in_utf16_where_that_is_asked_for(tagging: Server) -> None:
    text = "🌋🌋 Angela Merkel besuchte Leipzig 🐝 und London."
    answer = tagged(tagging, texts=["Leipzig", text], task="ner")["results"]
    counted = tagged(tagging, texts=["Leipzig", text], task="ner", offsets="utf16")["results"]
    assert check_counted(counted[1], answer[1], lambda tag: text) == len(answer[1]) > 1
    assert counted[0] == answer[0]


def test_names_are_found_in_other_languages_than_those_learned(tagging: Server) -> None:
    results = tagged(tagging, texts=TEXTS, task="ner")["results"]
    assert ("Angela Merkel", "PER") in {(tag["text"], tag["label"]) for tag in results[0]}
    assert ("Ангела Меркель", "PER") in {(tag["text"], tag["label"]) for tag in results[1]}
    assert not results[3]


def test_each_word_has_a_part_of_speech(tagging: Server) -> None:
    (tags,) = tagged(tagging, texts=["Die alte Brücke steht noch."], task="pos")["results"]
    assert [(tag["text"], tag["label"]) for tag in tags] == [
        ("Die", "DET"), ("alte", "ADJ"), ("Brücke", "NOUN"), ("steht", "VERB"), ("noch", "ADV"), (".", "PUNCT")
    ]  # fmt: skip


def test_a_language_that_nobody_learned_from_is_named(tagging: Server) -> None:
    assert "degraded" not in tagged(tagging, texts=["Anna"], task="ner", language="de")
    found = tagged(tagging, texts=["Anna"], task="ner", language="sw")
    (degraded,) = found["degraded"]
    assert set(degraded) == {"stage", "reason"}
    assert degraded["stage"] == "tag" and "'sw'" in degraded["reason"]


def test_many_callers_get_the_tags_of_one(tagging: Server) -> None:
    alone = [tagged(tagging, texts=[text], task="ner")["results"][0] for text in TEXTS]

    def spans(tags: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
        return [(tag["start"], tag["end"], tag["label"]) for tag in tags]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: tagged(tagging, texts=TEXTS, task="ner")["results"], range(16)))
    assert all(list(map(spans, found)) == list(map(spans, alone)) for found in together)


@pytest.mark.parametrize(("body", "said"), [
    ({"texts": [], "task": "ner"}, "texts"),
    ({"texts": ["a"], "task": "chunks"}, "task"),
    ({"texts": ["a"]}, "task"),
    ({"texts": ["a", 3], "task": "ner"}, "texts"),
    ({"texts": "a", "task": "ner"}, "texts"),
    ({"texts": ["a"], "task": "ner", "language": "xx"}, "language"),
    ({"texts": ["a"], "task": "ner", "labels": []}, "labels"),
    ({"texts": ["a"] * 41, "task": "ner"}, "texts: 41 of them; at most 40"),
    ({"texts": ["a" * 2_000] * 2, "task": "ner"}, "texts: 4000 characters together; at most 3000"),
])  # fmt: skip
def test_bad_input_is_named_by_field(tagging: Server, body: dict[str, Any], said: str) -> None:
    check_error(tagging.client.post("/v1/tag", json=body), 422, said)


def test_a_long_text_is_tagged_to_its_end(tagging: Server) -> None:
    text = "Angela Merkel besuchte Leipzig. " * 90
    (tags,) = tagged(tagging, texts=[text.strip()], task="ner")["results"]
    assert sum(tag["text"] == "Leipzig" for tag in tags) > 80 and tags[-1]["start"] > len(text) - 40


def test_a_long_text_is_tagged_in_passages_that_need_no_space(tagging: Server) -> None:
    text = " " + "、" * 900 + "安格拉·默克尔访问了伦敦。"
    (tags,) = tagged(tagging, texts=[text], task="ner")["results"]
    assert {tag["text"] for tag in tags} >= {"伦敦"} and all(0 < tag["score"] <= 1 for tag in tags)
    assert all(text[tag["start"] : tag["end"]] == tag["text"] for tag in tags)
    assert tagged(tagging, texts=[" ", ""], task="pos")["results"] == [[], []]


def test_without_a_tagger_there_is_advice(tmp_path: Path) -> None:
    with server(tmp_path, ner_tagger="off", pos_tagger=str(tmp_path / "gone")) as running:
        refused = running.client.post("/v1/tag", json={"texts": ["a"], "task": "ner"})
        check_error(refused, 503, "DRAGOMAN_NER_TAGGER")
        about = running.client.get("/v1/tag").json()
        assert about["ner"] is None and "DRAGOMAN_NER_TAGGER" in about["advice"] and about["pos"] == "gone"
        broken = running.client.post("/v1/tag", json={"texts": ["a"], "task": "pos"})
        check_error(broken, 503, "pos_tagger cannot be loaded")


def test_the_taggers_are_named(tagging: Server) -> None:
    assert tagging.client.get("/v1/tag").json() == {"ner": "ner", "pos": "pos"}
