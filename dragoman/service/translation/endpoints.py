"""``/v1/translate``."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from fastapi import APIRouter, Request

from dragoman.engine.core.errors import NotInstalled
from dragoman.engine.core.names import model_name
from dragoman.engine.core.turns import on_behalf_of
from dragoman.engine.models.translating import ENGLISH, about_bridge, good, translator_place
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.threads import caller_of
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.translation.schemas import ConfiguredTranslator, Quality, TranslateRequest, TranslateResponse

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


@router.post("", response_model_exclude_none=True)
async def translate(
    body: TranslateRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep
) -> TranslateResponse:
    """Translate texts sentence by sentence; white space and line breaks are kept.

    503 where no translator of this pair is good enough to serve; what comes with Dragoman translates into English.
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
    cut = [place for place, translation in enumerate(underway) if not translation.whole]
    return TranslateResponse(
        texts=[translation.join() for translation in underway],
        model=info.name,
        quality=Quality.of(info.quality, body.source, info.measured_on),
        truncated=cut or None,
    )
