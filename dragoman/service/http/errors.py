"""Turns every fault into the one error body."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from itertools import chain

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route

from dragoman.engine.core.errors import (
    ClientDisconnected,
    InternalError,
    InvalidRequest,
    ServiceError,
    classifies,
    classify,
    from_status,
)
from dragoman.service.http.addresses import AS_GET
from dragoman.store.validation import describe

logger = logging.getLogger("dragoman")


@classifies(ClientDisconnect)
def _client_left(fault: ClientDisconnect) -> ServiceError:
    return ClientDisconnected("the client disconnected")


class ErrorBody(BaseModel):
    """The body of every error, at every address."""

    id: str = Field(description="The request's id, as in request_id.")
    message: str = Field(description="What is wrong; it names the field or the line if there is one.")
    detail: str = Field(description="The same as message.")
    error: str = Field(description="The same as message.")
    error_type: str = Field(description="The kind of error, for programs.")
    request_id: str = Field(description="The X-Request-Id of the request, or a generated id.")


def request_id(request: Request) -> str:
    """The id of this request: the caller's X-Request-Id if it is valid, or a new one."""
    identifier: str = request.scope.get("state", {}).get("request_id", "")
    return identifier


def error_response(error: ServiceError, identifier: str) -> Response:
    """The error as a response; text that cannot be sent as UTF-8 is escaped."""
    return Response(
        json.dumps(error.body(identifier)), error.status, headers=error.headers, media_type="application/json"
    )


def report_fault(fault: BaseException, identifier: str) -> ServiceError:
    """The error for an unexpected fault: the log has all of it, the response only the request id."""
    error = classify(fault)
    if error is not None:
        if error.status >= 500 and not isinstance(error, ClientDisconnected):
            logger.error("request %s: %s: %s", identifier, error.error_type, fault)
        return error
    logger.error("request %s failed", identifier, exc_info=fault)
    return InternalError(f"the service failed; its log has the cause under request id {identifier}")


def install(app: FastAPI, routers: Sequence[APIRouter] = ()) -> None:
    """Install handlers that answer this app's faults with the one error body.

    A 405 lists the methods of the app's own routes and of those of ``routers``, which the app includes.
    """
    routes = [route for route in chain(app.routes, *(router.routes for router in routers)) if isinstance(route, Route)]

    async def on_http(request: Request, fault: Exception) -> Response:
        assert isinstance(fault, HTTPException)
        return _http_response(request, fault, routes)

    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(ServiceError, _on_service)


async def _on_validation(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    return error_response(InvalidRequest(describe(fault.errors())), request_id(request))


async def _on_service(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, ServiceError)
    request.state.fault = type(fault)
    if fault.status >= 500 and not isinstance(fault, ClientDisconnected):
        logger.error("request %s: %s: %s", request_id(request), fault.error_type, fault)
    return error_response(fault, request_id(request))


def _http_response(request: Request, fault: HTTPException, routes: Sequence[Route]) -> Response:
    if fault.__cause__ is not None:  # FastAPI wraps what reading the body raised
        return error_response(report_fault(fault.__cause__, request_id(request)), request_id(request))
    message, headers = str(fault.detail), dict(fault.headers or {})
    if fault.status_code == 404 and message == "Not Found":
        message = f"there is nothing at {request.url.path[:200]}"
    if fault.status_code == 405:
        if methods := _methods(request, routes):
            headers["Allow"] = ", ".join(methods)
        allowed = headers.get("Allow", "")
        method = "HEAD" if request.scope.get(AS_GET) else request.method
        message = f"{method} is not possible here" + (f"; allowed: {allowed}" if allowed else "")
    response = error_response(from_status(fault.status_code, message), request_id(request))
    response.headers.update(headers)
    return response


def _methods(request: Request, routes: Sequence[Route]) -> list[str]:
    """The methods of all routes with the request's path; the fault itself has those of one route only."""
    matches = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = set().union(*(route.methods or () for route in matches))
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
