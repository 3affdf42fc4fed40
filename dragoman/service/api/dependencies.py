"""What endpoints ask for by annotation; coroutines, since FastAPI runs plain functions on another thread."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from dragoman.service.runtime import Runtime
from dragoman.service.settings import Settings


async def _runtime(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


async def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


RuntimeDep = Annotated[Runtime, Depends(_runtime)]
SettingsDep = Annotated[Settings, Depends(_settings)]
