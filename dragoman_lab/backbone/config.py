"""Training configuration: text, sizes and learning rates from a validated TOML file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

from dragoman.backbone.encoder import Encoder
from dragoman_lab.backbone.text_files import TextFile, text_files


class ConfigError(ValueError):
    """An invalid training configuration; the message names the field."""


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of every training. Paths are relative to the working directory."""

    parallel: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    dictionaries: list[str] = field(default_factory=list)
    """Folders of dictionaries, read as parallel text with the share `dictionary_share`."""
    dictionary_share: float = 0.2
    languages: list[str] = field(default_factory=list)
    """Use only files whose languages are all listed; empty for all files."""
    smoothing: float = 0.5
    prepared: str | None = None
    """Folder of the prepared text, which trainings on the same text can share; default: `tokens` in the output."""
    steps: int = 10_000
    tokens: int = 2_048
    """Maximal number of padded tokens of one side of a batch."""
    accumulate: int = 1
    learning_rate: float = 1e-3
    rates: dict[str, Any] = field(default_factory=dict)
    """Factors of the learning rate, by prefix of parameter names."""
    warm_up: int = 200
    weight_decay: float = 0.01
    betas: list[float] = field(default_factory=lambda: [0.9, 0.98])
    clip: float = 1.0
    bf16: bool | Literal["auto"] = "auto"
    """Whether products are computed in bfloat16; auto: where the processor computes faster in it than in float32."""
    seed: int = 1
    cross_attention_only_steps: int = 0
    """First steps that train only cross-attention (VECO initialised from XLM-R)."""
    checkpoint_every: int = 500
    report_every: int = 10
    device: str | None = None
    """cpu or cuda; default: cuda if available."""

    TEXT = True
    """Whether the training uses text files."""

    FREE: ClassVar[tuple[str, ...]] = ("steps", "checkpoint_every", "report_every", "device", "prepared", "bf16")
    """Fields that may change when a training is resumed."""

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """Build from a TOML table.

        Raises:
            ConfigError: if a field is unknown, or a value has the wrong type or is out of range.
        """
        check_fields(cls, table)
        config = cls(**table)
        config.check()
        return config

    def check(self) -> None:
        """Check the ranges of all values.

        Raises:
            ConfigError: if a value is out of range.
        """
        for name in ("steps", "tokens", "accumulate", "checkpoint_every", "report_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} must be above 0")
        for name, rate in self.rates.items():
            if not isinstance(rate, int | float) or not 0 <= rate < math.inf:
                raise ConfigError(f"rates: {name}: {rate!r} is not a number of at least 0")
        for name in ("warm_up", "weight_decay", "seed", "cross_attention_only_steps"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"{name} must be at least 0")
        for name in ("smoothing", "dictionary_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError("betas must be two numbers from 0 to below 1")
        if self.checkpoint_every % self.report_every:
            raise ConfigError("checkpoint_every must be a multiple of report_every, or a resume would change a report")
        if self.device not in (None, "cpu", "cuda"):
            raise ConfigError(f"device must be cpu or cuda, not {self.device!r}")
        if self.TEXT and not self.parallel and not self.raw:
            raise ConfigError("parallel or raw must name a folder of text")

    def files(self) -> list[TextFile]:
        """The training files, dictionaries last.

        Raises:
            CorpusError: if a folder is missing or has no files.
            ConfigError: if `languages` excludes all files.
        """
        files = text_files(*([Path(one) for one in part] for part in (self.parallel, self.raw, self.dictionaries)))
        kept = [file for file in files if not self.languages or set(file.languages) <= set(self.languages)]
        if not kept:
            raise ConfigError(f"languages: no training file is only in {', '.join(self.languages)}")
        return kept

    def check_length(self, longest: int) -> None:
        """Check that a batch can hold the longest row.

        Raises:
            ConfigError: if `tokens` is below `longest`, the model's `max_length`.
        """
        if self.tokens < longest:
            raise ConfigError(f"tokens must be at least the model's max_length, {longest}")

    def differing(self, other: TrainingConfig) -> list[str]:
        """The fields that differ and would change the training."""
        mine, theirs = asdict(self), asdict(other)
        return [name for name in mine if name not in self.FREE and mine[name] != theirs.get(name)]


def read_config(path: Path, data: Path | None = None) -> dict[str, Any]:
    """Read a TOML file; its text folders are relative to `data`, if given.

    Raises:
        ConfigError: if it is not TOML.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    for name in ("parallel", "raw", "dictionaries"):
        if data is not None and isinstance(table.get(name), list):
            table[name] = [str(data / str(folder)) for folder in table[name]]
    return table


def used_layers(encoder: Encoder, layers: int, first_layer: int) -> int:
    """How many layers of an encoder are used: its first `layers`, or all if that is 0.

    Raises:
        ConfigError: if there are not so many, or `first_layer`, the lowest that learns, is not one of them.
    """
    used = layers or encoder.layers
    if used > encoder.layers:
        raise ConfigError(f"layers must be at most {encoder.name}'s {encoder.layers}")
    if not 0 <= first_layer < used:
        raise ConfigError(f"first_layer must lie between 0 and {used - 1}")
    return used


def check_fields(kind: type[Any], table: Mapping[str, Any]) -> None:
    """Check that a table has fields of a dataclass alone, and values of their types.

    Raises:
        ConfigError: it has others.
    """
    types = get_type_hints(kind)
    known = [field.name for field in fields(kind)]
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise ConfigError(f"unknown field {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    for name, value in table.items():
        if not _fits(value, types[name]):
            raise ConfigError(f"{name}: {value!r} is not {_type_name(types[name])}")


def _fits(value: Any, annotation: Any) -> bool:
    if get_origin(annotation) is list:
        return isinstance(value, list) and all(_fits(one, get_args(annotation)[0]) for one in value)
    if get_origin(annotation) is Literal:
        return value in get_args(annotation)
    if get_origin(annotation) is dict:
        return isinstance(value, dict)
    if get_args(annotation):
        return any(_fits(value, one) for one in get_args(annotation))
    if isinstance(value, bool):
        return annotation is bool
    return isinstance(value, (int, float) if annotation is float else annotation)


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(map(str, get_args(annotation)))
    parts = (
        [one for one in get_args(annotation) if one is not NoneType]
        if get_origin(annotation) not in (list, dict)
        else []
    )
    if parts:
        return " or ".join(_type_name(one) for one in parts)
    if get_origin(annotation) is list:
        return f"a list of {_type_name(get_args(annotation)[0])}"
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(annotation, "a table")
