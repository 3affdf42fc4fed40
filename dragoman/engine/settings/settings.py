"""All settings of the service, in groups, and how they are loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.settings.models import (
    EmbeddingSettings,
    ModelsSettings,
    QASettings,
    TaggingSettings,
    TranslationSettings,
    WorkerSettings,
)
from dragoman.engine.settings.requests import JobsSettings, RequestsSettings, UploadsSettings
from dragoman.engine.settings.search import IndexSettings, SearchSettings, TablesSettings
from dragoman.engine.settings.server import AccessSettings, LogSettings, ReportsSettings, ServerSettings, StoreSettings
from dragoman.engine.settings.sources import Source, complaint, read_environment, read_file


class Settings(BaseModel):
    """Where the service listens and keeps its data, its models and jobs, and the limits of requests.

    A setting has one name, whatever group it stands in. That is its attribute, its key in the file and, after
    ``DRAGOMAN_`` and in capitals, its variable.
    """

    model_config = ConfigDict(extra="forbid")

    server: ServerSettings = Field(default_factory=ServerSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    access: AccessSettings = Field(default_factory=AccessSettings)
    log: LogSettings = Field(default_factory=LogSettings)
    requests: RequestsSettings = Field(default_factory=RequestsSettings)
    uploads: UploadsSettings = Field(default_factory=UploadsSettings)
    index: IndexSettings = Field(default_factory=IndexSettings)
    tables: TablesSettings = Field(default_factory=TablesSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    models: ModelsSettings = Field(default_factory=ModelsSettings)
    worker: WorkerSettings = Field(default_factory=WorkerSettings)
    translation: TranslationSettings = Field(default_factory=TranslationSettings)
    tagging: TaggingSettings = Field(default_factory=TaggingSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    qa: QASettings = Field(default_factory=QASettings)
    jobs: JobsSettings = Field(default_factory=JobsSettings)
    reports: ReportsSettings = Field(default_factory=ReportsSettings)

    @classmethod
    def load(cls, *, file: Path | None = None, fallbacks: Mapping[str, Any] | None = None, **chosen: Any) -> Settings:
        """The settings by name from ``chosen``, then the environment, then the file, then ``fallbacks``.

        The file is ``file``, or what ``DRAGOMAN_CONFIG`` names, or ``dragoman.toml`` in the working directory.

        Raises:
            InvalidRequest: a name or a value is not valid; the message names all of them, and the file or variable.
        """
        groups = _groups()
        sources = (
            Source(fallbacks or {}, str),
            read_file(file, groups),
            read_environment(os.environ, groups),
            Source(chosen, str),
        )
        if faults := [fault for source in sources for fault in source.faults]:
            raise InvalidRequest("; ".join(faults))
        values = {name: setting for source in sources for name, setting in source.values.items()}
        labels = {name: source.label(name) for source in sources for name in source.values}
        try:
            return cls.model_validate(_by_group(values))
        except ValidationError as fault:
            faults = [f"{labels[str(wrong['loc'][1])]}: {complaint(wrong)}" for wrong in fault.errors()]
            raise InvalidRequest("; ".join(faults)) from fault

    @classmethod
    def from_defaults(cls, **chosen: Any) -> Settings:
        """The defaults but for ``chosen``: environment and file belong to another service."""
        return cls.model_validate(_by_group(chosen))

    def replace(self, **chosen: Any) -> Settings:
        """A copy with ``chosen`` in place of what these settings have."""
        nested = self.model_dump()
        for group, values in _by_group(chosen).items():
            nested[group] |= values
        return self.model_validate(nested)


def all_fields() -> Iterator[tuple[str, str, FieldInfo]]:
    """Each setting with its group and name, in the order of the documentation."""
    for group, model in _groups().items():
        for name, field in model.model_fields.items():
            yield group, name, field


def _groups() -> dict[str, type[BaseModel]]:
    """The model of each group."""
    return {group: cast("type[BaseModel]", field.annotation) for group, field in Settings.model_fields.items()}


def _by_group(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Values by group and name."""
    group_of = {name: group for group, name, _ in all_fields()}
    nested: dict[str, dict[str, Any]] = {}
    for name, setting in values.items():
        nested.setdefault(group_of[name], {})[name] = setting
    return nested
