"""``/v1/tables``: translation tables, their versions and entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from dragoman.service.dependencies import KNOWN_PARAMETERS, CallerDep, RecordDep, RuntimeDep, run_among_few
from dragoman.service.http.bodies import StrictRoute, content_gzip
from dragoman.service.http.streaming import work_on_upload
from dragoman.service.jobs.endpoints import JobBody, job_body
from dragoman.service.jobs.submission import NewJob
from dragoman.service.jobs.training import TRAIN, Training
from dragoman.service.tables.bodies import entry_body, pair_body, patched_body, term_body, uploaded_body
from dragoman.service.tables.schemas import (
    ChangedEntry,
    ListedTermBody,
    PairTranslations,
    TableDiff,
    TableList,
    TablePatch,
    TablePatched,
    TableUploaded,
    TermBody,
    TermList,
    TermToLookUp,
    TrainingParameters,
    UploadParameters,
    VersionNumber,
)
from dragoman.store.jobs import JobInfo
from dragoman.store.tables.exports import ExportFormat
from dragoman.store.tables.repository import TableInfo
from dragoman.store.tables.service import Uploaded
from dragoman.store.validation import LanguageCode, Text

lookup_router = APIRouter(prefix="/v1/lookup", route_class=StrictRoute, tags=["translation tables"])
router = APIRouter(prefix="/v1/tables", route_class=StrictRoute, tags=["translation tables"])

_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The table file, plain or gzip.",
        "content": {
            "text/tab-separated-values": {"schema": {"type": "string"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

_TEXT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "Sentence pairs, a pair a line, or TMX 1.4b; plain or gzip.",
        "content": {
            "text/tab-separated-values": {"schema": {"type": "string"}},
            "application/x-tmx+xml": {"schema": {"type": "string"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

TableName = Annotated[str, Path(description="The table's name.")]
OptionalVersion = Annotated[VersionNumber | None, Query(description="Number of the version; default: the active one.")]
Cursor = Annotated[str | None, Query(max_length=20_000, description="The `next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="Most entries of a page.")]
_EXPORT_TYPES: dict[ExportFormat, str] = {
    "tsv": "text/tab-separated-values",
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "giza": "text/plain",
    "moses": "text/plain",
    "muse": "text/plain",
    "tbx": "application/x-tbx+xml",
    "tmx": "application/x-tmx+xml",
    "deepl": "text/csv",
    "google": "text/csv",
    "freedict": "application/tei+xml",
}
_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The entries, ordered by source term; tsv, csv and google begin with a header.",
        "content": {type: {"schema": {"type": "string"}} for type in dict.fromkeys(_EXPORT_TYPES.values())},
    }
}
Version = Annotated[VersionNumber, Path(description="Number of the version.")]


@router.put("/{name}", status_code=201, openapi_extra=_BODY, dependencies=[KNOWN_PARAMETERS])
async def upload_table(
    name: TableName,
    request: Request,
    runtime: RuntimeDep,
    caller: CallerDep,
    record: RecordDep,
    parameters: Annotated[UploadParameters, Query()],
) -> TableUploaded:
    """Upload a table as a new version, streamed. Versions of a table are numbered from 1.

    An invalid line is rejected with its number and the reason; the other lines are stored. A fault of the whole file is
    an error that names the line, and nothing is stored. So is a file whose every line is rejected, and one that could
    be read in two ways. The error then names the parameter that says in which.
    """
    gzip = content_gzip(request)
    upload = parameters.as_upload(name, None if caller.key_id is None else caller.name)

    def work(parts: Iterator[bytes]) -> Uploaded:
        if upload.dry_run:
            return runtime.tables.upload(upload, parts, gzip)
        with record("table.upload", name) as recording:
            done = runtime.tables.upload(upload, parts, gzip)
            recording.object = f"{name}/{done.version}"
            return done

    return uploaded_body(upload, await work_on_upload(request, work))


@router.post("/{name}/train", status_code=202, openapi_extra=_TEXT, dependencies=[KNOWN_PARAMETERS])
async def train_table(
    name: TableName,
    request: Request,
    runtime: RuntimeDep,
    caller: CallerDep,
    record: RecordDep,
    parameters: Annotated[TrainingParameters, Query()],
    idempotency_key: Annotated[
        str | None, Header(description="The same key with the same request of one API key gives the same job.")
    ] = None,
) -> JobBody:
    """Train a table from aligned text or TMX, in a job. When this returns, the job is durable.

    Its result names the new version. A job that a stop interrupts begins anew.
    """
    gzip = content_gzip(request)
    created_by = None if caller.key_id is None else caller.name
    training = Training(name=name, created_by=created_by, **parameters.model_dump())
    new = NewJob(TRAIN, "dragoman-train", idempotency_key, caller.key_id, training, caller.owner_id)

    def work(parts: Iterator[bytes]) -> JobInfo:
        with record("table.train", name) as recording:
            job = runtime.jobs.submit(new, parts, gzip)
            recording.object = f"{name}: {job.id}"
            return job

    return job_body(await work_on_upload(request, work))


@router.get("")
def list_tables(runtime: RuntimeDep) -> TableList:
    """All tables, by name."""
    return TableList(tables=runtime.tables.all())


@router.get("/{name}")
def get_table(name: TableName, runtime: RuntimeDep) -> TableInfo:
    """One table with all its versions."""
    return runtime.tables.get(name)


@router.post("/{name}/versions/{version}/activate")
def activate_version(name: TableName, version: Version, runtime: RuntimeDep, record: RecordDep) -> TableInfo:
    """Make a version, newer or older, the active one that searches use."""
    with record("table.activate", f"{name}/{version}"):
        return runtime.tables.activate(name, version)


@router.post("/{name}/deactivate")
def deactivate_table(name: TableName, runtime: RuntimeDep, record: RecordDep) -> TableInfo:
    """Deactivate a table, so that searches no longer use it."""
    with record("table.deactivate", name):
        return runtime.tables.deactivate(name)


@router.delete("/{name}/versions/{version}", status_code=204, response_class=Response)
def delete_version(name: TableName, version: Version, runtime: RuntimeDep, record: RecordDep) -> None:
    """Delete a version; 409 while it is active."""
    with record("table.delete", f"{name}/{version}"):
        runtime.tables.delete(name, version)


@router.patch("/{name}", dependencies=[KNOWN_PARAMETERS])
def patch_table(
    name: TableName, patch: TablePatch, runtime: RuntimeDep, caller: CallerDep, record: RecordDep
) -> TablePatched:
    """Make a new version from the active one, or the newest if none is active, and activate it if that one is active.

    Removals come first. One that the table does not have is an error, and so is an entry without a searchable word;
    then nothing changes. A version without any probability is shared anew; else entries that stay keep theirs.
    """
    created_by = None if caller.key_id is None else caller.name
    with record("table.patch", name) as recording:
        done = runtime.tables.patch(name, patch.as_patch(), created_by)
        recording.object = f"{name}/{done.version}"
    return patched_body(done)


@router.get(
    "/{name}/versions/{version}/export",
    response_class=StreamingResponse,
    responses=_EXPORT,
    dependencies=[KNOWN_PARAMETERS],
)
def export_version(
    name: TableName,
    version: Version,
    runtime: RuntimeDep,
    format: Annotated[ExportFormat | None, Query(description="The file's format; default: that of the upload.")] = None,
) -> StreamingResponse:
    """The entries of a version as they were written, streamed; an upload of the file gives the same entries.

    A format without probabilities gives the entries alone. One that cannot hold a term of the table is refused. A
    version that came as a spreadsheet or from dict.cc is by default tsv.
    """
    written, blocks = runtime.tables.browse.export(name, version, format)
    return StreamingResponse(blocks, media_type=_EXPORT_TYPES[written])


@router.get("/{name}/versions/{version}/diff/{other}", dependencies=[KNOWN_PARAMETERS])
def compare_versions(
    name: TableName,
    version: Version,
    other: Annotated[VersionNumber, Path(description="Number of the version to compare with.")],
    runtime: RuntimeDep,
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> TableDiff:
    """The entries that the second version has and the first has not, the other way round, and those that changed."""
    difference = runtime.tables.browse.diff(name, version, other, cursor, limit)
    return TableDiff(
        added=[entry_body(entry) for entry in difference.added],
        removed=[entry_body(entry) for entry in difference.removed],
        changed=[ChangedEntry(before=entry_body(old), after=entry_body(new)) for old, new in difference.changed],
        next=difference.next,
    )


@router.get("/{name}/terms", dependencies=[KNOWN_PARAMETERS])
def list_terms(
    name: TableName,
    runtime: RuntimeDep,
    prefix: Annotated[Text, Query(max_length=1000, description="How the terms begin, in any case.")] = "",
    version: OptionalVersion = None,
    side: Annotated[Literal["source", "target"], Query(description="The side to list.")] = "source",
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> TermList:
    """The terms of a table version, in the order of their folded forms."""
    listed_version, page = runtime.tables.browse.terms(name, version, side == "target", prefix, cursor, limit)
    terms = [ListedTermBody(term=term.term, folded=term.folded, translations=term.translations) for term in page.terms]
    return TermList(version=listed_version, language=page.language, terms=terms, next=page.next)


@router.get("/{name}/terms/{term:whole}", dependencies=[KNOWN_PARAMETERS])
async def look_up_term(
    name: TableName,
    term: Annotated[TermToLookUp, Path(description="A term of either language, percent-encoded.")],
    runtime: RuntimeDep,
    version: OptionalVersion = None,
    side: Annotated[
        Literal["source", "target"] | None,
        Query(description="The side to look up; default: the source side, then the target side."),
    ] = None,
) -> TermBody:
    """The translations of a term in a table version.

    A term that the version lacks is found by its index terms, as in a search: "beekeepers" finds "beekeeper".
    """
    inverse = None if side is None else side == "target"
    return term_body(term, await run_among_few(lambda: runtime.tables.look_up(name, term, version, inverse)))


@lookup_router.get("", dependencies=[KNOWN_PARAMETERS])
async def look_up_in_all(
    term: Annotated[TermToLookUp, Query(description="A term of the source language.")],
    source: Annotated[LanguageCode, Query(description="ISO 639-1 code of the term's language.")],
    target: Annotated[LanguageCode, Query(description="ISO 639-1 code of the translations' language.")],
    runtime: RuntimeDep,
) -> PairTranslations:
    """The translations of a term by every table between two languages, active or not.

    Tables made in the other direction serve too. A term that a table lacks is found by its index terms, as above.
    """
    return pair_body(await run_among_few(lambda: runtime.tables.browse.look_up_all(term, source, target)))
