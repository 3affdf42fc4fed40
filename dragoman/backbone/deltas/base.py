"""Which encoder deltas belong to, as the `config.json` beside them says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.backbone.checkpoints import CONFIG, CheckpointError
from dragoman.backbone.encoder import Encoder


def encoder_checksum(encoder: Encoder) -> str:
    """Identifies an encoder's weights, all of them; compute it before any is changed or dropped."""
    return encoder.checksum or _digest(encoder)


def base_of(encoder: Encoder, checksum: str) -> dict[str, Any]:
    """What a folder says of the encoder that its deltas belong to, and how many of its layers are used."""
    identity = {"encoder": encoder.name, "encoder_checksum": checksum, "tokenizer": encoder.tokenizer_checksum}
    return {**identity, "layers": encoder.layers}


def check_base(folder: Path, about: Mapping[str, Any], base: Mapping[str, Any]) -> None:
    """
    Raises:
        CheckpointError: if a folder's deltas (its `config.json` is `about`) belong to another encoder than `base`.
    """
    for name in ("encoder_checksum", "tokenizer"):
        if about.get(name) != base[name]:
            raise CheckpointError(f"{folder / CONFIG}: was trained with another {base['encoder']}: {name} differs")


def layers_in(folder: Path, about: Mapping[str, Any], encoder: Encoder) -> int:
    """How many layers of an encoder a folder's deltas are of; all, if it does not say.

    Raises:
        CheckpointError: if it is no number.
    """
    layers = about.get("layers", encoder.layers)
    if not isinstance(layers, int) or isinstance(layers, bool):
        raise CheckpointError(f"{folder / CONFIG}: layers is {layers!r}")
    return layers


def _digest(encoder: Encoder) -> str:
    """A digest of the weights; transformers makes up those of a pooler that a checkpoint lacks, which is not used."""
    digest = hashlib.sha256()
    for name, tensor in sorted(encoder.state_dict().items()):
        if ".pooler." in name:
            continue
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
