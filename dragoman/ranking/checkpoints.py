"""MART checkpoints: a folder with `config.json`, the translation heads as safetensors, and a folder for the encoder.

Nothing is unpickled.
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
    read_file,
    read_json,
    save_veco,
    write_tensors,
)
from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.loading import load_encoder
from dragoman.files.atomic import atomic_folder
from dragoman.ranking.about import SHIPPED, RerankerAbout, shipped_names
from dragoman.ranking.mart import Mart, MartConfig

ENCODER = "encoder"


def save_mart(folder: Path, model: Mart, about: RerankerAbout) -> None:
    """Save a model atomically, with weights in bfloat16.

    Raises:
        CheckpointError: if this kind of encoder cannot be saved.
    """
    heads = {name: value.bfloat16() for name, value in model.state_dict().items() if not name.startswith("encoder.")}
    with atomic_folder(folder) as unfinished:
        known = {name: value for name, value in asdict(about).items() if name != "late"}
        config = {"model_type": "mart", "mart": asdict(model.config), **known}
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        write_tensors(unfinished, heads)
        _save_encoder(unfinished / ENCODER, model.encoder)


def _save_encoder(folder: Path, encoder: Encoder) -> None:
    if isinstance(encoder, VecoEncoder):
        save_veco(folder, encoder.model, encoder.vocabulary, {"sentence_layer": encoder.sentence_layer})
        return
    from dragoman.backbone.pretrained.huggingface import HuggingFaceEncoder  # transformers takes seconds to import

    if not isinstance(encoder, HuggingFaceEncoder):
        raise CheckpointError(f"encoders of type {type(encoder).__name__} cannot be saved")
    encoder.model.save_pretrained(folder, safe_serialization=True, max_shard_size="15MB")
    encoder.tokenizer.save_pretrained(folder)


def load_mart(name_or_path: str = "mart", device: str = "cpu") -> tuple[Mart, RerankerAbout]:
    """Load a model in evaluation mode, with its settings; `mart` is the shipped model.

    Raises:
        CheckpointError: if there is no such model, or its files are pickled, damaged or inconsistent.
    """
    folder = SHIPPED / name_or_path if name_or_path in shipped_names() else Path(name_or_path)
    config = read_json(folder / CONFIG)
    if config.get("model_type") != "mart":
        raise CheckpointError(f"{folder / CONFIG}: model_type is {config.get('model_type')!r}, not 'mart'")
    try:
        model = Mart(load_encoder(str(folder / ENCODER)), MartConfig(**config.get("mart", {})))
        about = RerankerAbout.of(config)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error
    heads = {name: value.float() for name, value in read_file(folder / WEIGHTS).items()}
    encoder = {name: value for name, value in model.state_dict().items() if name.startswith("encoder.")}
    _check_names(heads, folder)
    fill(model, encoder | heads, folder)
    return model.to(device).eval(), about


def _check_names(heads: Mapping[str, Any], folder: Path) -> None:
    wrong = [name for name in heads if name.startswith("encoder.")]
    if wrong:
        raise CheckpointError(f"{folder / WEIGHTS}: {wrong[0]} belongs in {ENCODER}")
