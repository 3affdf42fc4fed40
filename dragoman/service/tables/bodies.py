"""Tables, their versions and entries as responses."""

from __future__ import annotations

from dragoman.engine.core.numbers import significant
from dragoman.engine.tables.lookup import Lookup
from dragoman.lexicon.formats.items import Detected
from dragoman.service.tables.schemas import (
    DetectedLayout,
    EntryBody,
    LineWarning,
    RejectedLine,
    TableBody,
    TablePatched,
    TableUploaded,
    TableVersion,
    TermBody,
    Translation,
)
from dragoman.store.tables.contents import WrittenEntry
from dragoman.store.tables.repository import TableInfo
from dragoman.store.tables.service import Patched, Upload, Uploaded


def uploaded_body(upload: Upload, done: Uploaded) -> TableUploaded:
    """What came of an upload."""
    return TableUploaded(
        name=upload.name,
        source=upload.source,
        target=upload.target,
        version=done.version,
        checksum=done.checksum,
        source_terms=done.source_terms,
        entries=done.entries,
        rejected=[RejectedLine(line=one.line, reason=one.reason) for one in done.rejected],
        rejected_total=done.rejected_total,
        warnings=[LineWarning(line=one.line, reason=one.reason) for one in done.warnings],
        warnings_total=done.warnings_total,
        detected=_detected(done.detected or Detected(upload.read_as.format)),
        pruned=done.pruned,
        active=done.active,
        header=None if done.header is None else list(done.header),
        kind=upload.kind,
        weight=upload.weight,
        dry_run=upload.dry_run,
    )


def _detected(found: Detected) -> DetectedLayout:
    return DetectedLayout(
        format=found.format,
        encoding=found.encoding,
        separator=found.separator,
        decimal=found.decimal,
        columns=None if found.columns is None else list(found.columns),
        languages=list(found.languages),
    )


def patched_body(done: Patched) -> TablePatched:
    """What came of a patch."""
    base = done.base
    return TablePatched(
        name=base.name,
        source=base.source,
        target=base.target,
        version=done.version,
        base_version=base.version,
        checksum=done.counts.checksum,
        source_terms=done.counts.source_terms,
        entries=done.counts.entries,
        added=done.added,
        removed=done.removed,
        pruned=done.counts.pruned,
        active=done.active,
        kind=base.kind,
        weight=base.weight,
    )


def entry_body(one: WrittenEntry) -> EntryBody:
    """An entry as it is written."""
    return EntryBody(
        source=one.source,
        target=one.target,
        probability=significant(one.probability),
        inverse_probability=significant(one.inverse_probability),
    )


def table_body(info: TableInfo) -> TableBody:
    """A table with its versions."""
    return TableBody(
        name=info.name,
        source=info.source,
        target=info.target,
        active_version=info.active.version if info.active else None,
        versions=[
            TableVersion(
                version=one.version,
                active=one.active,
                checksum=one.checksum,
                kind=one.kind,
                weight=one.weight,
                format=one.format,
                source_terms=one.source_terms,
                entries=one.entries,
                rejected=one.rejected,
                pruned=one.pruned,
                written_forms=one.written_forms,
                created_at=one.created_at,
                created_by=one.created_by,
            )
            for one in info.versions
        ],
    )


def term_body(term: str, found: Lookup) -> TermBody:
    """The translations of a term."""
    return TermBody(
        term=term,
        folded=found.folded,
        language=found.language,
        version=found.version,
        matched=list(found.matched),
        translations=[
            Translation(
                term=one.term,
                probability=significant(one.p_forward),
                inverse_probability=significant(one.p_backward),
            )
            for one in found.entries
        ],
        translations_total=found.total,
    )
