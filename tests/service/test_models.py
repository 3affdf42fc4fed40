"""The service with real models: tiny backbones whose weights nobody has trained."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.models.models import Models
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman_lab.evaluation.benchmark import BenchmarkError
from dragoman_lab.evaluation.evaluation import run
from dragoman_lab.evaluation.serving import TableFile
from tests.support.backbones import tiny_bert, tiny_t5, tiny_translator, tiny_veco
from tests.support.errorbody import check_error
from tests.support.searching import ndjson
from tests.support.serving import Server, dragoman, server

pytestmark = pytest.mark.slow

DEMO = Path(str(files("dragoman") / "demo"))
TEXTS = {"v": "Der Vulkan spuckt Asche.", "h": "Schiffe liegen im Hafen.", "b": "Eine Biene fliegt über die Wiese."}


@pytest.fixture(scope="module")
def veco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_veco(tmp_path_factory.mktemp("backbones") / "tiny")


def fill(running: Server) -> None:
    running.client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
    body = ndjson({"id": id, "text": text} for id, text in TEXTS.items())
    headers = {"content-type": "application/x-ndjson"}
    running.client.post("/v1/collections/c/documents", content=body, headers=headers).raise_for_status()


def restarted(running: Server) -> None:
    """Wait until all indexes are open, which on a busy machine can take longer than a start waits."""
    while not running.client.get("/readyz").is_success:
        time.sleep(0.05)


def search(running: Server, query: str, method: str = "dense") -> dict[str, Any]:
    response = running.client.post("/v1/search", json={"query": query, "query_language": "de", "method": method})
    response.raise_for_status()
    answer: dict[str, Any] = response.json()
    return answer


@contextmanager
def embeddings(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """The database that has them."""
    with closing(sqlite3.connect(data_dir / "dragoman.db")) as connection, connection:
        yield connection


def test_a_server_searches_with_a_backbone_and_keeps_its_embeddings(tmp_path: Path, veco: Path) -> None:
    with server(tmp_path, encoder=veco, torch_threads=1, forked=False) as running:
        fill(running)
        for method in ("dense", "hybrid"):
            for id, text in TEXTS.items():
                answer = search(running, text, method)
                assert answer["degraded"] == []
                assert answer["hits"][0]["id"] == id
                assert len(answer["hits"]) == 3
        assert search(running, TEXTS["b"])["hits"][0]["score"] == pytest.approx(1.0, abs=1e-4)
        maps = Path(f"/proc/{running._process.pid}/maps").read_text()
        assert "libtorch" in maps
        threads = Path(f"/proc/{running._process.pid}/task")
        assert len(list(threads.iterdir())) < 60
        running.stop()
    with embeddings(tmp_path) as database:  # not what the encoder would make of the texts
        zeros = "vectors = zeroblob(length(vectors)), checksum = NULL"  # as an earlier version stored it
        database.execute(f"UPDATE document_embeddings SET {zeros} WHERE document_key > 1")
    with server(tmp_path, encoder=veco) as running:
        restarted(running)
        scores = [hit["score"] for hit in search(running, TEXTS["h"])["hits"]]
        assert scores[1:] == [0.0, 0.0]


def test_a_hugging_face_checkpoint_serves_in_its_place(tmp_path: Path) -> None:
    with server(tmp_path / "data", encoder=tiny_bert(tmp_path / "bert")) as running:
        fill(running)
        for id, text in TEXTS.items():
            answer = search(running, text)
            assert (answer["hits"][0]["id"], answer["degraded"]) == (id, [])


def translate(running: Server, **body: Any) -> httpx.Response:
    return running.client.post("/v1/translate", json=body)


def test_a_server_translates_texts_and_snippets_with_a_model_of_ours(tmp_path: Path, veco: Path) -> None:
    folder = tiny_translator(tmp_path / "translator")
    limits = {"translate_snippets_seconds": 30, "embed_seconds": 30}  # a busy machine is slow
    with server(tmp_path / "data", encoder=veco, translator=folder, beam=2, torch_threads=1, **limits) as running:
        fill(running)
        answer = translate(running, texts=["Eine Biene fliegt.", "", "7 + 8"], source="de", target="en")
        assert answer.status_code == 200, answer.text
        assert answer.json()["model"] == folder.name
        assert len(answer.json()["texts"]) == 3
        assert answer.json()["texts"][1:] == ["", "7 + 8"]
        alone = translate(running, text="Eine Biene fliegt.", source="de", target="en").json()
        assert alone["texts"] == answer.json()["texts"][:1]
        check_error(translate(running, text="a", source="de", target="ja"), 503, "target: .* does not know 'ja'")
        asked = {"query": "bee", "query_language": "en", "method": "hybrid", "translate_snippets": True}
        found = running.client.post("/v1/search", json=asked).json()
        assert [one["stage"] for one in found["degraded"]] == ["translate", "gloss"]  # there is no table
        assert len(found["hits"]) == 3
        assert all(isinstance(hit["snippet_translation"]["text"], str) for hit in found["hits"])


def test_a_hugging_face_seq2seq_model_translates_in_its_place(tmp_path: Path) -> None:
    folder = tiny_t5(tmp_path / "t5")
    with server(tmp_path / "data", translator=folder, beam=2) as running:
        answer = translate(running, text="The volcano spews ash. Ships at anchor.", source="en", target="de")
        assert answer.status_code == 200, answer.text
        assert answer.json()["model"] == folder.name
        check_error(translate(running, text="Biene", source="de", target="en"), 503, "source, target: .*'de' to 'en'")
        check_error(translate(running, text="Biene", source="en", target="sw"), 503, "target: .*'sw'")


def test_an_encoder_is_no_translator(tmp_path: Path, veco: Path) -> None:
    with server(tmp_path, translator=veco) as running:
        response = translate(running, text="Biene", source="de", target="en")
        check_error(response, 503, "the translator cannot be loaded: .*a backbone does not translate")


def test_other_weights_under_the_same_name_make_other_embeddings(tmp_path: Path, veco: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(veco, folder)
    with server(tmp_path / "data", encoder=folder) as running:
        fill(running)
        before = search(running, "Biene")
        running.stop()
    shutil.rmtree(folder)
    tiny_veco(folder, seed=1)
    with server(tmp_path / "data", encoder=folder) as running:
        restarted(running)
        after = search(running, "Biene")
        assert {hit["id"] for hit in after["hits"]} == set(TEXTS)
        assert [hit["score"] for hit in after["hits"]] != [hit["score"] for hit in before["hits"]]
        running.stop()
        assert "are made anew by another encoder" in "".join(running.log)


@pytest.mark.parametrize(
    ("damage", "message"),
    [("missing", "the encoder cannot be loaded"), ("pickled", "pickle"), ("cut", "the encoder cannot be loaded")],
)
def test_a_checkpoint_that_cannot_be_used_is_a_503(tmp_path: Path, veco: Path, damage: str, message: str) -> None:
    folder = tmp_path / "model"
    if damage != "missing":
        shutil.copytree(veco, folder)
    if damage == "pickled":
        for path in folder.glob("*.safetensors"):
            path.rename(path.with_name("pytorch_model.bin"))
    elif damage == "cut":
        for path in folder.glob("*.safetensors"):
            path.write_bytes(path.read_bytes()[:1000])
    with server(tmp_path / "data", encoder=folder) as running:
        fill(running)
        response = running.client.post("/v1/search", json={"query": "Biene", "query_language": "de", "method": "dense"})
        check_error(response, 503, message)
        assert response.headers["retry-after"]
        degraded = search(running, "Biene", "hybrid")["degraded"]
        assert [one["stage"] for one in degraded] == ["dense"]
        assert search(running, "Biene", "psq")["hits"]


def test_the_command_line_searches_and_rebuilds(tmp_path: Path, veco: Path) -> None:
    with server(tmp_path, encoder=veco) as running:
        fill(running)
        running.stop()
    asked = ("search", TEXTS["b"], "--collection", "c", "--data-dir", tmp_path, "--query-language", "de", "--json")
    for method in ("dense", "hybrid"):
        done = dragoman(*asked, "--method", method, encoder=veco)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert (answer["hits"][0]["id"], answer["degraded"]) == ("b", [])
    with embeddings(tmp_path) as database:
        database.execute("UPDATE document_embeddings SET vectors = zeroblob(7)")
    done = dragoman("index", "rebuild", "c", "--data-dir", tmp_path, encoder=veco)
    assert done.returncode == 0, done.stderr
    with embeddings(tmp_path) as database:
        lengths = [length for (length,) in database.execute("SELECT length(vectors) FROM document_embeddings")]
        assert len(lengths) == 3 and min(lengths) > 7
    done = dragoman("index", "rebuild", "c", "--data-dir", tmp_path, encoder=tmp_path / "nowhere")
    assert done.returncode == 2
    assert "the encoder cannot be loaded" in done.stderr
    with embeddings(tmp_path) as database:
        assert list(database.execute("SELECT * FROM document_embeddings")) == []


def test_dense_and_hybrid_are_evaluated(tmp_path: Path, veco: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_ENCODER", str(veco))
    monkeypatch.setenv("DRAGOMAN_EMBED_SECONDS", "0.1")
    table = TableFile(DEMO / "table.en-de.tsv", "en", "de")
    report = run(DEMO, "en", "de", "document", ["psq", "dense", "hybrid"], tmp_path, [table])
    systems = report["systems"]
    assert systems["psq"]["MAP@100"] > systems["dense"]["MAP@100"] > 0  # its weights are random
    assert systems["hybrid"]["R@100"] == 1.0


def test_the_evaluation_says_why_there_are_no_embeddings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_ENCODER", str(tmp_path / "nowhere"))
    with pytest.raises(BenchmarkError, match="the encoder cannot be loaded"):
        run(DEMO, "en", "de", "document", ["dense"], tmp_path)


def test_a_model_that_failed_to_load_is_not_tried_with_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    def fail(settings: Settings, shared: Any) -> Any:
        tried.append(time.monotonic())
        raise OSError("no such file\nand more")

    monkeypatch.setattr("dragoman.engine.models.model_host.LOADERS", {"encoder": fail})
    models = Models(Settings.load(), Metrics())
    for _ in range(3):
        with pytest.raises(Unavailable, match=r"the encoder cannot be loaded: no such file$"):
            models.begin_encoding("a").result(60)
    assert len(tried) == 1
    monkeypatch.setattr("dragoman.engine.models.model_host._RETRY_SECONDS", 0.0)
    with pytest.raises(Unavailable):
        models.begin_encoding("a").result(60)
    assert len(tried) == 2
    models.close()


def test_vectors_do_not_depend_on_who_shares_the_batch(veco: Path) -> None:
    models = Models(Settings.load(encoder=str(veco), torch_threads=1), Metrics())
    alone = [models.begin_encoding(text).result(60).vector for text in TEXTS.values()]
    together = [future.result(60).vector for future in models.worker.submit(_encode(), list(TEXTS.values()))]
    np.testing.assert_allclose(alone, together, atol=1e-5)
    assert models.encoder().width == 32
    models.close()


def _encode() -> Any:
    from dragoman.engine.models.models import Encode

    return Encode()


def test_an_idle_service_imports_no_model_library(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = """
import sys
from pathlib import Path
from dragoman.service.runtime import Runtime
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
import dragoman.service.app, dragoman.service.translation.endpoints
runtime = Runtime(Settings.load(data_dir=Path(sys.argv[1])))
runtime.start()
runtime.collections.create("de", "de")
runtime.collections.import_documents("de", iter([b'{"id": "1", "text": "eins"}']))
assert runtime.search.search(SearchQuery(query="eins", query_language="de"), "id").hits
runtime.close()
heavy = {"torch", "transformers", "tokenizers", "faiss"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "data")], check=True, timeout=120)
