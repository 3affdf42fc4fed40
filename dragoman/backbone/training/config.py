"""What a training is told: text, sizes and rates, read from a TOML file whose every field is checked."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from dragoman.backbone.training.text_files import TextFile, text_files


class ConfigError(ValueError):
    """A training configuration that cannot be used; the message names the field."""


@dataclass(frozen=True)
class TrainingConfig:
    """What every training has. Paths are relative to where the command runs."""

    parallel: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    dictionaries: list[str] = field(default_factory=list)
    """Folders of dictionaries, read as parallel text with a share of its own."""
    dictionary_share: float = 0.2
    languages: list[str] = field(default_factory=list)
    """Only files whose languages are all named here; empty: all files."""
    smoothing: float = 0.5
    prepared: str | None = None
    """Folder of the prepared text, which trainings on the same text share; without it, `tokens` in the output."""
    steps: int = 10_000
    tokens: int = 2_048
    """Padded tokens of one side of a batch at most."""
    accumulate: int = 1
    learning_rate: float = 1e-3
    rates: dict[str, Any] = field(default_factory=dict)
    """By the beginning of weights' names, what their learning rate is multiplied by."""
    warm_up: int = 200
    weight_decay: float = 0.01
    betas: list[float] = field(default_factory=lambda: [0.9, 0.98])
    clip: float = 1.0
    bf16: bool = True
    seed: int = 1
    cross_attention_only_steps: int = 0
    """First steps in which cross-attention alone trains (VECO, initialised from XLM-R)."""
    checkpoint_every: int = 500
    report_every: int = 10
    device: str | None = None
    """cpu or cuda; without it, cuda where there is one."""

    TEXT = True
    """Whether it learns from text files."""

    FREE = ("steps", "checkpoint_every", "report_every", "device", "prepared")
    """What a resumed training may change."""

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """
        Raises:
            ConfigError: an unknown field, a value of the wrong type or out of range.
        """
        types = get_type_hints(cls)
        known = [one.name for one in fields(cls)]
        unknown = sorted(set(table) - set(known))
        if unknown:
            raise ConfigError(f"unknown field {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        for name, value in table.items():
            if not _fits(value, types[name]):
                raise ConfigError(f"{name}: {value!r} is not {_said(types[name])}")
        config = cls(**table)
        config.check()
        return config

    def check(self) -> None:
        """
        Raises:
            ConfigError: a value out of range.
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
            CorpusError: a folder that is missing or holds none.
            ConfigError: `languages` leaves none.
        """
        files = text_files(*([Path(one) for one in part] for part in (self.parallel, self.raw, self.dictionaries)))
        kept = [file for file in files if not self.languages or set(file.languages) <= set(self.languages)]
        if not kept:
            raise ConfigError(f"languages: no file of training text is in {', '.join(self.languages)} alone")
        return kept

    def check_length(self, longest: int) -> None:
        """
        Raises:
            ConfigError: a batch has no room for a row of `longest` tokens, the model's `max_length`.
        """
        if self.tokens < longest:
            raise ConfigError(f"tokens must be at least the model's max_length, {longest}, to hold any one row")

    def differing(self, other: TrainingConfig) -> list[str]:
        """Fields in which another configuration would give another training."""
        mine, theirs = asdict(self), asdict(other)
        return [name for name in mine if name not in self.FREE and mine[name] != theirs.get(name)]


def read_config(path: Path, data: Path | None = None) -> dict[str, Any]:
    """A TOML file's table; folders of text that it names lie in `data`, if given.

    Raises:
        ConfigError: not TOML.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    for name in ("parallel", "raw", "dictionaries"):
        if data is not None and isinstance(table.get(name), list):
            table[name] = [str(data / str(folder)) for folder in table[name]]
    return table


def _fits(value: Any, wanted: Any) -> bool:
    if get_origin(wanted) is list:
        return isinstance(value, list) and all(_fits(one, get_args(wanted)[0]) for one in value)
    if get_origin(wanted) is Literal:
        return value in get_args(wanted)
    if get_origin(wanted) is dict:
        return isinstance(value, dict)
    if get_args(wanted):
        return any(_fits(value, one) for one in get_args(wanted))
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else wanted)


def _said(wanted: Any) -> str:
    if get_origin(wanted) is Literal:
        return " or ".join(map(str, get_args(wanted)))
    parts = [one for one in get_args(wanted) if one is not NoneType] if get_origin(wanted) not in (list, dict) else []
    if parts:
        return " or ".join(_said(one) for one in parts)
    if get_origin(wanted) is list:
        return f"a list of {_said(get_args(wanted)[0])}"
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(wanted, "a table")
