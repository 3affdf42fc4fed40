"""Checkpoints that would run code: pickled weights, code of their own, a tokenizer with code; none is ever run."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.ranking.scoring import load_scorer
from tests.support.backbones import tiny_bert, tiny_t5
from tests.support.errorbody import check_error
from tests.support.searching import ndjson
from tests.support.serving import Server, server

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}


class Canary:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def pickled(folder: Path, canary: Path) -> None:
    for path in folder.rglob("*.safetensors"):
        path.unlink()
        path.with_name("pytorch_model.bin").write_bytes(pickle.dumps({"weight": Canary(canary)}))


def pickled_under_a_good_name(folder: Path, canary: Path) -> None:
    for path in folder.rglob("*.safetensors"):
        path.write_bytes(pickle.dumps({"weight": Canary(canary)}))


def with_code(folder: Path, canary: Path) -> None:
    own = {
        "AutoConfig": "own.Own",
        "AutoModel": "own.Own",
        "AutoModelForSeq2SeqLM": "own.Own",
        "AutoTokenizer": "own.Own",
    }
    for config in [path for path in folder.rglob("config.json") if path.parent.name != "mart"]:
        (config.parent / "own.py").write_text(f"import os\nos.mkdir({str(canary)!r})\nclass Own: pass\n")
        about = json.loads(config.read_text()) | {"model_type": "own", "auto_map": own}
        config.write_text(json.dumps(about))


def with_a_tokenizer_of_code(folder: Path, canary: Path) -> None:
    for config in [path for path in folder.rglob("config.json") if path.parent.name != "mart"]:
        (config.parent / "own.py").write_text(f"import os\nos.mkdir({str(canary)!r})\nclass Own: pass\n")
        (config.parent / "tokenizer.json").unlink()
        about = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}}
        (config.parent / "tokenizer_config.json").write_text(json.dumps(about))


@pytest.mark.parametrize("poison", [pickled, pickled_under_a_good_name, with_code, with_a_tokenizer_of_code])
def test_no_model_of_the_service_runs_code_of_its_checkpoint(
    tmp_path: Path, poison: Callable[[Path, Path], None]
) -> None:
    canary = tmp_path / "sprung"
    encoder, translator = tiny_bert(tmp_path / "bert"), tiny_t5(tmp_path / "t5")
    reranker = tmp_path / "mart"
    reranker.mkdir()
    (reranker / "config.json").write_text(json.dumps({"model_type": "mart", "mart": {"mat_layers": [0]}}))
    shutil.copytree(encoder, reranker / "encoder")
    for folder in (encoder, translator, reranker):
        poison(folder, canary)
    with pytest.raises(CheckpointError):  # for which a service does not start
        load_scorer(str(reranker))
    with server(tmp_path / "data", encoder=encoder, translator=translator) as running:
        check_refused(running)
        assert running.client.get("/healthz").status_code == 200
    assert not canary.exists()


def check_refused(running: Server) -> None:
    client = running.client
    client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
    body = ndjson([{"id": "a", "text": "Eine Biene fliegt."}])
    client.post("/v1/collections/c/documents", content=body, headers=NDJSON).raise_for_status()
    asked = {"query": "Biene", "query_language": "de"}
    check_error(client.post("/v1/search", json=asked | {"method": "dense"}), 503, "the encoder cannot be loaded")
    translation = {"text": "Biene", "source": "de", "target": "en"}
    check_error(client.post("/v1/translate", json=translation), 503, "the translator cannot be loaded")
