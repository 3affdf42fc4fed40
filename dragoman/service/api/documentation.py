"""`/docs`: Swagger UI for the OpenAPI document, using only local files of this installation."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from dragoman.service.http.addresses import PREFIX
from dragoman.service.http.authentication import ASSETS, OPENAPI

_START = f"{ASSETS}/start.js"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dragoman</title>
<link rel="stylesheet" href="{root}docs/assets/swagger-ui.css">
<link rel="icon" href="{root}docs/assets/favicon.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{root}docs/assets/swagger-ui-bundle.js"></script>
<script src="{root}docs/assets/start.js"></script>
</body>
</html>
"""
_SCRIPT = """SwaggerUIBundle({
  url: new URL("../../openapi.json", document.currentScript.src).href,
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  deepLinking: true,
  showExtensions: true,
  showCommonExtensions: true,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
});
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
    cached: dict[str, bytes] = {}

    @app.get(OPENAPI, include_in_schema=False)
    async def document(request: Request) -> Response:
        prefix = request.scope.get(PREFIX, "")
        if prefix not in cached:
            servers = {"servers": [{"url": prefix}]} if prefix else {}
            written = json.dumps(app.openapi() | servers, ensure_ascii=False, separators=(",", ":"))
            cached[prefix] = written.encode()
        return Response(cached[prefix], media_type="application/json")

    @app.get("/docs", include_in_schema=False)
    async def documentation(request: Request) -> HTMLResponse:
        root = "../" if bytes(request.scope.get("raw_path") or b"").endswith(b"/") else "./"
        return HTMLResponse(_PAGE.replace("{root}", root), headers={"Content-Security-Policy": _POLICY})

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
