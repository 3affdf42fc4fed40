"""Tables, their versions and entries as responses."""

from __future__ import annotations

from dragoman.engine.core.answer import significant
from dragoman.engine.tables.lookup import Lookup
from dragoman.lexicon.formats.items import Detected
from dragoman.service.tables.schemas import (
    DegradedLookup,
    DetectedLayout,
    EntryBody,
    LineWarning,
    PairTranslations,
    RejectedLine,
    TablePatched,
    TableTranslations,
    TableUploaded,
    TermBody,
    Translation,
)
from dragoman.store.tables.contents import WrittenEntry
from dragoman.store.tables.pair_lookup import PairLookup
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
        rejected=[RejectedLine(line=rejection.line, reason=rejection.reason) for rejection in done.rejected],
        rejected_total=done.rejected_total,
        warnings=[LineWarning(line=warning.line, reason=warning.reason) for warning in done.warnings],
        warnings_total=done.warnings_total,
        detected=_layout_body(done.detected or Detected(upload.read_as.format)),
        pruned=done.pruned,
        active=done.active,
        header=None if done.header is None else list(done.header),
        kind=upload.kind,
        weight=upload.weight,
        dry_run=upload.dry_run,
    )


def _layout_body(detected: Detected) -> DetectedLayout:
    return DetectedLayout(
        format=detected.format,
        encoding=detected.encoding,
        separator=detected.separator,
        decimal=detected.decimal,
        columns=None if detected.columns is None else list(detected.columns),
        languages=list(detected.languages),
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


def entry_body(entry: WrittenEntry) -> EntryBody:
    """An entry as it is written."""
    return EntryBody(
        source=entry.source,
        target=entry.target,
        probability=significant(entry.probability),
        inverse_probability=significant(entry.inverse_probability),
    )


def term_body(term: str, lookup: Lookup) -> TermBody:
    """The translations of a term."""
    return TermBody(
        term=term,
        folded=lookup.folded,
        language=lookup.language,
        version=lookup.version,
        matched=list(lookup.matched),
        translations=_translations(lookup),
        translations_total=lookup.total,
    )


def pair_body(answer: PairLookup) -> PairTranslations:
    """The translations of a term by all tables."""
    degraded = []
    if names := answer.by_word_alone:
        reason = f"there was no time to look for forms of the term, but only for itself, in {', '.join(names)}"
        degraded.append(DegradedLookup(stage="lookup", reason=reason))
    return PairTranslations(
        tables=[
            TableTranslations(
                name=table.version.name,
                version=table.version.version,
                active=table.active,
                kind=table.version.kind,
                matched=list(table.lookup.matched),
                translations=_translations(table.lookup),
                translations_total=table.lookup.total,
            )
            for table in answer.tables
        ],
        degraded=degraded,
    )


def _translations(lookup: Lookup) -> list[Translation]:
    return [
        Translation(
            term=entry.term,
            probability=significant(entry.p_forward),
            inverse_probability=significant(entry.p_backward),
        )
        for entry in lookup.entries
    ]
