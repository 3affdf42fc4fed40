"""``/v1/collections``: collections and their documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from dragoman.engine.core.names import ID_CHARS
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.files.streams import gzip_stream
from dragoman.service.collections.bodies import collection_body, document_body, import_body, page_body
from dragoman.service.collections.conditions import ExpectedDep, etag
from dragoman.service.collections.import_form import EXPECTED, MEDIA_TYPES, ImportParameters, describe_body
from dragoman.service.collections.schemas import (
    UNINDEXED_LISTED,
    CollectionBody,
    CollectionChange,
    CollectionList,
    Deletion,
    DeletionBody,
    DocumentBody,
    DocumentPageBody,
    FilterParameters,
    ImportBody,
    ListParameters,
    NewCollection,
    RetryBody,
    StatisticsBody,
    UnindexedBody,
    UnindexedList,
)
from dragoman.service.dependencies import KNOWN_PARAMETERS, RecordDep, RuntimeDep, run_among_few
from dragoman.service.http.bodies import (
    NDJSON_TYPES,
    StrictRoute,
    check_media_type,
    content_gzip,
)
from dragoman.service.http.streaming import work_on_upload
from dragoman.service.http.threads import Threads
from dragoman.store.collections.importing import Imported
from dragoman.store.documents.info import DocumentInfo
from dragoman.store.documents.patch import DocumentPatch

router = APIRouter(prefix="/v1/collections", route_class=StrictRoute, tags=["collections"])


_LINE_SCHEMA = {
    "type": "object",
    "required": ["id", "text"],
    "additionalProperties": False,
    "properties": {
        "id": {
            "anyOf": [{"type": "string", "minLength": 1, "maxLength": ID_CHARS}, {"type": "integer"}],
            "description": "Also named _id or docid.",
        },
        "text": {"type": "string", "minLength": 1},
        "title": {"type": "string"},
        "language": {"type": "string", "description": "ISO 639-1; default: as it is, or the collection's"},
        "metadata": {"type": "object"},
    },
}
_BODY = describe_body(_LINE_SCHEMA)

_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {"description": "One document a line.", "content": {NDJSON_TYPES[0]: {"schema": {"type": "string"}}}}
}

CollectionName = Annotated[str, Path(description="The collection's name.")]
DocumentId = Annotated[str, Path(description="The document's id, percent-encoded.")]


@router.post("", status_code=201)
def create_collection(new: NewCollection, runtime: RuntimeDep, record: RecordDep) -> CollectionBody:
    """Create an empty collection; 409 if there is one of this name."""
    with record("collection.create", new.name):
        collection = runtime.collections.create(
            new.name, new.language, new.description, new.late_interaction, new.entities, new.shards
        )
    return collection_body(collection, 0, runtime.dense, runtime.source)


@router.get("")
def list_collections(runtime: RuntimeDep) -> CollectionList:
    """All collections, by name."""
    failed, infos = runtime.collections.unindexed_counts(), runtime.collections.all()
    return CollectionList(
        collections=[collection_body(info, failed.get(info.key, 0), runtime.dense, runtime.source) for info in infos]
    )


@router.get("/{name}")
def get_collection(name: CollectionName, runtime: RuntimeDep, response: Response) -> CollectionBody:
    """One collection: how many documents it has, its generation, and the state of its index."""
    info = runtime.collections.get(name)
    response.headers.update(etag(info.generation))
    failed = runtime.collections.unindexed_counts(info.key).get(info.key, 0)
    return collection_body(info, failed, runtime.dense, runtime.source)


@router.patch("/{name}")
def change_collection(
    name: CollectionName,
    change: CollectionChange,
    runtime: RuntimeDep,
    record: RecordDep,
    response: Response,
    expected: ExpectedDep,
) -> CollectionBody:
    """Change a collection's name, description or settings; what is left out stays.

    An index in another number of parts is built in the background, while the present one serves; documents are taken
    again when it is ready.
    """
    with record("collection.change", name) as recording:
        info = runtime.collections.change(name, change.changes(), expected)
        if info.name != name:
            recording.object = f"{name}={info.name}"
    response.headers.update(etag(info.generation))
    failed = runtime.collections.unindexed_counts(info.key).get(info.key, 0)
    return collection_body(info, failed, runtime.dense, runtime.source)


@router.delete("/{name}", status_code=204, response_class=Response)
def delete_collection(name: CollectionName, runtime: RuntimeDep, record: RecordDep, expected: ExpectedDep) -> None:
    """Delete a collection with all its documents."""
    with record("collection.delete", name):
        runtime.collections.delete(name, expected)


@router.post("/{name}/truncate")
def truncate_collection(
    name: CollectionName, runtime: RuntimeDep, record: RecordDep, response: Response, expected: ExpectedDep
) -> CollectionBody:
    """Delete all documents of a collection, which stays with its name and settings."""
    with record("collection.truncate", name):
        info = runtime.collections.truncate(name, expected)
    response.headers.update(etag(info.generation))
    return collection_body(info, 0, runtime.dense, runtime.source)


@router.get("/{name}/stats")
async def get_statistics(name: CollectionName, request: Request, runtime: RuntimeDep) -> StatisticsBody:
    """What a collection holds: documents by language, the fields of their metadata, and how many bytes it takes."""
    threads: Threads = request.app.state.threads

    def read(cancelled: object) -> StatisticsBody:
        return StatisticsBody.model_validate(runtime.collections.statistics(name), from_attributes=True)

    return await threads.run(request, read, waits=False)


@router.get("/{name}/unindexed")
def list_unindexed(name: CollectionName, runtime: RuntimeDep) -> UnindexedList:
    """The documents that could not be indexed. No search finds them; each can be read and deleted like any other."""
    documents, total = runtime.collections.list_unindexed(name, UNINDEXED_LISTED)
    listed = [UnindexedBody(id=document.id, reason=document.reason, at=document.at) for document in documents]
    return UnindexedList(documents=listed, total=total)


@router.post("/{name}/unindexed/retry")
async def retry_unindexed(name: CollectionName, request: Request, runtime: RuntimeDep, record: RecordDep) -> RetryBody:
    """Try to index the documents again that could not be indexed; those that time does not allow stay in the list."""
    threads: Threads = request.app.state.threads

    def work(cancelled: Cancelled) -> RetryBody:
        with record("documents.retry", name):
            indexed, failed = runtime.collections.retry_unindexed(name)
        return RetryBody(indexed=indexed, failed=failed)

    return await threads.run(request, work, waits=False)


@router.post("/{name}/documents", openapi_extra=_BODY, dependencies=[KNOWN_PARAMETERS])
async def add_documents(
    name: CollectionName,
    request: Request,
    runtime: RuntimeDep,
    record: RecordDep,
    expected: ExpectedDep,
    parameters: Annotated[ImportParameters, Query()],
) -> ImportBody:
    """Add or replace documents, streamed. When this returns, they are searchable and durable.

    A document that is there keeps its language and its metadata where they are left out; `{}` clears metadata.
    An invalid line is rejected with its number and the reason; the other lines are stored. A fault of the whole body,
    such as truncated gzip, is an error. Its message says what was stored before, which stays. If every line is invalid,
    the answer is 422 and names the lines. A JSON array is imported or refused whole; its elements count as lines.
    """
    if parameters.format is None:
        check_media_type(request, (*NDJSON_TYPES, *MEDIA_TYPES), EXPECTED)
    form = parameters.read_form(request.headers.get("content-type", ""), content_gzip(request))

    def work(parts: Iterator[bytes]) -> Imported:
        with record("documents.import", name):
            return runtime.collections.import_documents(name, parts, form, expected)

    return import_body(await work_on_upload(request, work))


@router.get("/{name}/documents", response_model=DocumentPageBody, dependencies=[KNOWN_PARAMETERS])
async def list_documents(
    name: CollectionName, runtime: RuntimeDep, parameters: Annotated[ListParameters, Query()]
) -> Response:
    """The documents, page by page, in the order in which they were first stored.

    A page may have fewer than `limit` documents where their texts are long. Documents that are changed meanwhile are
    given as they were or as they are; none is left out or given twice. With a filter, `total` counts what it leaves.
    """
    chosen, filter = parameters.chosen(), parameters.filter_fields()

    def read_body() -> bytes:
        page = runtime.collections.list_documents(
            name, parameters.limit, parameters.cursor, texts=chosen.texts, filter=filter
        )
        return page_body(page, chosen).model_dump_json(exclude_unset=True).encode()

    return Response(await run_among_few(read_body), media_type="application/json")


@router.get("/{name}/export", response_class=StreamingResponse, responses=_EXPORT, dependencies=[KNOWN_PARAMETERS])
def export_documents(
    name: CollectionName, request: Request, runtime: RuntimeDep, parameters: Annotated[FilterParameters, Query()]
) -> StreamingResponse:
    """All documents, or those that a filter leaves, as NDJSON, streamed, in the order in which they were first stored.

    An import takes it unchanged.
    """
    lines = runtime.collections.export(name, parameters.filter_fields())
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return StreamingResponse(lines, media_type=NDJSON_TYPES[0])
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return StreamingResponse(gzip_stream(lines), media_type=NDJSON_TYPES[0], headers=headers)


@router.post("/{name}/documents/delete")
def delete_documents(
    name: CollectionName, deletion: Deletion, runtime: RuntimeDep, record: RecordDep, expected: ExpectedDep
) -> DeletionBody:
    """Delete all documents that a filter leaves, or none of them where that fails; no later search finds any.

    `dry_run` counts them alone.
    """
    if deletion.dry_run:
        count = runtime.collections.delete_documents(name, deletion.filter, dry_run=True, expected=expected)
        return DeletionBody(deleted=count)
    with record("documents.delete", name):
        return DeletionBody(deleted=runtime.collections.delete_documents(name, deletion.filter, expected=expected))


@router.get("/{name}/documents/{id:whole}", response_model=DocumentBody)
async def get_document(name: CollectionName, id: DocumentId, runtime: RuntimeDep) -> Response:
    """One document by its id, which may contain any characters, such as spaces and slashes, percent-encoded."""

    def read() -> Response:
        document = runtime.collections.document(name, id)
        body = document_body(document).model_dump_json().encode()
        return Response(body, headers=etag(document.generation), media_type="application/json")

    return await run_among_few(read)


@router.patch("/{name}/documents/{id:whole}")
async def change_document(
    name: CollectionName,
    id: DocumentId,
    patch: DocumentPatch,
    request: Request,
    runtime: RuntimeDep,
    record: RecordDep,
    response: Response,
    expected: ExpectedDep,
) -> DocumentBody:
    """Change some fields of a document; what is left out stays. When this returns, searches find it as it is now.

    Metadata is merged with what is there. A change of metadata alone embeds nothing again.
    """
    threads: Threads = request.app.state.threads

    def work(cancelled: Cancelled) -> DocumentInfo:
        with record("document.change", f"{name}/{id}"):
            return runtime.collections.change_document(name, id, patch, expected)

    document = await threads.run(request, work, waits=False)
    response.headers.update(etag(document.generation))
    return document_body(document)


@router.delete("/{name}/documents/{id:whole}", status_code=204, response_class=Response)
def delete_document(
    name: CollectionName, id: DocumentId, runtime: RuntimeDep, record: RecordDep, expected: ExpectedDep
) -> None:
    """Delete a document; no later search finds it."""
    with record("document.delete", f"{name}/{id}"):
        runtime.collections.delete_document(name, id, expected)
