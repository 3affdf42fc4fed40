"""Trained bridges on disk: a folder of `config.json`, which names encoder and LLM with their checksums, and weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, fill, read_json, read_tensors, write_tensors
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.pretrained.llm import LanguageModel, load_llm
from dragoman.files.atomic import atomic_folder
from dragoman.reasoning.layalign.model import LayAlign, LayAlignConfig

MODEL_TYPE = "layalign"


def pair_of(encoder: Encoder, llm: LanguageModel) -> dict[str, Any]:
    """What identifies the models that a bridge joins."""
    return {
        "encoder": encoder.name,
        "encoder_checksum": encoder.checksum,
        "tokenizer": encoder.tokenizer_checksum,
        "llm": llm.name,
        "llm_checksum": llm.checksum,
    }


def save_bridge(folder: Path, model: LayAlign, encoder: Encoder, about: Mapping[str, Any]) -> None:
    """Write a bridge, whole or not at all; the encoder and the LLM are named, not written."""
    with atomic_folder(folder) as unfinished:
        config = {"model_type": MODEL_TYPE, **about, **asdict(model.bridge.config), **pair_of(encoder, model.llm)}
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        write_tensors(unfinished, model.bridge.state_dict())


def load_bridge(folder: Path, cache: Path, device: str = "cpu") -> tuple[LayAlign, Encoder, dict[str, Any]]:
    """A bridge with its encoder and LLM, and its `config.json`; what comes from packages is converted into `cache`.

    Raises:
        CheckpointError: if it is missing, damaged, or of another encoder or LLM.
    """
    about = read_json(folder / CONFIG)
    if about.get("model_type") != MODEL_TYPE:
        raise CheckpointError(f"{folder / CONFIG}: its model_type is {about.get('model_type')!r}, not {MODEL_TYPE!r}")
    try:
        config = LayAlignConfig(
            **{name: about[name] for name in ("adapter", "fusion", "compat", "hidden", "soft_layer")}
        )
        names = str(about["encoder"]), str(about["llm"])
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error
    encoder, llm = _pair(*names, cache, device)
    for name, expected in pair_of(encoder, llm).items():
        if about.get(name) != expected:
            raise CheckpointError(f"{folder / CONFIG}: {name} is {about.get(name)!r}, and what is here is {expected!r}")
    model = LayAlign(llm, encoder.width, encoder.layers, config).to(device)
    fill(model.bridge, read_tensors(folder), folder)
    return model.eval(), encoder, about


_llms: WeakValueDictionary[tuple[str, ...], LanguageModel] = WeakValueDictionary()
_encoders: WeakValueDictionary[tuple[str, ...], Encoder] = WeakValueDictionary()


def _pair(encoder: str, llm: str, cache: Path, device: str) -> tuple[Encoder, LanguageModel]:
    """An encoder and an LLM, both frozen, which the bridges of a process share: they take most of their memory."""
    key = (llm, str(cache), device)
    model = _llms.get(key)
    if model is None:
        model = load_llm(llm, cache)
        model.model.to(device)
        _llms[key] = model
    frozen = _encoders.get((encoder, device))
    if frozen is None:
        frozen = _encoders[encoder, device] = load_encoder(encoder, device)
    return frozen, model
