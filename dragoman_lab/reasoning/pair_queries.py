"""One Q_cross for each pair of languages (Foroutan et al. 2023, "Pair"): its weights are changed as texts are read."""

from __future__ import annotations

from pathlib import Path

import torch

from dragoman.backbone.checkpoints import read_tensors
from dragoman.reasoning.structured_encoder import StructuredEncoder


class PairQueries:
    """Changes the weights of Q_cross to those of a pair of languages; its biases stay as trained."""

    def __init__(self, encoder: StructuredEncoder, trained: Path) -> None:
        """`trained` is the folder of the Q_cross that `encoder` was trained on a task with.

        Raises:
            CheckpointError: it cannot be read.
        """
        self._encoder = encoder
        self._weights = {
            name: weight.clone() for name, weight in encoder.cross_parameters().items() if name.endswith("weight")
        }
        self._trained = _weights(trained)

    def take(self, folder: Path) -> None:
        """Take the Q_cross of a folder: what it adds to the encoder's queries replaces what the trained one adds.

        Raises:
            CheckpointError: it cannot be read.
        """
        other, zero = _weights(folder), torch.zeros(())
        self._encoder.set_cross(
            {
                name: weight - self._trained.get(name, zero) + other.get(name, zero)
                for name, weight in self._weights.items()
            }
        )


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    return {name: weight.float() for name, weight in read_tensors(folder).items() if name.endswith("weight")}
