"""What is asked for and what comes of it when a table gets a new version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.core.names import check_name
from dragoman.engine.tables.compiled import content_checksum
from dragoman.engine.tables.views import ActiveVersion
from dragoman.lexicon.formats.build import Normalised
from dragoman.lexicon.formats.items import Detected, Notice, Rejection
from dragoman.lexicon.table.compose import Kind
from dragoman.lexicon.text.languages import check_language
from dragoman.store.tables.repository import Counts, NewVersion
from dragoman.store.tables.table_reader import ReadAs


@dataclass(frozen=True, slots=True)
class Upload:
    """The parameters of an upload."""

    name: str
    source: str
    target: str
    read_as: ReadAs = field(default_factory=ReadAs)
    """How the file is to be read."""
    kind: Kind = "statistical"
    weight: float = 1.0
    activate: bool = False
    dry_run: bool = False
    created_by: str | None = None


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The result of an upload, or the expected result of a dry run."""

    version: int
    checksum: str
    source_terms: int
    entries: int
    rejected: Sequence[Rejection]
    """The first of the rejected lines."""
    rejected_total: int
    pruned: int
    active: bool
    header: tuple[str, ...] | None = None
    """The names of the file's columns, if it has a header."""
    warnings: Sequence[Notice] = ()
    """The first of what was passed over, or taken for what it may not be."""
    warnings_total: int = 0
    detected: Detected | None = None
    """How the file was read."""


@dataclass(frozen=True, slots=True)
class Patched:
    """The result of a patch."""

    base: ActiveVersion
    """The version that was patched."""
    version: int
    counts: Counts
    added: int
    removed: int
    active: bool


def count_entries(read: Normalised) -> Counts:
    """The counts of what was read."""
    return Counts(
        content_checksum(read.table, read.written),
        read.source_terms,
        read.entries,
        read.rejected_count,
        read.pruned,
        read.probabilities,
    )


def new_version(upload: Upload, read: Normalised) -> NewVersion:
    """The data of the version that an upload makes."""
    format = read.detected.format if read.detected is not None else upload.read_as.format
    return NewVersion(upload.name, upload.source, upload.target, upload.kind, upload.weight, format, upload.created_by)


def validate_upload(upload: Upload) -> Upload:
    """The upload with the codes that its languages are known by.

    Raises:
        InvalidRequest: a name or a language that is not allowed.
    """
    try:
        check_name(upload.name)
        upload = replace(upload, source=check_language(upload.source), target=check_language(upload.target))
    except ValueError as fault:
        raise InvalidRequest(str(fault)) from fault
    if upload.source == upload.target:
        raise InvalidRequest("source and target must be different languages")
    return upload
