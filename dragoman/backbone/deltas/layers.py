"""The layers of an encoder, and what training changes in them: updates of low rank and biases.

By name, `<layer>.<module>.down` and `.up` are an update of a linear layer, and `<layer>.<module>.bias` is its bias, or
that of a norm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.deltas.low_rank import LowRank, add_low_rank, merge
from dragoman.backbone.encoder import Encoder, NativeEncoder

DECODER = ("cross.", "cross_norm.")
"""Parts of a layer of our backbone that only the decoder path uses."""


def layers_of(encoder: Encoder) -> list[Any]:
    """The modules of an encoder's layers.

    Raises:
        CheckpointError: if they are not BERT's.
    """
    if isinstance(encoder, NativeEncoder):
        return list(encoder.model.layers)
    layers = getattr(getattr(getattr(encoder, "model", None), "encoder", None), "layer", ())
    if not layers or not all(hasattr(getattr(layer, "attention", None), "self") for layer in layers):
        raise CheckpointError(f"{encoder.name}: its layers are not BERT's")
    return list(layers)


def keep_layers(encoder: Encoder, count: int) -> list[Any]:
    """Drop the layers above the first `count`, and return those that are kept.

    Raises:
        CheckpointError: if there are not so many, or they are not BERT's.
    """
    layers = layers_of(encoder)
    if not 0 < count <= len(layers):
        raise CheckpointError(f"{encoder.name}: has {len(layers)} layers, not {count}")
    if count < len(layers):
        layers = layers[:count]
        lower = nn.ModuleList(layers)
        if isinstance(encoder, NativeEncoder):
            encoder.model.layers = lower
        else:
            encoder.model.encoder.layer = lower  # type: ignore[union-attr]
        encoder.layers = count
        encoder.sentence_layer = min(encoder.sentence_layer, count)
    return layers


def let_learn(
    layers: Sequence[nn.Module],
    rank: int,
    generator: torch.Generator,
    *,
    without: Sequence[str] = (),
    still: Sequence[str] = (),
) -> None:
    """Give frozen layers updates of `rank` (0 for none) that learn, and let their biases learn.

    Modules whose names begin as in `without` get no update, and those as in `still` keep their biases; nothing of the
    decoder path learns.
    """
    for layer in layers:
        if rank:
            add_low_rank(layer, rank, generator, [*DECODER, *without])
        for name, parameter in layer.named_parameters():
            learns = name.endswith("bias") and not name.startswith((*DECODER, *still))
            parameter.requires_grad_(parameter.requires_grad or learns)


def layer_deltas(layers: Sequence[nn.Module]) -> dict[str, Tensor]:
    """What training changed in layers: updates in bfloat16, biases that learn in float32."""
    deltas: dict[str, Tensor] = {}
    for index, layer in enumerate(layers):
        for name, module in layer.named_modules():
            if isinstance(module, LowRank):
                deltas[f"{index}.{name}.down"] = module.down.detach().to(torch.bfloat16)
                deltas[f"{index}.{name}.up"] = module.up.detach().to(torch.bfloat16)
            bias = getattr(module, "bias", None)
            if isinstance(bias, nn.Parameter | Tensor) and bias.requires_grad and not name.endswith(".own"):
                deltas[f"{index}.{name}.bias"] = bias.detach().float()
    return deltas


def apply_layer_deltas(layers: Sequence[nn.Module], deltas: Mapping[str, Tensor]) -> None:
    """Merge stored deltas into the weights of plain layers, or restore those of layers that learn.

    Raises:
        CheckpointError: if a part is missing or does not fit.
    """
    modules: Any = nn.ModuleList(layers)
    try:
        for name, delta in deltas.items():
            path, _, part = name.rpartition(".")
            if part == "down":
                if f"{path}.up" not in deltas:
                    raise ValueError(f"{path}.up is missing")
                continue
            module = modules.get_submodule(path)
            if part == "up" and isinstance(module, LowRank):
                module.restore(deltas[f"{path}.down"], delta)
            elif part == "up":
                merge(module, deltas[f"{path}.down"], delta)
            else:
                if module.bias.shape != delta.shape:
                    raise ValueError(f"{name} has the shape {tuple(delta.shape)}")
                with torch.no_grad():
                    module.bias.copy_(delta)
    except (AttributeError, KeyError, RuntimeError, ValueError) as error:
        raise CheckpointError(str(error)) from error
