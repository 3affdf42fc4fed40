"""``/v1/collections``: collections and their documents."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from dragoman.service.api.dependencies import KNOWN_PARAMETERS, RecordDep, RuntimeDep, run_among_few
from dragoman.service.collections.dense_index import Coverage
from dragoman.service.collections.importing import Imported
from dragoman.service.collections.service import CollectionInfo, DocumentInfo
from dragoman.service.core.errors import NotFound
from dragoman.service.core.names import ID_CHARS, check_name
from dragoman.service.core.validation import Body, LanguageCode, Text
from dragoman.service.http.admission import Threads
from dragoman.service.http.bodies import (
    StrictRoute,
    check_media_type,
    content_gzip,
)
from dragoman.service.http.streaming import work_on_upload
from dragoman.service.inference.batching import Cancelled
from dragoman.service.runtime import Runtime

router = APIRouter(prefix="/v1/collections", route_class=StrictRoute, tags=["collections"])

NDJSON_TYPES = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/json-lines",
    "application/gzip",
    "application/x-gzip",
    "application/octet-stream",
)

_LINE_SCHEMA = {
    "type": "object",
    "required": ["id", "text"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": ID_CHARS},
        "text": {"type": "string", "minLength": 1},
        "title": {"type": "string"},
        "language": {"type": "string", "description": "ISO 639-1; default: the collection's"},
        "metadata": {"type": "object"},
    },
}
_BODY = {
    "requestBody": {
        "required": True,
        "description": "One JSON object per line; plain, or gzip with or without Content-Encoding: gzip.",
        "content": {"application/x-ndjson": {"schema": _LINE_SCHEMA}},
    }
}

_LISTED = 1000
"""Documents that one list has."""

CollectionName = Annotated[str, Path(description="The collection's name.")]
DocumentId = Annotated[str, Path(description="The document's id, percent-encoded.")]


class NewCollection(Body):
    """A collection to create."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, AfterValidator(check_name), Field(max_length=64)] = Field(
        description="1 to 64 characters of a-z, 0-9, '_', '.' and '-', the first of them a letter or digit."
    )
    language: LanguageCode = Field(description="ISO 639-1 code of the documents' language.")
    description: Text | None = Field(default=None, max_length=10_000)
    late_interaction: StrictBool | None = Field(
        default=None,
        description="Whether states of all subwords are kept with the embeddings (48 bytes each), which improves the"
        " order of hybrid; when left out, while they take at most DRAGOMAN_LATE_MEGABYTES.",
    )
    entities: StrictBool = Field(
        default=False,
        description="Whether names are found in the documents, in the background after an import: hits show them, and"
        " searches can be limited to documents that hold some. 503 if there is no tagger of names.",
    )


class IndexInfo(BaseModel):
    """The Lucene index of a collection."""

    state: str = Field(description="ready, building, stale (a change could not be indexed) or failed")
    generation: int = Field(description="Generation up to which it includes all changes; -1 before it is open.")
    failed: int = Field(description="Documents that could not be indexed; GET .../unindexed lists them.")


class EmbeddingsInfo(BaseModel):
    """The embeddings of a collection's documents, for search by meaning."""

    state: Literal["building", "complete"]
    embedded: int = Field(description="Documents that have embeddings.")
    failed: int = Field(description="Documents that could not be embedded; the log says why.")
    total: int
    late_interaction: bool = Field(description="Whether the states of subwords are kept for late interaction.")


class EntitiesInfo(BaseModel):
    """The names in a collection's documents."""

    state: Literal["building", "complete"]
    tagged: int = Field(description="Documents that were read for names.")
    failed: int = Field(description="Documents that could not be read; the log says why.")
    total: int


class CollectionBody(BaseModel):
    """A collection."""

    name: str
    language: str
    description: str | None
    documents: int
    generation: int = Field(description="Increases with every change of the documents.")
    index: IndexInfo
    embeddings: EmbeddingsInfo | None = Field(description="Null if the collection has none and gets none by itself.")
    entities: EntitiesInfo | None = Field(description="Null if names are not found in its documents.")
    created_at: datetime


class CollectionList(BaseModel):
    """All collections by name."""

    collections: list[CollectionBody]


class RejectedLine(BaseModel):
    """A line that is not a valid document."""

    line: int = Field(description="Counted from 1, blank lines included.")
    id: str | None
    reason: str


class ImportBody(BaseModel):
    """The result of an upload."""

    accepted: int = Field(description="Documents stored, including replacements.")
    replaced: int = Field(description="Accepted documents whose id existed before.")
    rejected: list[RejectedLine]
    generation: int


class UnindexedBody(BaseModel):
    """A document that could not be indexed."""

    id: str
    reason: str
    at: datetime


class UnindexedList(BaseModel):
    """Documents that could not be indexed, in the order in which they were first stored."""

    documents: list[UnindexedBody] = Field(description=f"At most {_LISTED}.")
    total: int


class RetryBody(BaseModel):
    """What came of trying again."""

    indexed: int = Field(description="Documents that are indexed now.")
    failed: int = Field(description="Documents that still are not.")


class DocumentBody(BaseModel):
    """A document as stored."""

    id: str
    collection: str
    language: str
    title: str | None
    text: str
    metadata: dict[str, Any] | None


