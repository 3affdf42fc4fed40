"""The HTTP application: routers, errors, middleware, and the lifespan of the runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio.to_thread
from fastapi import FastAPI

from dragoman.engine.core.errors import ERRORS
from dragoman.engine.core.memory import BodyMemory, MemoryBreaker
from dragoman.engine.settings import Settings
from dragoman.service.access.authenticator import Access
from dragoman.service.api import documentation
from dragoman.service.api.health import check_dependencies
from dragoman.service.api.routers import ROUTERS
from dragoman.service.http import errors
from dragoman.service.http.addresses import HeadAsGet, TrailingSlash
from dragoman.service.http.authentication import Authentication, check_routes, is_open, needed_scopes
from dragoman.service.http.errors import ErrorBody
from dragoman.service.http.middleware import CheckedAddress, RequestContext
from dragoman.service.http.probes import SharedCheck
from dragoman.service.http.streaming import Uploads
from dragoman.service.http.threads import Threads
from dragoman.service.integrations.dify import DifyErrors
from dragoman.service.runtime import Runtime

_DESCRIPTION = """Search and read documents in languages you don't read, with translation tables you own.

Every error, at every address, has the body `ErrorBody`."""

_DOCUMENTED_STATUSES = (400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 500, 503, 507)

_SPARE_THREADS = 32
"""Threads of plain endpoints beside those that one key may hold by its limit of concurrent requests."""

_SCHEME = "ApiKey"
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key. A service without keys listens on loopback only, and is open there.",
}


class Application(FastAPI):
    """FastAPI with the one error body in its OpenAPI document, instead of FastAPI's own."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = self.openapi_schema = super().openapi()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas["ErrorBody"] = ErrorBody.model_json_schema()
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            document["components"]["securitySchemes"] = {_SCHEME: _BEARER}
            for path, methods in document["paths"].items():
                for method, operation in methods.items():
                    operation["responses"].update(_error_responses())
                    operation["security"] = _security(method.upper(), path)
        return self.openapi_schema


def create_app(settings: Settings, runtime: Runtime | None = None) -> FastAPI:
    """The application for a runtime, which it closes on shutdown.

    Without a runtime it creates one from the settings on startup.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        opened = runtime if runtime is not None else await anyio.to_thread.run_sync(Runtime, settings)
        await anyio.to_thread.run_sync(opened.start)
        app.state.runtime, app.state.metrics = opened, opened.metrics
        app.state.access = Access(opened.keys, settings)
        app.state.uploads = Uploads(settings.uploads.concurrent_uploads, settings.uploads.open_uploads)
        app.state.ready = SharedCheck(lambda: check_dependencies(opened))
        app.state.threads = Threads(settings)
        # endpoints that are plain functions share these threads, of which one key cannot hold all
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = max(limiter.total_tokens, settings.access.key_concurrent_requests + _SPARE_THREADS)
        try:
            yield
        finally:
            await app.state.access.close()
            await anyio.to_thread.run_sync(opened.close)

    app = Application(
        title="Dragoman",
        version=version("dragoman"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    documentation.install(app)
    app.state.settings, app.state.draining = settings, False
    app.state.memory = BodyMemory(settings.requests.bodies_bytes, MemoryBreaker(settings.server.memory_bytes))
    check_routes(ROUTERS)
    for router in ROUTERS:
        app.include_router(router)
    errors.install(app, ROUTERS)
    app.add_middleware(HeadAsGet)
    app.add_middleware(CheckedAddress)
    app.add_middleware(Authentication, settings=settings)
    app.add_middleware(DifyErrors)
    app.add_middleware(TrailingSlash, routers=ROUTERS)
    app.add_middleware(RequestContext)
    return app


def _security(method: str, path: str) -> list[dict[str, list[str]]]:
    """The scopes as alternatives, of which one is enough; empty for open paths."""
    if is_open(path):
        return []
    return [{_SCHEME: [scope]} for scope in needed_scopes(method, path) or ()]


def _error_responses() -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
    return {
        str(error.status): {"description": error.error_type, "content": content}
        for error in ERRORS
        if error.status in _DOCUMENTED_STATUSES
    }
