"""Tiny backbones for the service: real ones, with weights that nobody has trained."""

from __future__ import annotations

from pathlib import Path

import torch

from dragoman.backbone.checkpoints import save_veco
from dragoman.backbone.text_files import TextFile
from dragoman.backbone.tokenizer import train_subwords
from dragoman.backbone.veco import Veco, VecoConfig

_LINES = """Der Vulkan spuckt Asche.
The volcano spews ash.
Nyuki huruka.
Schiffe liegen im Hafen.
Ships at anchor.
A bee flies over the meadow.
Eine Biene fliegt über die Wiese.
Mlima mrefu.
"""


def tiny_veco(folder: Path, seed: int = 0, width: int = 32) -> Path:
    """Save a backbone of two layers as ``folder``."""
    text = folder.parent / f"en.{folder.name}.txt"
    text.write_text(_LINES * 20, encoding="utf-8")
    subwords = train_subwords([TextFile(text, ("en",))], 400, characters=20_000)
    torch.manual_seed(seed)
    model = Veco(VecoConfig(len(subwords), width=width, layers=2, heads=2, feed_forward=64, max_length=64))
    save_veco(folder, model, subwords, {"languages": ["en", "de", "sw"]})
    return folder
