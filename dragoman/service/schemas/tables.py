"""What the translation table endpoints answer."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from dragoman.lexicon.table.compose import Kind


class RejectedLine(BaseModel):
    """A line of an uploaded file that gave no entry, and why."""

    line: int
    reason: str


class LineWarning(BaseModel):
    """Something in an uploaded file that was passed over, or read as what it may not be."""

    line: int
    reason: str


class DetectedLayout(BaseModel):
    """How an uploaded file was read: what it shows itself, and what the request says of it."""

    format: str
    encoding: str | None = Field(description="null for spreadsheets and for XML, which names its own.")
    separator: str | None = Field(description="What separates the columns; null for a format without columns of text.")
    decimal: str | None = Field(description="The decimal mark; null where no number shows one.")
    columns: list[str | None] | None = Field(
        description="What each column is: source, target, probability, inverse_probability; null: ignored."
    )
    languages: list[str | None] = Field(
        description="The language of each column; without columns, of terms and translations in the file's order."
    )


class TableUploaded(BaseModel):
    """A table version as it was stored; with ``dry_run``, as it would be."""

    name: str
    source: str
    target: str
    version: int
    checksum: str = Field(description="SHA-256 of the normalised entries: same content, same checksum.")
    source_terms: int
    entries: int
    rejected: list[RejectedLine] = Field(description="The first 1,000 rejected lines.")
    rejected_total: int
    warnings: list[LineWarning] = Field(description="The first 1,000 warnings.")
    warnings_total: int
    detected: DetectedLayout
    pruned: int = Field(description="Entries dropped because both probabilities were below the threshold.")
    active: bool
    header: list[str] | None = Field(description="The columns that the file's header names; null if it has none.")
    kind: Kind
    weight: float
    dry_run: bool


class TableVersion(BaseModel):
    """One uploaded version of a table."""

    version: int
    active: bool
    checksum: str
    kind: Kind = Field(description="A glossary outranks statistical tables where both are active.")
    weight: float = Field(description="Weight among active tables of the same kind.")
    format: str
    source_terms: int
    entries: int
    rejected: int
    pruned: int
    created_at: datetime
    created_by: str | None


class TableBody(BaseModel):
    """A table with all its versions, oldest first."""

    name: str
    source: str
    target: str
    active_version: int | None
    versions: list[TableVersion]


class TableList(BaseModel):
    """All tables, by name."""

    tables: list[TableBody]


class Translation(BaseModel):
    """A translation of the term that was looked up."""

    term: str
    probability: float = Field(description="P(this translation | the term looked up)")
    inverse_probability: float = Field(description="P(the term looked up | this translation)")


class TermBody(BaseModel):
    """What one table version knows about a term."""

    term: str
    folded: str = Field(description="The term as the table is keyed: lower case, without diacritics and so on.")
    language: str = Field(description="The language whose side of the table the term was found on.")
    version: int
    matched: list[str] = Field(
        description="The table's terms found: the term itself, or those that a search takes for the same."
    )
    translations: list[Translation] = Field(description="Most probable first; empty for an unknown term.")
