"""``GET`` and ``POST /v1/backup``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from dragoman.service.dependencies import KNOWN_PARAMETERS, RecordDep, RuntimeDep
from dragoman.service.http.bodies import StrictRoute, check_media_type, content_gzip
from dragoman.service.http.streaming import work_on_upload
from dragoman.store.backup.backup import restore_backup, write_backup

router = APIRouter(prefix="/v1/backup", route_class=StrictRoute, tags=["backup"], dependencies=[KNOWN_PARAMETERS])

_TYPES = ("application/gzip", "application/x-gzip", "application/octet-stream")
_FILE = {"schema": {"type": "string", "format": "binary"}}
_BODY = {"requestBody": {"required": True, "content": {_TYPES[0]: _FILE}}}
_ANSWER: dict[int | str, dict[str, Any]] = {200: {"description": "The backup.", "content": {_TYPES[0]: _FILE}}}


class RestoredBody(BaseModel):
    """What was restored."""

    rows: dict[str, int] = Field(description="Rows by table of the database, without those of what is deleted.")


@router.get("", response_class=StreamingResponse, responses=_ANSWER)
def get_backup(runtime: RuntimeDep, record: RecordDep) -> StreamingResponse:
    """Everything as it is in one moment: collections, documents, embeddings, tables, jobs, and keys as hashes.

    Others write on meanwhile. A file that is cut or damaged is known as such by its checksum.
    """
    with record("backup.get", ""):
        return StreamingResponse(write_backup(runtime.store), media_type=_TYPES[0])


@router.post("", openapi_extra=_BODY)
async def restore(request: Request, runtime: RuntimeDep, record: RecordDep) -> RestoredBody:
    """Restore a backup into a service without collections, tables and jobs (else 409): whole, or not at all.

    Keys of the service stay beside those of the backup. When this returns, the documents can be searched.
    """
    check_media_type(request, _TYPES, "a backup (Content-Type: application/gzip)")
    content_gzip(request)

    def work(parts: Iterator[bytes]) -> dict[str, int]:
        with record("backup.restore", ""):
            settings = runtime.settings
            rows = restore_backup(
                runtime.store, parts, settings.store.data_dir, limit=settings.uploads.decompressed_bytes
            )
            runtime.open_restored()
            return rows

    return RestoredBody(rows=await work_on_upload(request, work))
