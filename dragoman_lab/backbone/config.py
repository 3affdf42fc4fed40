"""Training configuration: text, sizes and learning rates from a validated TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError, model_validator
from pydantic_core import ErrorDetails

from dragoman.backbone.encoder import Encoder
from dragoman_lab.backbone.text_files import TextFile, text_files

NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
PartialShare = Annotated[float, Field(ge=0, lt=1)]


class ConfigError(ValueError):
    """An invalid training configuration; the message names the field."""


class ConfigTable(BaseModel):
    """Fields of a TOML table: others are refused, types are strict, and floats are finite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def parse(cls, table: Any, within: str = "") -> Self:
        """Build from a TOML table, the one named `within` of a larger configuration.

        Raises:
            ConfigError: if a field is unknown or missing, or has the wrong type or is out of range.
        """
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            message = "; ".join(_message(fault, cls.model_fields) for fault in error.errors())
            raise ConfigError(f"{within}: {message}" if within else message) from error

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check()
        return self

    def check(self) -> None:
        """Check what the fields' types do not say.

        Raises:
            ConfigError: if fields contradict each other.
        """

    def below(self, folder: Path | None, *names: str) -> Self:
        """A copy in which the paths of these fields are relative to a folder; an empty path stays empty."""
        root, paths = folder or Path(), {name: getattr(self, name) for name in names}
        return self.model_copy(
            update={
                name: [str(root / entry) for entry in path] if isinstance(path, list) else path and str(root / path)
                for name, path in paths.items()
            }
        )


def _message(fault: ErrorDetails, fields: Iterable[str]) -> str:
    """What is wrong with a field, by pydantic's account of it."""
    where = list(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        hint = f"; known are {', '.join(sorted(fields))}" if len(where) == 1 else ""
        return ": ".join([*where[:-1], f"unknown field {where[-1]}{hint}"])
    if fault["type"] == "missing":
        return f"{': '.join(where)} is missing"
    if fault["type"] == "value_error":
        return ": ".join([*where, str(fault["ctx"]["error"])])
    return ": ".join([*where, f"{fault['msg']}, not {fault['input']!r}"])


class TrainingConfig(ConfigTable):
    """Settings of every training. Paths are relative to the working directory."""

    parallel: list[str] = Field(default_factory=list)
    raw: list[str] = Field(default_factory=list)
    dictionaries: list[str] = Field(default_factory=list)
    """Folders of dictionaries, read as parallel text with the share `dictionary_share`."""
    dictionary_share: Share = 0.2
    languages: list[str] = Field(default_factory=list)
    """Use only files whose languages are all listed; empty for all files."""
    smoothing: Share = 0.5
    prepared: str | None = None
    """Folder of the prepared text, which trainings on the same text can share; default: `tokens` in the output."""
    steps: PositiveInt = 10_000
    tokens: PositiveInt = 2_048
    """Maximal number of padded tokens of one side of a batch."""
    accumulate: PositiveInt = 1
    learning_rate: Positive = 1e-3
    rates: dict[str, NonNegative] = Field(default_factory=dict)
    """Factors of the learning rate, by prefix of parameter names."""
    warm_up: NonNegativeInt = 200
    weight_decay: NonNegative = 0.01
    betas: list[PartialShare] = Field(default_factory=lambda: [0.9, 0.98], min_length=2, max_length=2)
    clip: Positive = 1.0
    bf16: Literal[True, False, "auto"] = "auto"
    """Whether products are computed in bfloat16; auto: where the processor computes faster in it than in float32."""
    seed: NonNegativeInt = 1
    cross_attention_only_steps: NonNegativeInt = 0
    """First steps that train only cross-attention (VECO initialised from XLM-R)."""
    checkpoint_every: PositiveInt = 500
    report_every: PositiveInt = 10
    device: Literal["cpu", "cuda"] | None = None
    """Default: cuda if available."""

    TEXT: ClassVar[bool] = True
    """Whether the training uses text files."""

    FREE: ClassVar[tuple[str, ...]] = ("steps", "checkpoint_every", "report_every", "device", "prepared", "bf16")
    """Fields that may change when a training is resumed."""

    def check(self) -> None:
        if self.checkpoint_every % self.report_every:
            raise ConfigError("checkpoint_every must be a multiple of report_every, or a resume would change a report")
        if self.TEXT and not self.parallel and not self.raw:
            raise ConfigError("parallel or raw must name a folder of text")

    def files(self) -> list[TextFile]:
        """The training files, dictionaries last.

        Raises:
            CorpusError: if a folder is missing or has no files.
            ConfigError: if `languages` excludes all files.
        """
        kinds = (self.parallel, self.raw, self.dictionaries)
        files = text_files(*([Path(folder) for folder in folders] for folders in kinds))
        usable = [file for file in files if not self.languages or set(file.languages) <= set(self.languages)]
        if not usable:
            raise ConfigError(f"languages: no training file is only in {', '.join(self.languages)}")
        return usable

    def check_length(self, longest: int) -> None:
        """Check that a batch can hold the longest row.

        Raises:
            ConfigError: if `tokens` is below `longest`, the model's `max_length`.
        """
        if self.tokens < longest:
            raise ConfigError(f"tokens must be at least the model's max_length, {longest}")

    def differing_fields(self, other: TrainingConfig) -> list[str]:
        """The fields that differ and would change the training."""
        mine, theirs = self.model_dump(), other.model_dump()
        return [name for name in mine if name not in self.FREE and mine[name] != theirs.get(name)]


def read_config(path: Path, data_folder: Path | None = None) -> dict[str, Any]:
    """Read a TOML file; its text folders are relative to `data_folder`, if given.

    Raises:
        ConfigError: if it is not TOML.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    for name in ("parallel", "raw", "dictionaries"):
        if data_folder is not None and isinstance(table.get(name), list):
            table[name] = [str(data_folder / str(folder)) for folder in table[name]]
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
