"""FastAPI dependencies of the endpoints; coroutines, because FastAPI runs plain functions on another thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Annotated, Any, Protocol, Self, TypeVar

import anyio
import anyio.to_thread
from fastapi import Depends, Request
from pydantic import BaseModel

from dragoman.engine.query.readers import readers_of
from dragoman.engine.settings import Settings
from dragoman.service.access.audit import Actor, Recording
from dragoman.service.access.authenticator import Access, Caller
from dragoman.service.http.errors import request_id
from dragoman.service.runtime import Runtime
from dragoman.store.validation import check_parameters

_Result = TypeVar("_Result")
_Asking = TypeVar("_Asking", bound="_OfReaders")


class _OfReaders(Protocol):
    """A body that may name the languages of those who ask."""

    reader_languages: list[str] | None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self: ...


async def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


async def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


async def _access(request: Request) -> Access:
    access: Access = request.app.state.access
    return access


async def _caller(request: Request) -> Caller:
    caller: Caller = request.scope["state"]["caller"]
    return caller


async def _record(request: Request) -> Callable[[str, str], AbstractContextManager[Recording]]:
    return partial((await _runtime(request)).audit.record, await _actor(request))


async def _actor(request: Request) -> Actor:
    caller = await _caller(request)
    return Actor(caller.name, caller.key_id, request_id(request), caller.owner_id)


async def _check_parameters(request: Request) -> None:
    allowed: list[str] = []
    for field in request.scope["route"].dependant.query_params:
        kind = field.field_info.annotation
        is_model = isinstance(kind, type) and issubclass(kind, BaseModel)  # of which each field is a parameter
        allowed += kind.model_fields if is_model else [field.alias]
    check_parameters(request.query_params, allowed)


def with_readers(body: _Asking, request: Request, settings: Settings) -> _Asking:
    """The body with the readers' languages; what the browser accepts counts where neither it nor a setting has them."""
    readers = readers_of(body.reader_languages, settings.search.readers, request.headers.get("accept-language"))
    return body.model_copy(update={"reader_languages": readers or None})


KNOWN_PARAMETERS = Depends(_check_parameters)
"""Refuses query parameters that an endpoint does not have: a misspelt one would be left out in silence."""
RuntimeDep = Annotated[Runtime, Depends(_runtime)]
AccessDep = Annotated[Access, Depends(_access)]
CallerDep = Annotated[Caller, Depends(_caller)]
ActorDep = Annotated[Actor, Depends(_actor)]
RecordDep = Annotated[Callable[[str, str], AbstractContextManager[Recording]], Depends(_record)]
"""Records an action and its object in the audit log, before and after the block."""
SettingsDep = Annotated[Settings, Depends(_settings)]


async def run_among_few(work: Callable[[], _Result]) -> _Result:
    """What a function returns, on one of two threads: each such call may take tens of MB, or analyse a whole table, and
    more threads of Python would only hinder each other and the event loop."""
    return await anyio.to_thread.run_sync(work, limiter=_few())


@cache
def _few() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(2)