@router.post("", status_code=201)
def create_collection(new: NewCollection, runtime: RuntimeDep, record: RecordDep) -> CollectionBody:
    """Create an empty collection; 409 if there is one of this name."""
    with record("collection.create", new.name):
        made = runtime.collections.create(new.name, new.language, new.description, new.late_interaction, new.entities)
    return _collection(made, runtime, failed=0)


@router.get("")
def list_collections(runtime: RuntimeDep) -> CollectionList:
    """All collections, by name."""
    failed, infos = runtime.collections.unindexed_counts(), runtime.collections.all()
    return CollectionList(collections=[_collection(info, runtime, failed.get(info.key, 0)) for info in infos])


@router.get("/{name}")
def get_collection(name: CollectionName, runtime: RuntimeDep) -> CollectionBody:
    """One collection: how many documents it has, its generation, and the state of its index."""
    info = runtime.collections.get(name)
    return _collection(info, runtime, runtime.collections.unindexed_counts(info.key).get(info.key, 0))


@router.delete("/{name}", status_code=204, response_class=Response)
def delete_collection(name: CollectionName, runtime: RuntimeDep, record: RecordDep) -> None:
    """Delete a collection with all its documents."""
    with record("collection.delete", name):
        runtime.collections.delete(name)


@router.get("/{name}/unindexed")
def list_unindexed(name: CollectionName, runtime: RuntimeDep) -> UnindexedList:
    """The documents that could not be indexed. No search finds them; each can be read and deleted like any other."""
    documents, total = runtime.collections.unindexed(name, _LISTED)
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
async def add_documents(name: CollectionName, request: Request, runtime: RuntimeDep, record: RecordDep) -> ImportBody:
    """Add or replace documents, streamed as NDJSON. When this returns, they are searchable and durable.

    An invalid line is rejected with its number and the reason; the other lines are stored. A fault of the whole body,
    such as truncated gzip, is an error. Its message says what was stored before, which stays. If every line is invalid,
    the answer is 422 and names the lines.
    """
    check_media_type(request, NDJSON_TYPES, "NDJSON (Content-Type: application/x-ndjson)")
    gzip = content_gzip(request)

    def work(parts: Iterator[bytes]) -> Imported:
        with record("documents.import", name):
            return runtime.collections.import_documents(name, parts, gzip=gzip)

    return _imported(await work_on_upload(request, work))


@router.get("/{name}/documents/{id:whole}", response_model=DocumentBody)
async def get_document(name: CollectionName, id: DocumentId, runtime: RuntimeDep) -> Response:
    """One document by its id, which may contain any characters, such as spaces and slashes, percent-encoded."""

    def read() -> bytes:
        return _document(name, runtime.collections.document(name, id)).model_dump_json().encode()

    return Response(await run_among_few(read), media_type="application/json")


@router.delete("/{name}/documents/{id:whole}", status_code=204, response_class=Response)
def delete_document(name: CollectionName, id: DocumentId, runtime: RuntimeDep, record: RecordDep) -> None:
    """Delete a document; no later search finds it."""
    with record("document.delete", f"{name}/{id}"):
        runtime.collections.delete_document(name, id)


def _embeddings(info: CollectionInfo, runtime: Runtime) -> EmbeddingsInfo | None:
    try:
        found = runtime.dense.coverage(info.key)
        if found is None:
            if not runtime.dense.wanted(info.key):
                return None
            found = Coverage(missing=info.documents, failed=0, total=info.documents)
    except NotFound:  # deleted meanwhile
        return None
    state: Literal["building", "complete"] = "complete" if found.missing == found.failed else "building"
    return EmbeddingsInfo(
        state=state,
        embedded=found.total - found.missing,
        failed=found.failed,
        total=found.total,
        late_interaction=found.states,
    )


def _entities(info: CollectionInfo, runtime: Runtime) -> EntitiesInfo | None:
    if not info.entities:
        return None
    found = runtime.entities.coverage(info.key)
    state: Literal["building", "complete"] = "complete" if found.tagged + found.failed == found.total else "building"
    return EntitiesInfo(state=state, tagged=found.tagged, failed=found.failed, total=found.total)


def _collection(info: CollectionInfo, runtime: Runtime, failed: int) -> CollectionBody:
    return CollectionBody(
        name=info.name,
        language=info.language,
        description=info.description,
        documents=info.documents,
        generation=info.generation,
        index=IndexInfo(state=info.index_state, generation=info.index_generation, failed=failed),
        embeddings=_embeddings(info, runtime),
        entities=_entities(info, runtime),
        created_at=info.created_at,
    )


def _imported(done: Imported) -> ImportBody:
    return ImportBody(
        accepted=done.accepted,
        replaced=done.replaced,
        rejected=[RejectedLine(line=one.line, id=one.id, reason=one.reason) for one in done.rejected],
        generation=done.generation,
    )


def _document(collection: str, info: DocumentInfo) -> DocumentBody:
    return DocumentBody(
        id=info.id,
        collection=collection,
        language=info.language,
        title=info.title,
        text=info.text,
        metadata=info.metadata,
    )
