"""MART checkpoints: a folder with `config.json`, and the model's own layers as safetensors.

An encoder of which all was trained is in a folder of its own. Of a frozen one `config.json` has the name and the
checksum, and the safetensors what training changed in its layers, as `layers.<layer>.<module>.…`. Nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.backbone.checkpoints import (
    CONFIG,
    WEIGHTS,
    CheckpointError,
    fill,
    read_json,
    read_tensors,
    save_veco,
    write_tensors,
)
from dragoman.backbone.deltas.base import base_of, check_base, encoder_checksum, layers_in
from dragoman.backbone.deltas.layers import apply_layer_deltas, keep_layers, layer_deltas, layers_of
from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.loading import load_encoder
from dragoman.files.atomic import atomic_folder
from dragoman.ranking.about import RerankerAbout, folder_of
from dragoman.ranking.mart import Mart, MartConfig

ENCODER = "encoder"
LAYERS = "layers."


def save_mart(folder: Path, model: Mart, about: RerankerAbout, base: Mapping[str, Any] | None = None) -> None:
    """Save a model atomically, with weights in bfloat16.

    With `base`, which names a frozen encoder (see `base_of`), only what training changed in its layers is saved of it.

    Raises:
        CheckpointError: if this kind of encoder cannot be saved.
    """
    tensors = {
        name: tensor.bfloat16() for name, tensor in model.state_dict().items() if not name.startswith("encoder.")
    }
    if base is not None:
        tensors |= {f"{LAYERS}{name}": tensor for name, tensor in layer_deltas(layers_of(model.encoder)).items()}
    with atomic_folder(folder) as unfinished:
        settings = {name: setting for name, setting in asdict(about).items() if name != "late"}
        config = {"model_type": "mart", "mart": asdict(model.config), **(base or {}), **settings}
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        write_tensors(unfinished, tensors)
        if base is None:
            _save_encoder(unfinished / ENCODER, model.encoder)


def _save_encoder(folder: Path, encoder: Encoder) -> None:
    check_whole(encoder)
    if isinstance(encoder, VecoEncoder):
        save_veco(folder, encoder.model, encoder.vocabulary, {"sentence_layer": encoder.sentence_layer})
        return
    pretrained: Any = encoder
    pretrained.model.save_pretrained(folder, safe_serialization=True, max_shard_size="15MB")
    pretrained.tokenizer.save_pretrained(folder)


def check_whole(encoder: Encoder) -> None:
    """
    Raises:
        CheckpointError: if this kind of encoder cannot be saved whole.
    """
    if isinstance(encoder, VecoEncoder):
        return
    from dragoman.backbone.pretrained.huggingface import HuggingFaceEncoder  # transformers takes seconds to import

    if not isinstance(encoder, HuggingFaceEncoder):
        raise CheckpointError(f"{encoder.name}: its weights cannot be saved, only updates of low rank (`rank`)")


def load_mart(name_or_path: str = "mart", device: str = "cpu") -> tuple[Mart, RerankerAbout]:
    """Load a model in evaluation mode, with its settings; `mart` is the shipped model.

    Raises:
        CheckpointError: if there is no such model, or its files are pickled, damaged or inconsistent.
    """
    folder = folder_of(name_or_path)
    config = read_json(folder / CONFIG)
    if config.get("model_type") != "mart":
        raise CheckpointError(f"{folder / CONFIG}: model_type is {config.get('model_type')!r}, not 'mart'")
    try:
        model = _build_untrained(folder, config)
        about = RerankerAbout.of(config)
    except CheckpointError:
        raise
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error
    fill_mart(model, folder)
    return model.to(device).eval(), about


def _build_untrained(folder: Path, config: Mapping[str, Any]) -> Mart:
    settings = MartConfig(**config.get("mart", {}))
    if "encoder" not in config:
        return Mart(load_encoder(str(folder / ENCODER)), settings)
    encoder = load_encoder(str(config["encoder"]))
    check_base(folder, config, base_of(encoder, encoder_checksum(encoder)))
    keep_layers(encoder, layers_in(folder, config, encoder))
    return Mart(encoder, settings)


def fill_mart(model: Mart, folder: Path) -> None:
    """Give a model the weights of a folder; updates of an encoder's layers are merged, or restored where they learn.

    Raises:
        CheckpointError: if the files are damaged or do not fit.
    """
    tensors = {name: tensor.float() for name, tensor in read_tensors(folder).items()}
    if wrong := [name for name in tensors if name.startswith("encoder.")]:
        raise CheckpointError(f"{folder / WEIGHTS}: {wrong[0]} belongs in {ENCODER}")
    if "encoder" in read_json(folder / CONFIG):
        updates = {name: tensors.pop(name) for name in list(tensors) if name.startswith(LAYERS)}
        try:
            layers = layers_of(model.encoder)
            apply_layer_deltas(layers, {name.removeprefix(LAYERS): tensor for name, tensor in updates.items()})
        except CheckpointError as error:
            raise CheckpointError(f"{folder}: does not fit {model.encoder.name}: {error}") from error
    encoder = {name: tensor for name, tensor in model.state_dict().items() if name.startswith("encoder.")}
    fill(model, encoder | tensors, folder)
