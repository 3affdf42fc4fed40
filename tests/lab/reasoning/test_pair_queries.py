"""Q_cross of one pair of languages in the place of another's, in a reader that has learned a task."""

from __future__ import annotations

from pathlib import Path

import torch

from dragoman.backbone.encoder import Encoder
from dragoman.reasoning.deltas import load_cross, save_cross
from dragoman.reasoning.structured_encoder import StructuredEncoder
from dragoman_lab.reasoning.pair_queries import PairQueries


def learned(encoder: StructuredEncoder, seed: int, folder: Path) -> None:
    """Changes weights and biases of Q_cross by chance, and saves it."""
    generator = torch.Generator().manual_seed(seed)
    encoder.set_cross(
        {
            name: value + 0.1 * torch.randn(value.shape, generator=generator).bfloat16()
            for name, value in encoder.cross_parameters().items()
        }
    )
    save_cross(folder, encoder, {"layers": len(encoder.layers)})


def test_what_another_pair_added_to_the_queries_takes_the_place_of_the_trained(
    encoder: Encoder, tmp_path: Path
) -> None:
    structured = StructuredEncoder(encoder)
    copied = {name: value.clone() for name, value in structured.cross_parameters().items()}
    learned(structured, 1, tmp_path / "fr")
    structured.set_cross(copied)
    learned(structured, 2, tmp_path / "de")
    structured.set_cross(copied)
    load_cross(tmp_path / "fr", structured)
    of_task = {  # what a task adds to all of Q_cross stays with every pair
        name: value + 0.5 if name.endswith("bias") else value - 0.25
        for name, value in structured.cross_parameters().items()
    }
    structured.set_cross(of_task)
    pairs = PairQueries(structured, tmp_path / "fr")

    pairs.take(tmp_path / "de")
    swapped = {name: value.clone() for name, value in structured.cross_parameters().items()}
    structured.set_cross(copied)
    load_cross(tmp_path / "de", structured)
    for name, value in structured.cross_parameters().items():
        expected = of_task[name] if name.endswith("bias") else value - 0.25
        torch.testing.assert_close(swapped[name], expected, atol=1e-6, rtol=0)

    structured.set_cross(swapped)
    pairs.take(tmp_path / "fr")
    for name, value in structured.cross_parameters().items():
        torch.testing.assert_close(value, of_task[name], atol=1e-6, rtol=0)
