"""How a training begins with the weights of an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CheckpointError, fill, read_file
from dragoman.backbone.deltas.low_rank import LowRank
from dragoman.reasoning.spans import SpanReader
from dragoman.reasoning.statements import StatementReader
from dragoman.reasoning.structured_encoder import plain

Model = SpanReader | StatementReader


def begin_with_weights(model: nn.Module, output: Path) -> None:
    """Give a model, all of which is trained, the best weights of a training.

    Raises:
        CheckpointError: if there are none, or they are of another shape.
    """
    path = output / "best" / "model.safetensors"
    fill(model, read_file(path), path)


def begin_with(model: Model, output: Path, *, cross: bool = False, follow: bool = False) -> None:
    """Give a model the best weights of a training: with Q_cross, without it, or with it moved as Q was (`follow`).

    Raises:
        CheckpointError: if there are none, they are of another shape, or of another encoder.
    """
    path = output / "best" / "model.safetensors"
    biases = [_queries(block).bias.detach().clone() for block in model.encoder.attention]
    taken = {name: tensor for name, tensor in read_file(path).items() if cross or not _of_cross(name)}
    weights = {
        name: tensor for name, tensor in model.state_dict(keep_vars=True).items() if cross or not _of_cross(name)
    }
    if differing := sorted(taken.keys() ^ weights.keys()):
        raise CheckpointError(f"{path}: does not fit: {differing[0]} is on one side alone")
    for name, tensor in weights.items():
        if taken[name].shape != tensor.shape:
            raise CheckpointError(f"{path}: does not fit: {name} is {tuple(taken[name].shape)}")
        # The own queries of a baseline may be others, as Q_cross may.
        if not tensor.requires_grad and not _of_query(name) and not torch.equal(taken[name], tensor.cpu()):
            raise CheckpointError(f"{path}: does not fit: {name} is another one, and does not learn here")
    with torch.no_grad():
        for name, tensor in weights.items():
            if tensor.requires_grad:
                tensor.copy_(taken[name])
    if follow:
        _follow(model, biases)


def _of_cross(name: str) -> bool:
    return ".cross." in name


def _of_query(name: str) -> bool:
    return "attention.in_projection." in name or "attention.self.own.query." in name


def _queries(block: Any) -> Any:
    """The layer that gives Q, first of all that it gives."""
    return block.in_projection if hasattr(block, "in_projection") else block.query


def _follow(model: Model, biases: Sequence[Tensor]) -> None:
    """Add to Q_cross by how much Q differs from the encoder's own, whose biases are given."""
    with torch.no_grad():
        for block, bias in zip(model.encoder.attention, biases, strict=True):
            queries, cross = _queries(block), plain(block.cross)
            width = cross.out_features
            cross.bias.add_((queries.bias - bias)[:width])
            if isinstance(queries, LowRank):
                cross.weight.add_(queries.up[:width] @ queries.down)
