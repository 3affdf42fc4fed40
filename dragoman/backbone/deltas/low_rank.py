"""Low-rank updates of linear layers (LoRA; Hu et al. 2022, arXiv:2106.09685): W + B A with few parameters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LowRank(nn.Module):
    """A frozen linear layer plus a trained update of low rank, which is 0 at first."""

    def __init__(self, linear: nn.Linear, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        self.own = linear
        linear.requires_grad_(False)
        inputs, outputs = linear.in_features, linear.out_features
        self.down = nn.Parameter(torch.randn(rank, inputs, generator=generator) * inputs**-0.5)
        self.up = nn.Parameter(torch.zeros(outputs, rank))

    @property
    def bias(self) -> Tensor:
        return self.own.bias

    @property
    def weight(self) -> Tensor:
        """The layer's weight with the update merged, in the precision of the weights."""
        with torch.autocast(self.up.device.type, enabled=False):  # training evaluates under autocast
            return self.own.weight + self.up @ self.down

    def restore(self, down: Tensor, up: Tensor) -> None:
        """Take a stored update.

        Raises:
            ValueError: if it does not fit.
        """
        if self.down.shape != down.shape or self.up.shape != up.shape:
            shapes = f"{tuple(up.shape)} by {tuple(down.shape)}", f"{tuple(self.up.shape)} by {tuple(self.down.shape)}"
            raise ValueError(f"an update of {shapes[0]} does not fit one of {shapes[1]}")
        with torch.no_grad():
            self.down.copy_(down)
            self.up.copy_(up)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.own(x) + F.linear(F.linear(x, self.down), self.up)
        return out


def add_low_rank(model: nn.Module, rank: int, generator: torch.Generator, without: Sequence[str] = ()) -> None:
    """Give each linear layer below `model` an update of `rank`, but for those whose names begin as in `without`."""
    names = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    for name in names:
        if f"{name}.".startswith(tuple(without)):
            continue
        parent, _, last = name.rpartition(".")
        owner = model.get_submodule(parent)
        setattr(owner, last, LowRank(getattr(owner, last), rank, generator))


def merge(layer: nn.Module, down: Tensor, up: Tensor) -> None:
    """Add a stored update to the weight of a plain linear layer.

    Raises:
        ValueError: if it does not fit.
    """
    added = up.float() @ down.float()
    if not isinstance(layer, nn.Linear) or layer.weight.shape != added.shape:
        raise ValueError(f"an update of {tuple(added.shape)} does not fit {layer}")
    with torch.no_grad():
        layer.weight += added
