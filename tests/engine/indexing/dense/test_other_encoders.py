"""Embeddings that another encoder of the same name and width made: found when the service starts, and made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from sqlalchemy import select

from dragoman.backbone import products
from dragoman.backbone.pretrained import huggingface
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.models import DocumentEmbedding
from tests.backbone.pretrained.hub_samples import write_checkpoints
from tests.engine.indexing.dense.test_collection import settled
from tests.engine.indexing.dense.test_stored_embeddings import stored
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


def embed(settings: Settings, edit: Callable[[Runtime], None] | None = None) -> tuple[str | None, list[bytes]]:
    """What made the embeddings of a collection, and its vectors, without any search."""
    with running(settings) as runtime:
        if not runtime.source.collections():
            runtime.collections.create("de", "de")
            add(runtime, "de", *GERMAN)
        settled(runtime)
        (record,) = runtime.source.collections()
        vectors = list(stored(runtime).values())
        if edit is not None:
            edit(runtime)
        return record.encoder, vectors


def test_other_weights_of_the_same_name_are_found_at_the_start(chosen: Settings, hub: Callable[[str], None]) -> None:
    hub("before")
    made_by, before = embed(chosen)
    hub("after")
    after = embed(chosen)
    assert after[0] != made_by
    assert len(after[1]) == len(before) == 3
    assert not set(before) & set(after[1])


def test_embeddings_of_another_precision_are_made_anew(chosen: Settings, hub: Callable[[str], None]) -> None:
    hub("before")
    made_by, before = embed(chosen.replace(encoder_precision="float32"))
    other, after = embed(chosen.replace(encoder_precision="bfloat16"))
    assert made_by is not None and other == made_by.replace("float32", "bfloat16")
    assert not set(before) & set(after)
    kept = embed(chosen)  # auto: that of what is stored
    assert kept[0] in (made_by, other)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_precision_of_stored_embeddings_is_kept_unless_the_processor_lacks_it(
    chosen: Settings, hub: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    hub("before")
    before = embed(chosen.replace(encoder_precision=precision))
    seconds = {"float32": 1.0, "bfloat16": 1.0} | {precision: 100.0}  # as on a machine that is busy for a moment
    monkeypatch.setattr(products, "_seconds", lambda dtype: seconds[str(dtype).removeprefix("torch.")])
    products.fastest.cache_clear()
    assert embed(chosen) == before
    monkeypatch.setattr(products, "runs", lambda device, dtype: str(dtype) != f"torch.{precision}")
    products.fastest.cache_clear()
    made_by, _ = embed(chosen)
    products.fastest.cache_clear()
    assert made_by is not None and not made_by.endswith(precision)


@pytest.mark.parametrize("earlier", [f"{NAME}@2", None])
def test_embeddings_of_earlier_versions_are_kept(
    chosen: Settings, hub: Callable[[str], None], earlier: str | None
) -> None:
    """They noted the name alone, and later no precision. What is stored is not what would be made of the texts now."""
    hub("before")

    def write(runtime: Runtime) -> None:
        (record,) = runtime.source.collections()
        assert record.encoder is not None
        runtime.source.rename_encoder(record.id, earlier or record.encoder.rpartition(" ")[0])
        with runtime.store.write() as session:
            for row in session.scalars(select(DocumentEmbedding)):
                row.vectors = np.frombuffer(row.vectors, np.float32)[::-1].tobytes()
                row.checksum = None

    made_by, before = embed(chosen, write)
    with running(chosen) as runtime:
        settled(runtime)
        changed = list(stored(runtime).values())
        assert len(ask(runtime, "Biene").hits) == 3
        (record,) = runtime.source.collections()
    assert record.encoder == made_by
    assert not set(before) & set(changed)


def test_an_encoder_of_another_name_is_found_at_the_start_without_any_search(
    chosen: Settings, hub: Callable[[str], None]
) -> None:
    """Where collections are embedded on demand, no encoder is loaded as the service starts, but for this."""
    hub("before")
    embed(chosen)
    hub("after")
    other = chosen.replace(encoder="team/other", embed="on_demand")
    made_by, _ = embed(other)
    assert made_by is not None and made_by.startswith("team/other@2 ")
