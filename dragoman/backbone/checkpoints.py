"""Models on disk: a folder of `config.json`, `tokenizer.json` and safetensors, written whole or not at all.

Nothing here unpickles: a checkpoint in any other form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dragoman.backbone.faults import CheckpointError as CheckpointError
from dragoman.backbone.tokenizer import Subwords
from dragoman.backbone.veco import Veco, VecoConfig
from dragoman.files.atomic import atomic_folder

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")
SHARD_BYTES = 15 << 20


def require_safetensors(folder: Path) -> list[Path]:
    """The safetensors files of a checkpoint's folder, sorted.

    Raises:
        CheckpointError: no folder, or no safetensors in it; pickled weights are named as what they are.
    """
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: no such folder")
    paths = sorted(folder.glob("*.safetensors"))
    if paths:
        return paths
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLED)
    if pickled:
        raise CheckpointError(
            f"{folder}: its weights are pickled ({', '.join(pickled)}), and loading a pickle can run any code; "
            "convert it to safetensors first"
        )
    raise CheckpointError(f"{folder}: holds no *.safetensors file")


def read_tensors(folder: Path, device: str = "cpu") -> dict[str, Tensor]:
    """All tensors of a folder's safetensors files.

    Raises:
        CheckpointError: a damaged file, or a name in two files.
    """
    tensors: dict[str, Tensor] = {}
    for path in require_safetensors(folder):
        from_file = read_file(path, device)
        twice = sorted(set(from_file) & set(tensors))
        if twice:
            raise CheckpointError(f"{path}: {twice[0]} is in another file as well")
        tensors |= from_file
    return tensors


def read_file(path: Path, device: str = "cpu") -> dict[str, Tensor]:
    """
    Raises:
        CheckpointError: missing or damaged.
    """
    try:
        with safe_open(path, framework="pt", device=device) as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not readable as safetensors: {error}") from error


def write_tensors(folder: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to `folder`, in files of at most 15 MiB unless one tensor is larger."""
    shards: list[dict[str, Tensor]] = [{}]
    filled = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        if shards[-1] and filled + size > SHARD_BYTES:
            shards.append({})
            filled = 0
        shards[-1][name] = tensor.detach().cpu().contiguous()
        filled += size
    for index, shard in enumerate(shards, start=1):
        name = WEIGHTS if len(shards) == 1 else f"model-{index:05d}-of-{len(shards):05d}.safetensors"
        save_file(shard, folder / name, metadata=dict(metadata or {}))


def read_json(path: Path) -> dict[str, Any]:
    """
    Raises:
        CheckpointError: missing, not JSON, or not an object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: not a JSON object")
    return content


def save_veco(folder: Path, model: Veco, subwords: Subwords, about: Mapping[str, Any] | None = None) -> None:
    """Save a model with its vocabulary, weights in bfloat16; `about` (languages, training) goes into config.json."""
    tensors = {name: tensor.to(torch.bfloat16) for name, tensor in model.state_dict().items()}
    with atomic_folder(folder) as unfinished:
        config = {"model_type": "veco", **model.config.as_dict(), **(about or {})}
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        subwords.save(unfinished / TOKENIZER)
        write_tensors(unfinished, tensors)


def load_veco(folder: Path, *, cross_attention: bool | None = None) -> tuple[Veco, Subwords, dict[str, Any]]:
    """A model in float32 on the CPU, its vocabulary, and its config.json.

    `cross_attention` false leaves the decoder's part out, under a fifth of the parameters.

    Raises:
        CheckpointError: anything missing, damaged or of the wrong shape.
    """
    about = read_json(folder / CONFIG)
    if about.get("model_type") != "veco":
        raise CheckpointError(f"{folder / CONFIG}: model_type is {about.get('model_type')!r}, not 'veco'")
    config = veco_config(about, folder)
    if cross_attention is not None:
        config = VecoConfig(**{**config.as_dict(), "cross_attention": cross_attention})
    model = Veco(config)
    tensors = {name: tensor.float() for name, tensor in read_tensors(folder).items()}
    if not config.cross_attention:
        tensors = {name: tensor for name, tensor in tensors.items() if ".cross" not in name}
    fill(model, tensors, folder)
    return model.eval(), load_vocabulary(folder, config), about


def veco_config(about: Mapping[str, Any], folder: Path) -> VecoConfig:
    """
    Raises:
        CheckpointError: a size that is missing or impossible.
    """
    names = VecoConfig.__dataclass_fields__
    try:
        return VecoConfig(**{name: about[name] for name in names if name in about})
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error


def load_subwords(folder: Path, name: str = TOKENIZER) -> Subwords:
    """
    Raises:
        CheckpointError: no such file, or one that the tokenizers library refuses.
    """
    path = folder / name
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    try:
        return Subwords.load(path)
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(f"{path}: not a tokenizer: {error}") from error


def load_vocabulary(folder: Path, config: VecoConfig) -> Subwords:
    """
    Raises:
        CheckpointError: as for `load_subwords`, or more subwords than the model has embeddings.
    """
    subwords = load_subwords(folder)
    if len(subwords) > config.vocabulary:
        raise CheckpointError(
            f"{folder}: {TOKENIZER} has {len(subwords)} subwords, and the model was made for {config.vocabulary}"
        )
    return subwords


def fill(model: torch.nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Load tensors into a model, all of them and nothing else.

    Raises:
        CheckpointError: names or shapes that differ, the first few named.
    """
    try:
        model.load_state_dict(dict(tensors), strict=True)
    except RuntimeError as error:
        raise CheckpointError(f"{where}: weights don't fit the config: {' '.join(str(error).split())[:400]}") from error
