"""Trained parts on disk, beside the encoder they belong to: low-rank updates, biases, Q_cross and heads.

A folder holds `config.json`, which names the encoder and its checksum, and safetensors. `<layer>.<name>.down` and `.up`
are an update of the linear layer of that name, `<layer>.<name>.bias` its bias, and `head.…` the model's own layers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_json, read_tensors, write_tensors
from dragoman.backbone.loading import load_encoder
from dragoman.files.atomic import atomic_folder
from dragoman.reasoning.low_rank import LowRank, merge
from dragoman.reasoning.structured_encoder import StructuredEncoder

HEAD = "head."


def deltas_of(encoder: StructuredEncoder, head: nn.Module) -> dict[str, Tensor]:
    """What training changed: updates in bfloat16, trained biases in float32, and the head."""
    found: dict[str, Tensor] = {f"{HEAD}{name}": value for name, value in head.state_dict().items()}
    for number, layer in enumerate(encoder.layers):
        for name, module in layer.named_modules():
            if isinstance(module, LowRank):
                found[f"{number}.{name}.down"] = module.down.detach().to(torch.bfloat16)
                found[f"{number}.{name}.up"] = module.up.detach().to(torch.bfloat16)
            bias = getattr(module, "bias", None)
            if isinstance(bias, nn.Parameter | Tensor) and bias.requires_grad and not name.endswith(".own"):
                found[f"{number}.{name}.bias"] = bias.detach().float()
    return found


def apply_deltas(encoder: StructuredEncoder, head: nn.Module, deltas: Mapping[str, Tensor], where: Path) -> None:
    """Put stored deltas into an encoder that has Q_cross, and into a head.

    Raises:
        CheckpointError: if a part is missing or does not fit.
    """
    layers: Any = nn.ModuleList(encoder.layers)
    own = {name.removeprefix(HEAD): value for name, value in deltas.items() if name.startswith(HEAD)}
    try:
        head.load_state_dict(own)
        for name, value in deltas.items():
            path, _, part = name.rpartition(".")
            if name.startswith(HEAD) or part == "down":
                continue
            module = layers.get_submodule(path)
            if part == "up":
                merge(module, deltas[f"{path}.down"], value)
            else:
                if module.bias.shape != value.shape:
                    raise ValueError(f"{name} has the shape {tuple(value.shape)}")
                with torch.no_grad():
                    module.bias.copy_(value)
    except (AttributeError, KeyError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"{where}: does not fit {encoder.encoder.name}: {error}") from error


def save_deltas(folder: Path, encoder: StructuredEncoder, head: nn.Module, about: Mapping[str, Any]) -> None:
    """Write the deltas of a trained model, whole or not at all; `about` goes into `config.json`."""
    own = encoder.encoder
    config = {**about, "encoder": own.name, "encoder_checksum": encoder.checksum, "tokenizer": own.tokenizer_checksum}
    with atomic_folder(folder) as unfinished:
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        write_tensors(unfinished, deltas_of(encoder, head))


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
    encoder = load_encoder(str(about.get("encoder")))
    structured = StructuredEncoder(encoder)
    for name, found in (("encoder_checksum", structured.checksum), ("tokenizer", encoder.tokenizer_checksum)):
        if about.get(name) != found:
            raise CheckpointError(f"{folder / CONFIG}: was trained with another {encoder.name}: {name} differs")
    apply_deltas(structured, head, read_tensors(folder), folder)
    head.to(device)
    return structured.to(device).eval()
