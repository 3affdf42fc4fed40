"""Folders and repositories of sentence-transformers: what their files say about pooling, prompts and sizes.

`modules.json` lists the modules: a transformer, pooling, then dense layers and normalisation. Nothing else is
supported, and no code in a checkpoint is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_file, read_json
from dragoman.backbone.pooling import Mode, Pooling, UnitNorm
from dragoman.backbone.pretrained.hub import file_of

MODULES = "modules.json"
_MODES: dict[str, Mode] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
    "mean": "mean",
    "cls": "cls",
    "lasttoken": "lasttoken",
}
"""By the names of earlier and of later versions."""
_ACTIVATIONS = {kind.__name__: kind for kind in (nn.Identity, nn.Tanh, nn.ReLU, nn.GELU, nn.Sigmoid)}
_LENGTHS = tuple(f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "xlm-roberta", "distilbert"))
_PASSAGE_PROMPTS = ("document", "passage", "corpus")


class SentenceFiles(NamedTuple):
    """What the files say."""

    transformer: str
    """Where the transformer is in the folder; empty for the folder itself."""
    pooling: Pooling
    prompts: Mapping[str, str]
    """What precedes a `query` and a `passage`; nothing where the files name none."""
    max_length: int | None
    """The longest row, if it is limited."""


def read_sentence_files(name_or_path: str) -> SentenceFiles | None:
    """What the files of an encoder say; None if it is none of sentence-transformers.

    Raises:
        CheckpointError: it has modules that are not supported, or a file is damaged.
    """
    listed = file_of(name_or_path, MODULES)
    if listed is None:
        return None
    modules = [(_kind(module), str(module.get("path", ""))) for module in _read_list(listed)]
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) - {"Dense", "Normalize"}:
        raise CheckpointError(
            f"{listed}: its modules are {', '.join(kinds)}; Transformer and Pooling, then Dense and Normalize, are read"
        )
    transformer = modules[0][1]
    after = [layer for kind, path in modules[2:] for layer in _layers(name_or_path, kind, path)]
    normalized = bool(after) and isinstance(after[-1], UnitNorm)
    steps = after[:-1] if normalized else after
    mode, include_prompt = _read_pooling(name_or_path, modules[1][1])
    about = _read_config(name_or_path, "config_sentence_transformers.json")
    pooling = Pooling(
        mode,
        include_prompt,
        head=nn.Sequential(*steps).eval() if steps else None,
        normalized=normalized,
        sizes=_sizes(name_or_path, about, _read_config(name_or_path, _inside(transformer, CONFIG))),
        joint_prompts=True,
    )
    return SentenceFiles(transformer, pooling, _prompts(about), _max_length(name_or_path, transformer))


def _kind(module: Any) -> str:
    return str(module.get("type", "")).rpartition(".")[2] if isinstance(module, dict) else ""


def _inside(folder: str, file: str) -> str:
    return f"{folder}/{file}" if folder else file


def _read_list(path: Path) -> list[Any]:
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: not readable as JSON: {error}") from error
    if not isinstance(modules, list):
        raise CheckpointError(f"{path}: not a list of modules")
    return modules


def _read_config(name_or_path: str, path: str) -> Mapping[str, Any]:
    """A file's JSON object; empty if there is no such file."""
    file = file_of(name_or_path, path)
    return {} if file is None else read_json(file)


def _read_pooling(name_or_path: str, folder: str) -> tuple[Mode, bool]:
    place = _inside(folder, CONFIG)
    config = _read_config(name_or_path, place)
    named = config.get("pooling_mode")
    if named is None:
        named = [name for name, chosen in config.items() if name.startswith("pooling_mode_") and chosen is True]
    modes = [named] if isinstance(named, str) else list(named)
    if len(modes) != 1 or modes[0] not in _MODES:
        shown = ", ".join(map(str, modes)) or "none"
        raise CheckpointError(f"{name_or_path}: {place}: pooling {shown}; mean, cls or lasttoken alone is supported")
    return _MODES[modes[0]], config.get("include_prompt", True) is not False


def _layers(name_or_path: str, kind: str, folder: str) -> list[nn.Module]:
    """The layers of a module after pooling."""
    if kind == "Normalize":
        return [UnitNorm()]
    config = _read_config(name_or_path, _inside(folder, CONFIG))
    named = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    module, _, activation = named.rpartition(".")
    file = file_of(name_or_path, _inside(folder, "model.safetensors"))
    if (
        not module.startswith("torch.nn.")
        or activation not in _ACTIVATIONS
        or config.get("use_residual")
        or file is None
    ):
        raise CheckpointError(f"{name_or_path}: {folder}: no dense layer with safetensors and a known activation")
    tensors = read_file(file)
    weight, bias = tensors.get("linear.weight"), tensors.get("linear.bias")
    if weight is None or weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise CheckpointError(f"{file}: no weights of a dense layer")
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    linear.load_state_dict(
        {name: part.float() for name, part in (("weight", weight), ("bias", bias)) if part is not None}
    )
    return [linear, _ACTIVATIONS[activation]()]


def _prompts(about: Mapping[str, Any]) -> dict[str, str]:
    prompts = about.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str | None) for prompt in prompts.values()):
        raise CheckpointError("config_sentence_transformers.json: prompts are texts by name")
    usual = prompts.get(about.get("default_prompt_name") or "")
    passage = next((prompts[name] for name in _PASSAGE_PROMPTS if prompts.get(name)), None)
    query = prompts.get("query", usual)
    if passage is None and not any(name in prompts for name in _PASSAGE_PROMPTS):
        passage = usual
    return {kind: prompt for kind, prompt in (("query", query), ("passage", passage)) if prompt}


def _max_length(name_or_path: str, transformer: str) -> int | None:
    for name in _LENGTHS:
        config = _read_config(name_or_path, _inside(transformer, name))
        if config.get("do_lower_case"):
            raise CheckpointError(f"{name_or_path}: {name}: do_lower_case is not supported")
        length = config.get("max_seq_length")
        if isinstance(length, int) and not isinstance(length, bool) and length > 0:
            return length
    return None


def _sizes(name_or_path: str, *configs: Mapping[str, Any]) -> tuple[int, ...]:
    """The sizes that the vectors may be cut to, where training named them."""
    for config in configs:
        sizes = config.get("matryoshka_dimensions") or config.get("matryoshka_dims")
        if sizes is None:
            continue
        if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
            raise CheckpointError(f"{name_or_path}: matryoshka_dimensions: {sizes!r} are not sizes")
        return tuple(sorted(set(sizes)))
    return ()
