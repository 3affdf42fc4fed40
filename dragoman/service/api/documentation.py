"""`/docs`: Swagger UI for the OpenAPI document, using only local files of this installation."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse, Response

from dragoman.service.http.authentication import ASSETS, OPENAPI

_START = f"{ASSETS}/start.js"
_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dragoman</title>
<link rel="stylesheet" href="{ASSETS}/swagger-ui.css">
<link rel="icon" href="{ASSETS}/favicon.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{ASSETS}/swagger-ui-bundle.js"></script>
<script src="{_START}"></script>
</body>
</html>
"""
_SCRIPT = f"""SwaggerUIBundle({{
  url: "{OPENAPI}",
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  deepLinking: true,
  showExtensions: true,
  showCommonExtensions: true,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
}});
"""
_ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon.png": "image/png",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Scripts are files of this service alone; Swagger UI sets styles of its elements."""


def install(app: FastAPI) -> None:
    """Serve the OpenAPI document, made once, and `/docs` with the files that it loads."""
    cached: list[bytes] = []

    @app.get(OPENAPI, include_in_schema=False)
    async def document() -> Response:
        if not cached:
            cached.append(json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode())
        return Response(cached[0], media_type="application/json")

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> HTMLResponse:
        return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})

    @app.get(_START, include_in_schema=False)
    async def start() -> Response:
        return Response(_SCRIPT, media_type="text/javascript")

    @app.get(f"{ASSETS}/{{name}}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if (media_type := _ASSETS.get(name)) is None:
            raise HTTPException(404)
        return Response(_content(name), media_type=media_type)


@cache
def _content(name: str) -> bytes:
    """A file, read once: one that is read while it is sent would stay open for as long as a client takes."""
    return files("fastapi_offline").joinpath("static", name).read_bytes()
