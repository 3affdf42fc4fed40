"""What the translation table endpoints answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

Kind = Literal["statistical", "glossary"]


class RejectedLine(BaseModel):
    """A line of an uploaded file that gave no entry, and why."""

    line: int
    reason: str


class TableUploaded(BaseModel):
    """A table version as it was stored; with ``dry_run``, as it would be."""

    name: str
    source: str
    target: str
    version: int
    checksum: Annotated[
        str, Field(description="SHA-256 of the normalised entries: same content, same checksum.")
    ]
    source_terms: int
    entries: int
    rejected: list[RejectedLine]
    rejected_total: Annotated[
        int, Field(description="All rejected lines; `rejected` lists the first of them.")
    ]
    pruned: Annotated[int, Field(description="Entries dropped for a probability below the threshold.")]
    active: bool
    kind: Kind
    weight: float
    dry_run: bool


class TableSummary(BaseModel):
    """A table and the version that searches use."""

    name: str
    source: str
    target: str
    kind: Kind | None
    active_version: int | None
    latest_version: int
    versions: int
    source_terms: int | None
    entries: int | None


class TableList(BaseModel):
    """All tables, by name."""

    tables: list[TableSummary]


class TableVersion(BaseModel):
    """One uploaded version of a table."""

    version: int
    active: bool
    checksum: str
    kind: Kind
    weight: float
    format: str
    source_terms: int
    target_terms: int
    entries: int
    rejected: int
    pruned: int
    created_at: datetime
    created_by: str | None


class TableRead(BaseModel):
    """A table with all its versions, oldest first."""

    name: str
    source: str
    target: str
    active_version: int | None
    versions: list[TableVersion]


class VersionActivated(BaseModel):
    """The version that searches use from now on."""

    name: str
    source: str
    target: str
    version: int
    checksum: str
    active: bool


class TranslationRead(BaseModel):
    """A translation with its probability given the term that was looked up."""

    term: str
    probability: float
    reverse_probability: Annotated[
        float, Field(description="Probability of the term that was looked up given this translation.")
    ]


class TermRead(BaseModel):
    """What one table version knows about a term."""

    term: str
    folded: str
    language: str
    table: str
    version: int
    translations: list[TranslationRead]
