"""The web page: three files that talk to this service and to nobody else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

router = APIRouter(include_in_schema=False)

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The page may load its two other files and ask this service; text never becomes markup or script in it."""


@dataclass(frozen=True)
class _PageFile:
    content: bytes
    media_type: str
    etag: str


@cache
def _read(name: str, media_type: str) -> _PageFile:
    content = files("dragoman.service").joinpath("web", name).read_bytes()
    return _PageFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()}"')


def _answer(request: Request, file: _PageFile) -> Response:
    """The file, or 304 where the browser has it: it asks every time, so that the three are always of one version."""
    headers = {
        "Cache-Control": "no-cache",
        "ETag": file.etag,
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    known = request.headers.get("if-none-match", "").split(",")
    if file.etag in {etag.strip().removeprefix("W/") for etag in known}:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)


@router.get("/")
async def web_page(request: Request) -> Response:
    return _answer(request, _read("index.html", "text/html"))


@router.get("/page.js")
async def script(request: Request) -> Response:
    return _answer(request, _read("page.js", "text/javascript"))


@router.get("/style.css")
async def style_sheet(request: Request) -> Response:
    return _answer(request, _read("style.css", "text/css"))
