"""``/v1/translate``."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from fastapi import APIRouter, Request, Response

from dragoman.engine.checking.response import CheckResponse
from dragoman.engine.core.answer import as_json
from dragoman.engine.core.errors import NotInstalled
from dragoman.engine.core.names import model_name
from dragoman.engine.core.turns import on_behalf_of
from dragoman.engine.models.generation import about_bridge
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.translating import ENGLISH, good, translator_place
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.middleware import note_degraded
from dragoman.service.http.threads import Threads, caller_of
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.translation.schemas import (
    CheckRequest,
    ConfiguredTranslator,
    Quality,
    TranslateRequest,
    TranslateResponse,
    as_answer,
)

router = APIRouter(prefix="/v1/translate", route_class=StrictRoute, tags=["reading"])


@router.get("", response_model_exclude_unset=True)
async def translator(settings: SettingsDep) -> ConfiguredTranslator:
    """Whether texts can be translated, and by what; nothing is loaded."""
    try:
        place = translator_place(settings)
    except NotInstalled as fault:
        return ConfiguredTranslator(model=None, advice=str(fault))
    about = about_bridge(place)
    if about is None:
        return ConfiguredTranslator(model=model_name(place))
    measured = {language: float(quality) for language, quality in about.get("quality", {}).items()}
    served = good(frozenset(about.get("languages", [])), measured)
    return ConfiguredTranslator(
        model=str(about.get("name", Path(place).name)),
        target=ENGLISH,
        sources={language: Quality.of(measured, language, about.get("measured_on", "")) for language in sorted(served)},
    )


@router.post("", response_model=TranslateResponse)
async def translate(body: TranslateRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Translate texts sentence by sentence, and check each; white space and line breaks are kept.

    A sentence that fails is not shown as a translation. 503 where no translator of this pair is good enough to serve;
    what comes with Dragoman translates into English.
    """
    texts = body.all
    runtime.translations.check_configured()
    runtime.translations.check(texts)
    until = time.monotonic() + settings.worker.worker_seconds
    info = runtime.models.description("translator")
    if info is None:
        futures = runtime.models.load("translator")
        await wait_for_futures(futures, request, until)
        info = futures[0].result()
    info.check(body.source, body.target)
    with on_behalf_of(caller_of(request)):
        underway = await asyncio.to_thread(runtime.translations.begin, texts, body.source, body.target)
    futures = [future for translation in underway for future in translation.futures if future is not None]
    try:
        with runtime.traffic.live():
            await wait_for_futures(futures, request, until)
    finally:
        for translation in underway:
            translation.cancel()
    threads: Threads = request.app.state.threads

    def finish(cancelled: Cancelled) -> Response:
        translated, degraded = runtime.checked_translations.finish(
            underway, body.source, body.target, cancelled=cancelled
        )
        note_degraded(request, degraded)
        answer = as_answer(translated, underway, info, body, degraded)
        return Response(as_json(answer), media_type="application/json")

    return await threads.run(request, finish, waits=True)


@router.post("/check", response_model=CheckResponse)
async def check(body: CheckRequest, request: Request, runtime: RuntimeDep) -> Response:
    """Check a translation, whoever made it: numbers, names, length, words, meaning and the terms of glossaries.

    Sentences are aligned first. `failed`: not to be shown as a translation; `draft`: to be shown with its reasons.
    """
    runtime.translations.check([body.text, body.translation])
    threads: Threads = request.app.state.threads

    def answer(cancelled: Cancelled) -> Response:
        checked = runtime.checking.check_text(
            body.text, body.translation, body.source, body.target, cancelled, body.offsets
        )
        note_degraded(request, checked.degraded)
        return Response(as_json(checked), media_type="application/json")

    return await threads.run(request, answer, waits=True)
