"""Embeddings that another encoder of the same name and width made: found when the service starts, and made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from dragoman.backbone.pretrained import huggingface
from dragoman.engine.settings import Settings
from dragoman.indexes.dense.file import read, read_header, write
from dragoman.service.runtime import Runtime
from tests.backbone.pretrained.hub_samples import write_checkpoints
from tests.engine.indexing.dense.test_collection import settled
from tests.support.modelling import GERMAN, ask
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

NAME = "team/encoder"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two states of one repository of the hub, which differ in a single weight."""
    before = write_checkpoints(tmp_path_factory.mktemp("hub"))["bert"]
    after = before.with_name("after")
    shutil.copytree(before, after)
    weights = load_file(after / "model.safetensors")
    weights["encoder.layer.0.attention.output.dense.weight"][0, 0] += 1.0
    save_file(weights, after / "model.safetensors", {"format": "pt"})
    return {"before": before, "after": after}


@pytest.fixture
def hub(checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets what the name stands for."""
    load = huggingface.load_hugging_face_encoder

    def publish(state: str) -> None:
        def load_named(name: str) -> huggingface.HuggingFaceEncoder:
            encoder = load(str(checkpoints[state]))
            encoder.name = name
            return encoder

        monkeypatch.setattr(huggingface, "load_hugging_face_encoder", load_named)

    return publish


@pytest.fixture
def chosen(settings: Settings) -> Settings:
    return settings.replace(encoder=NAME, embed="always")


def embed(settings: Settings) -> Path:
    """The file of a collection that is embedded, without any search."""
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        return file_of(runtime)


def file_of(runtime: Runtime) -> Path:
    settled(runtime)
    return runtime.dense.of(runtime.collections.get("de").key).path


def vectors(path: Path) -> np.ndarray:
    header = read_header(path)
    return read(path, header.collection, header.encoder)[1]["vectors"]


def test_other_weights_of_the_same_name_are_found_at_the_start(chosen: Settings, hub: Callable[[str], None]) -> None:
    hub("before")
    path = embed(chosen)
    made_by, before = read_header(path).encoder, vectors(path)
    hub("after")
    with running(chosen) as runtime:
        file_of(runtime)
    assert read_header(path).encoder != made_by
    assert vectors(path).shape == before.shape
    assert not np.allclose(vectors(path), before)


def test_embeddings_of_a_version_that_noted_the_name_alone_are_kept(
    chosen: Settings, hub: Callable[[str], None]
) -> None:
    hub("before")
    path = embed(chosen)
    header = read_header(path)
    tensors = read(path, header.collection, header.encoder)[1]
    kept = np.ascontiguousarray(tensors["vectors"][:, ::-1])  # not what the encoder would make of the texts now
    write(path, replace(header, encoder=f"{NAME}@2"), tensors | {"vectors": kept})
    with running(chosen) as runtime:
        file_of(runtime)
        assert len(ask(runtime, "Biene").hits) == 3
    assert read_header(path).encoder == header.encoder
    np.testing.assert_array_equal(vectors(path), kept)


def test_an_encoder_of_another_name_is_found_at_the_start_without_any_search(
    chosen: Settings, hub: Callable[[str], None]
) -> None:
    """Where collections are embedded on demand, no encoder is loaded as the service starts, but for this."""
    hub("before")
    path = embed(chosen)
    hub("after")
    other = chosen.replace(encoder="team/other", embed="on_demand")
    with running(other) as runtime:
        file_of(runtime)
        assert runtime.models.description("encoder") is not None
    assert read_header(path).encoder.startswith("team/other@2 ")
