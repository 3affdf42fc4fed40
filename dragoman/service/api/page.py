"""The web page: files that talk to this service and to nobody else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, HTTPException, Request, Response

from dragoman.service.http.authentication import WEB

router = APIRouter(include_in_schema=False)

_MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The page may load its other files and ask this service; text never becomes markup or script in it."""


@dataclass(frozen=True)
class _PageFile:
    content: bytes
    media_type: str
    etag: str


def _read_files() -> dict[str, _PageFile]:
    """By name, those files of the package's folder `web` that are of a kind a page is made of."""
    page_files = {}
    for file in files("dragoman.service").joinpath("web").iterdir():
        media_type = _MEDIA_TYPES.get(PurePath(file.name).suffix)
        if media_type is not None:
            content = file.read_bytes()
            page_files[file.name] = _PageFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()}"')
    return page_files


_FILES = _read_files()
"""The files as they were at the start: no name from a request ever reaches the file system."""
_PAGE = _FILES.pop("index.html")


def _answer(request: Request, file: _PageFile) -> Response:
    """The file, or 304 where the browser has it: it revalidates every time, so that all are of one version."""
    headers = {
        "Cache-Control": "no-cache",
        "ETag": file.etag,
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    etags = request.headers.get("if-none-match", "").split(",")
    if file.etag in {etag.strip().removeprefix("W/") for etag in etags}:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)


@router.get("/")
async def web_page(request: Request) -> Response:
    return _answer(request, _PAGE)


@router.get(f"{WEB}/{{name}}")
async def page_file(request: Request, name: str) -> Response:
    file = _FILES.get(name)
    if file is None:
        raise HTTPException(404)
    return _answer(request, file)
