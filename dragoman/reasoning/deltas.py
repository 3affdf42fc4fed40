"""Trained parts on disk, beside the encoder they belong to: low-rank updates, biases, Q_cross and heads.

A folder holds `config.json`, which names the encoder and its checksum, and safetensors. `<layer>.<name>.down` and `.up`
are an update of the linear layer of that name, `<layer>.<name>.bias` its bias, and `head.…` the model's own layers.
`cross.<layer>.weight` is the weight of a Q_cross that was trained before, less that of the layer's own query,
`cross.<layer>.bias` its bias, and `query.<layer>.…` what was added to that query.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_json, read_tensors, write_tensors
from dragoman.backbone.deltas.base import base_of, check_base, layers_in
from dragoman.backbone.deltas.layers import apply_layer_deltas, layer_deltas
from dragoman.backbone.loading import load_encoder
from dragoman.files.atomic import atomic_folder
from dragoman.reasoning.structured_encoder import StructuredEncoder

HEAD = "head."
CROSS = "cross."
QUERY = "query."
CROSS_TYPE = "cross_query"


def deltas_of(encoder: StructuredEncoder, head: nn.Module) -> dict[str, Tensor]:
    """What training changed: updates in bfloat16, trained biases in float32, and the head."""
    deltas: dict[str, Tensor] = {f"{HEAD}{name}": tensor for name, tensor in head.state_dict().items()}
    deltas |= {f"{CROSS}{name}": tensor for name, tensor in (cross_deltas(encoder) | _still_biases(encoder)).items()}
    deltas |= {f"{QUERY}{name}": tensor for name, tensor in encoder.query_changes.items()}
    return deltas | layer_deltas(encoder.layers)


def cross_deltas(encoder: StructuredEncoder) -> dict[str, Tensor]:
    """By how much the weights of Q_cross differ from those of the encoder's own queries, in bfloat16: `3.weight`."""
    queries = encoder.queries()
    cross = {name: weight for name, weight in encoder.cross_parameters().items() if name.endswith("weight")}
    changes = {name: weight.detach() - queries[name] for name, weight in cross.items()}
    return {name: change.to(torch.bfloat16) for name, change in changes.items() if change.any()}


def _still_biases(encoder: StructuredEncoder) -> dict[str, Tensor]:
    """The biases of Q_cross that do not learn here and are not those of the own queries."""
    queries = encoder.queries()
    return {
        name: bias.detach()
        for name, bias in encoder.cross_parameters().items()
        if name.endswith("bias") and not bias.requires_grad and not torch.equal(bias, queries[name])
    }


def add_cross_deltas(encoder: StructuredEncoder, deltas: Mapping[str, Tensor]) -> None:
    """Make the weights of Q_cross those of the own queries and these differences, and take its biases from them.

    Parts that are not named stay.

    Raises:
        CheckpointError: if they do not fit.
    """
    queries = encoder.queries()
    weights = {name for name in deltas if name.endswith("weight") and name in queries}
    fitting = {name for name in weights if queries[name].shape == deltas[name].shape}
    encoder.set_cross({name: queries[name] + delta if name in fitting else delta for name, delta in deltas.items()})


def save_cross(folder: Path, encoder: StructuredEncoder, about: Mapping[str, Any]) -> None:
    """Write Q_cross alone, whole or not at all: the differences of its weights, and its biases."""
    biases = {name: bias.detach() for name, bias in encoder.cross_parameters().items() if name.endswith("bias")}
    with atomic_folder(folder) as unfinished:
        config = {"model_type": CROSS_TYPE, **about, **encoder_of(encoder)}
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        write_tensors(unfinished, cross_deltas(encoder) | biases)


