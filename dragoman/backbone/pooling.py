"""How the states of a text's tokens become its vector, as the files of a sentence encoder say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

Mode = Literal["mean", "cls", "lasttoken"]


class UnitNorm(nn.Module):
    """Scales vectors to length 1."""

    def forward(self, vectors: Tensor) -> Tensor:
        return nn.functional.normalize(vectors, dim=-1)


@dataclass(frozen=True)
class Pooling:
    """From states to a vector: the mean of all tokens, the first one or the last one, and what follows."""

    mode: Mode = "mean"
    include_prompt: bool = True
    """Whether what precedes a text counts as well."""
    head: nn.Sequential | None = None
    """Layers after pooling."""
    normalized: bool = True
    """Whether the vectors have length 1; search takes them so in any case."""
    sizes: tuple[int, ...] = ()
    """Sizes that a vector may be cut to (Kusupati et al. 2022, arXiv:2205.13147), ascending."""
    joint_prompts: bool = False
    """Whether a text is tokenized together with what precedes it."""

    def sum_states(self, states: Tensor, start: int) -> tuple[Tensor, int]:
        """The sum (W,) of a row's states (length, W) that count, and how many they are; the text begins at `start`."""
        counted = states if self.include_prompt else states[start:]
        if self.mode == "mean":
            return counted.float().sum(0), len(counted)
        return counted[0 if self.mode == "cls" else -1].float(), 1

    def width(self, width: int) -> int:
        """The width of the vectors, of states of a `width`."""
        for layer in self.head or ():
            width = layer.out_features if isinstance(layer, nn.Linear) else width
        return width

    def finish(self, pooled: Tensor) -> Tensor:
        """The vectors (texts, width) of pooled states (texts, W), as the files say."""
        with torch.inference_mode(), torch.autocast(pooled.device.type, enabled=False):
            vectors: Tensor = pooled if self.head is None else self.head(pooled)
            return nn.functional.normalize(vectors, dim=-1) if self.normalized else vectors
