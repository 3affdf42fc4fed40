"""The web page: one file that talks to this service and to nobody else."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@cache
def _page() -> tuple[str, str]:
    """The page and the content security policy that lets its own script run and no other."""
    page = files("dragoman.service").joinpath("web/index.html").read_text(encoding="utf-8")
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    digest = hashlib.sha256(script.group(1).encode()).digest()
    return page, _POLICY.format(base64.b64encode(digest).decode())


@router.get("/")
async def web_page() -> HTMLResponse:
    page, policy = _page()
    return HTMLResponse(page, headers={"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"})