def load_cross(folder: Path, encoder: StructuredEncoder, *, always_cross: bool = False) -> dict[str, Any]:
    """Give an encoder the Q_cross of a folder, and return its `config.json`.

    The queries that a baseline has learned (`"trains": "query"`) become the encoder's own, but with `always_cross`.

    Raises:
        CheckpointError: if it is missing, damaged, or of another encoder.
    """
    about = load_about(folder, CROSS_TYPE)
    check_encoder(folder, about, encoder)
    if about.get("layers") != len(encoder.layers):
        raise CheckpointError(f"{folder / CONFIG}: is of {about.get('layers')} layers, not {len(encoder.layers)}")
    tensors = read_tensors(folder)
    try:
        if about.get("trains") == "query" and not always_cross:
            encoder.change_queries(_as_changes(encoder, tensors))
        else:
            add_cross_deltas(encoder, tensors)
    except CheckpointError as error:
        raise CheckpointError(f"{folder}: {error}") from error
    return about


def _as_changes(encoder: StructuredEncoder, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What a folder of Q_cross says, as changes of the own queries: it holds biases as they are."""
    queries = encoder.queries()
    biases = {
        name
        for name in tensors
        if name.endswith("bias") and name in queries and queries[name].shape == tensors[name].shape
    }
    return {name: tensor - queries[name] if name in biases else tensor for name, tensor in tensors.items()}


def _part(deltas: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The deltas whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): delta for name, delta in deltas.items() if name.startswith(prefix)}


def apply_deltas(encoder: StructuredEncoder, head: nn.Module, deltas: Mapping[str, Tensor], where: Path) -> None:
    """Put stored deltas into an encoder that has Q_cross, and into a head.

    Raises:
        CheckpointError: if a part is missing or does not fit.
    """
    try:
        encoder.change_queries(_part(deltas, QUERY))
        add_cross_deltas(encoder, _part(deltas, CROSS))
        head.load_state_dict(_part(deltas, HEAD))
        others = (HEAD, CROSS, QUERY)
        apply_layer_deltas(
            encoder.layers, {name: delta for name, delta in deltas.items() if not name.startswith(others)}
        )
    except (RuntimeError, ValueError) as error:  # CheckpointError is a ValueError
        raise CheckpointError(f"{where}: does not fit {encoder.encoder.name}: {error}") from error


def save_deltas(folder: Path, encoder: StructuredEncoder, head: nn.Module, about: Mapping[str, Any]) -> None:
    """Write the deltas of a trained model, whole or not at all; `about` goes into `config.json`."""
    config = {**about, **encoder_of(encoder)}
    with atomic_folder(folder) as unfinished:
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        write_tensors(unfinished, deltas_of(encoder, head))


def encoder_of(encoder: StructuredEncoder) -> dict[str, Any]:
    """What a folder says of the encoder that its deltas belong to."""
    return base_of(encoder.encoder, encoder.checksum)


def load_about(folder: Path, model_type: str) -> dict[str, Any]:
    """The `config.json` of a folder of deltas.

    Raises:
        CheckpointError: if it is missing or of another kind.
    """
    about = read_json(folder / CONFIG)
    if about.get("model_type") != model_type:
        raise CheckpointError(f"{folder / CONFIG}: model_type is {about.get('model_type')!r}, not {model_type!r}")
    return about


def load_structured(folder: Path, about: Mapping[str, Any], head: nn.Module, device: str) -> StructuredEncoder:
    """The encoder that a folder names, with its deltas; `head` gets its own.

    Raises:
        CheckpointError: if the encoder is missing or another one than that of training, or the deltas do not fit it.
    """
    structured = StructuredEncoder(load_encoder(str(about.get("encoder"))))
    check_encoder(folder, about, structured)
    structured.keep_layers(layers_in(folder, about, structured.encoder))
    apply_deltas(structured, head, read_tensors(folder), folder)
    head.to(device)
    return structured.to(device).eval()


def check_encoder(folder: Path, about: Mapping[str, Any], encoder: StructuredEncoder) -> None:
    """
    Raises:
        CheckpointError: if a folder's deltas belong to another encoder.
    """
    check_base(folder, about, encoder_of(encoder))
