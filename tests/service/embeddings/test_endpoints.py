"""Vectors of texts over HTTP, in each client's form: those of the encoder's files, queries and passages told apart."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from dragoman.engine.models.loading import encoder_name
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from tests.backbone.pretrained.hub_samples import write_cross_encoders
from tests.backbone.pretrained.test_sentence_transformer import PROMPTS, load, units, write
from tests.support.errorbody import check_error

pytestmark = pytest.mark.slow

TEXTS = ["Nyuki anaruka juu ya maua", "The bee", "mto", "", "kitabu"]
MODULES = ("Transformer", "Pooling")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder whose vectors are not of length 1, and may be cut."""
    source = write_cross_encoders(tmp_path_factory.mktemp("hub"))["bert"]
    place = tmp_path_factory.mktemp("encoders") / "tiny"
    return write(place, source, modules=MODULES, prompts=PROMPTS, matryoshka_dimensions=[8, 16])


@pytest.fixture(scope="module")
def client(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings.load(
        data_dir=tmp_path_factory.mktemp("data"),
        encoder=str(folder),
        encoder_precision="float32",
        embed="on_demand",
        embed_texts=10,
        embed_chars=1_000,
    )
    with TestClient(create_app(settings)) as client:
        yield client


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Any]:
    encoder = load(folder)
    return {kind: encoder.embed(TEXTS, kind) for kind in PROMPTS}


def ask(client: TestClient, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows(body: Any) -> np.ndarray:
    return np.array([item["embedding"] for item in body["data"]])


def test_the_form_of_openai(client: TestClient, expected: dict[str, Any]) -> None:
    assert [model["id"] for model in client.get("/v1/models").json()["data"]] == ["tiny", "tiny-query"]
    for name, kind in (("tiny", "passage"), ("tiny-query", "query")):
        vectors, tokens = expected[kind]
        body = ask(client, "/v1/embeddings", input=TEXTS, model=name, user="me")
        np.testing.assert_allclose(rows(body), vectors, atol=1e-5)
        assert [item["index"] for item in body["data"]] == list(range(5))
        assert (body["object"], body["model"]) == ("list", name)
        assert body["usage"] == {"prompt_tokens": sum(tokens), "total_tokens": sum(tokens)}
    short = ask(client, "/v1/embeddings/", input=TEXTS[0], model="tiny", encoding_format="base64", dimensions=8)
    (item,) = short["data"]
    vector = np.frombuffer(base64.b64decode(item["embedding"]), "<f4")
    np.testing.assert_allclose(vector, expected["passage"][0][0][:8], atol=1e-5)


def test_the_fields_of_voyage(client: TestClient, expected: dict[str, Any]) -> None:
    asked = {"input": TEXTS, "model": "tiny", "input_type": "query", "output_dimension": 16, "truncation": True}
    answer = client.post("/v1/embeddings", json=asked)
    np.testing.assert_allclose(rows(answer.json()), expected["query"][0][:, :16], atol=1e-5)
    assert answer.json()["model"] == "tiny-query"
    reason = "unknown fields were ignored: 'truncation'"
    assert json.loads(answer.headers["x-dragoman-degraded"]) == [{"stage": "embeddings", "reason": reason}]


def test_the_form_of_cohere(client: TestClient, expected: dict[str, Any]) -> None:
    types = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    asked = {"model": "tiny", "texts": TEXTS, "input_type": "search_query", "embedding_types": types, "priority": 1}
    body = ask(client, "/v2/embed", **asked)
    vectors = expected["query"][0]
    found = body["embeddings"]
    np.testing.assert_allclose(found["float"], vectors, atol=1e-5)
    assert set(found) == set(types) and body["texts"] == TEXTS and body["response_type"] == "embeddings_by_type"
    int8 = np.array(found["int8"])
    assert np.abs(int8).max(axis=1).tolist() == [127] * 5
    assert (units(int8) * units(vectors)).sum(axis=1) == pytest.approx([1] * 5, abs=1e-3)
    assert (np.array(found["uint8"]) == int8 + 128).all()
    bits = np.unpackbits(np.array(found["ubinary"], np.uint8), axis=1)
    assert (bits == (vectors > 0)).all() and (np.array(found["binary"]) == np.array(found["ubinary"]) - 128).all()
    assert body["meta"]["warnings"] == ["unknown fields were ignored: 'priority'"]
    assert body["meta"]["billed_units"] == {"input_tokens": sum(expected["query"][1])}
    inputs = [{"content": [{"type": "text", "text": text}]} for text in TEXTS]
    passages = ask(client, "/v1/v2/embed", inputs=inputs, input_type="search_document")["embeddings"]["float"]
    np.testing.assert_allclose(passages, expected["passage"][0], atol=1e-5)


def test_the_form_of_tei(client: TestClient, expected: dict[str, Any]) -> None:
    np.testing.assert_allclose(ask(client, "/embed", inputs=TEXTS), units(expected["passage"][0]), atol=1e-5)
    plain = ask(client, "/embed", inputs=TEXTS[0], normalize=False, prompt_name="query", truncate=True)
    np.testing.assert_allclose(plain, expected["query"][0][:1], atol=1e-5)
    about = client.get("/info").json()
    assert (about["model_id"], about["model_dtype"], about["max_input_length"]) == ("tiny", "float32", 30)
    assert about["model_type"] == {"embedding": {"pooling": "mean"}}


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/embeddings", {"input": [1, 2]}, 422, "input: token ids .*check_embedding_ctx_length=False"),
        ("/v1/embeddings", {"input": [[1, 2], [3]]}, 422, "input: token ids "),
        ("/v1/embeddings", {"input": []}, 422, "input: must be a text or a list of texts"),
        ("/v1/embeddings", {"input": ["a", None]}, 422, "input: number 1 is no text"),
        ("/v1/embeddings", {"input": "a\u0000"}, 422, "input: number 0: .*NUL"),
        ("/v1/embeddings", {"input": ["a"] * 11}, 422, "texts: 11 of them; at most 10 are allowed"),
        ("/v1/embeddings", {"input": "a" * 1001}, 422, "texts: 1001 characters together; at most 1000"),
        ("/v1/embeddings", {"input": "a", "model": "text-embedding-3-small"}, 404, "'tiny' for passages, 'tiny-query'"),
        ("/v1/embeddings", {"input": "a", "dimensions": 9}, 422, "dimensions: .*cut to 9; it has 8, 16, 32"),
        ("/v1/embeddings", {"input": "a", "dimensions": 0}, 422, "dimensions: "),
        ("/v1/embeddings", {"input": "a", "output_dtype": "int8"}, 422, "output_dtype: "),
        ("/v2/embed", {"model": "tiny"}, 422, "texts: send texts, or inputs"),
        ("/v2/embed", {"texts": ["a"], "input_type": "image"}, 422, "input_type: "),
        ("/v2/embed", {"texts": ["a"], "embedding_types": ["bits"]}, 422, r"embedding_types\[0\]: "),
        ("/embed", {"inputs": {"a": "b"}}, 422, "inputs: "),
    ],
)
def test_what_cannot_be_encoded_is_refused_by_name(
    client: TestClient, path: str, body: dict[str, Any], status: int, message: str
) -> None:
    check_error(client.post(path, json=body), status, message)


def test_the_names_of_the_default_encoder() -> None:
    assert encoder_name(Settings.load()) == "e5-small"
    assert encoder_name(Settings.load(encoder="team/model")) == "team/model"
