"""The HTTP application: routers, errors, middleware, and the lifespan of the runtime."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from dragoman.engine.core.errors import ERRORS
from dragoman.engine.core.memory import BodyMemory, MemoryBreaker
from dragoman.engine.settings import Settings
from dragoman.service.access.shares import ALONE, Shares
from dragoman.service.api import documentation
from dragoman.service.api.health import check_dependencies
from dragoman.service.api.routers import ROUTERS
from dragoman.service.http import errors
from dragoman.service.http.addresses import HeadAsGet, RootPath, TrailingSlash
from dragoman.service.http.authentication import Authentication, check_routes, is_open, needed_scopes
from dragoman.service.http.errors import ErrorBody
from dragoman.service.http.middleware import DEGRADED_HEADER, CheckedAddress, RequestContext
from dragoman.service.http.probes import SharedCheck
from dragoman.service.http.streaming import Uploads
from dragoman.service.http.threads import Threads
from dragoman.service.integrations.dify import DifyErrors, DifyRefusals
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

_HEADER_SCHEME = "ApiKeyHeader"
_HEADER = {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key in another header."}
_OPERATIONS = {
    "get_statistics": "get_collection_statistics",
    "list_unindexed": "list_unindexed_documents",
    "retry_unindexed": "retry_unindexed_documents",
    "activate_version": "activate_table_version",
    "delete_version": "delete_table_version",
    "export_version": "export_table",
    "compare_versions": "compare_table_versions",
    "list_terms": "list_table_terms",
    "look_up_in_all": "look_up_in_all_tables",
    "rerank_v1": "rerank",
    "reader": "get_reader",
    "qa": "answer_question",
    "read": "read_document",
    "reasoner": "get_reasoner",
    "taggers": "get_taggers",
    "translator": "get_translator",
    "job_results": "get_job_results",
    "job_errors": "get_job_errors",
    "restore": "restore_backup",
    "healthz": "check_live",
    "readyz": "check_ready",
    "metrics": "get_metrics",
}
"""Operation ids by the names of endpoints, where these say too little to be the name of a tool."""


class Application(FastAPI):
    """FastAPI with the one error body in its OpenAPI document, instead of FastAPI's own."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = self.openapi_schema = super().openapi()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas["ErrorBody"] = ErrorBody.model_json_schema()
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            document["components"]["securitySchemes"] = {_SCHEME: _BEARER, _HEADER_SCHEME: _HEADER}
            for path, methods in document["paths"].items():
                for method, operation in methods.items():
                    operation["responses"].update(_error_responses())
                    operation["security"] = _security(method.upper(), path)
                    operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
        return self.openapi_schema


def create_app(settings: Settings, runtime: Runtime | None = None, shares: Shares = ALONE) -> FastAPI:
    """The application for a runtime, which it closes on shutdown.

    Without a runtime it creates one from the settings on startup, with ``shares`` in what other processes count too.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        opened = runtime if runtime is not None else await anyio.to_thread.run_sync(Runtime, settings, shares)
        try:
            await anyio.to_thread.run_sync(opened.start)
        except BaseException:
            await anyio.to_thread.run_sync(opened.close)
            raise
        app.state.runtime, app.state.metrics = opened, opened.metrics
        app.state.access = opened.access()
        app.state.uploads = Uploads(settings.uploads.concurrent_uploads, settings.uploads.open_uploads)
        app.state.ready = SharedCheck(lambda: check_dependencies(opened))
        app.state.threads = Threads(settings, opened.shares.limit)
        # endpoints that are plain functions share these threads, of which one key cannot hold all
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = max(limiter.total_tokens, settings.access.key_concurrent_requests + _SPARE_THREADS)
        try:
            yield
        finally:
            app.state.threads.close()
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
        generate_unique_id_function=lambda route: _OPERATIONS.get(route.name, route.name),
    )
    documentation.install(app)
    app.state.settings, app.state.draining = settings, False
    app.state.started_at = int(time.time())
    app.state.memory = BodyMemory(settings.requests.bodies_bytes, MemoryBreaker(settings.server.memory_bytes))
    check_routes(ROUTERS)
    for router in ROUTERS:
        app.include_router(router)
    errors.install(app, ROUTERS)
    app.add_middleware(HeadAsGet)
    app.add_middleware(CheckedAddress)
    app.add_middleware(Authentication, settings=settings)
    app.add_middleware(DifyRefusals)
    app.add_middleware(TrailingSlash, routers=ROUTERS)
    app.add_middleware(RequestContext)
    app.add_middleware(DifyErrors)
    if settings.access.origins:
        app.add_middleware(CORSMiddleware, **_cors(settings.access.origins))
    app.add_middleware(RootPath, prefix=settings.server.root_path)
    return app


def _cors(origins: Collection[str]) -> dict[str, Any]:
    """What browsers are told of pages from other sites; those of any site send no cookies and passwords of proxies."""
    return {
        "allow_origins": sorted(origins),
        "allow_methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        "allow_headers": ["*"],
        "allow_credentials": "*" not in origins,
        "expose_headers": ["X-Request-Id", DEGRADED_HEADER, "ETag", "Retry-After", "WWW-Authenticate"],
    }


def _security(method: str, path: str) -> list[dict[str, list[str]]]:
    """The scopes as alternatives, of which one is enough; empty for open paths."""
    if is_open(path):
        return []
    scopes = needed_scopes(method, path) or ()
    return [{scheme: [scope]} for scheme in (_SCHEME, _HEADER_SCHEME) for scope in scopes]


def _error_responses() -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
    return {
        str(error.status): {"description": error.error_type, "content": content}
        for error in ERRORS
        if error.status in _DOCUMENTED_STATUSES
    }
