"""``POST /v1/translate``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from fastapi import APIRouter, Request

from dragoman.service.api.dependencies import RuntimeDep, SettingsDep
from dragoman.service.api.requests import StrictRoute
from dragoman.service.errors import Unavailable
from dragoman.service.models import Load
from dragoman.service.schemas.translate import TranslateRequest, TranslateResponse
from dragoman.service.translation import check_pair

router = APIRouter(prefix="/v1/translate", route_class=StrictRoute, tags=["reading"])

_POLL_SECONDS = 0.25


@router.post("", response_model_exclude_none=True)
async def translate(
    body: TranslateRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep
) -> TranslateResponse:
    """Translate texts, sentence by sentence; white space and line ends stay as they are."""
    texts = body.all
    runtime.translations.check(texts)
    until = time.monotonic() + settings.worker_seconds
    info = runtime.models.loaded("translator")
    if info is None:
        (info,) = await results(runtime.models.worker.submit(Load("translator"), [""]), request, until)
    check_pair(info, body.source, body.target)
    underway = await asyncio.to_thread(runtime.translations.begin, texts, body.source, body.target)
    await results([one for text in underway for one in text.futures if one is not None], request, until)
    cut = [place for place, one in enumerate(underway) if not one.whole]
    return TranslateResponse(texts=[one.joined() for one in underway], model=info.name, truncated=cut or None)


async def results(futures: Sequence[Future[Any]], request: Request, until: float) -> list[Any]:
    """What the worker computes, waited for without a thread.

    What has not been begun is cancelled where one item fails, time is up, or the client goes away.

    Raises:
        Unavailable: it took too long.
        Exception: what the first item failed with.
    """
    wrapped = [asyncio.wrap_future(future) for future in futures]
    waiting = set(wrapped)
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
            for future in done:
                future.result()
            if waiting and time.monotonic() >= until:
                raise Unavailable("the model took too long; send fewer or shorter texts, or try again")
            if waiting and await request.is_disconnected():
                raise Unavailable("the client has gone")
        return [future.result() for future in wrapped]
    finally:
        for future in wrapped:
            if not future.cancel() and not future.cancelled():
                future.exception()  # looked at, so that none is reported as forgotten
