"""``/v1/translate``."""

from __future__ import annotations

import asyncio
import time

from fastapi import APIRouter, Request

from dragoman.service.api.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.inference.models import Load
from dragoman.service.inference.text_translation import check_pair
from dragoman.service.schemas.translate import ConfiguredTranslator, TranslateRequest, TranslateResponse

router = APIRouter(prefix="/v1/translate", route_class=StrictRoute, tags=["reading"])


@router.get("")
async def translator(settings: SettingsDep) -> ConfiguredTranslator:
    """Whether texts can be translated, and by what."""
    return ConfiguredTranslator(model=settings.translator)


@router.post("", response_model_exclude_none=True)
async def translate(
    body: TranslateRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep
) -> TranslateResponse:
    """Translate texts sentence by sentence; white space and line breaks are kept.

    No translator comes with Dragoman: 503 unless `DRAGOMAN_TRANSLATOR` names one.
    """
    texts = body.all
    runtime.translations.check_configured()
    runtime.translations.check(texts)
    until = time.monotonic() + settings.worker_seconds
    info = runtime.models.loaded("translator")
    if info is None:
        futures = runtime.models.worker.submit(Load("translator"), [""])
        await wait_for_futures(futures, request, until)
        info = futures[0].result()
    check_pair(info, body.source, body.target)
    underway = await asyncio.to_thread(runtime.translations.begin, texts, body.source, body.target)
    await wait_for_futures([one for text in underway for one in text.futures if one is not None], request, until)
    cut = [place for place, one in enumerate(underway) if not one.whole]
    return TranslateResponse(texts=[one.joined() for one in underway], model=info.name, truncated=cut or None)
