"""``/v1/tag``."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request, Response

from dragoman.engine.core.answer import Degraded, as_json
from dragoman.engine.core.errors import NotInstalled
from dragoman.engine.core.turns import on_behalf_of
from dragoman.engine.models.tagging import (
    TaggerTask,
    Tagging,
    check_texts,
    count_in_utf16,
    tagger_model,
    tagger_place,
)
from dragoman.service.dependencies import RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.middleware import note_degraded
from dragoman.service.http.threads import caller_of
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.tagging.schemas import ConfiguredTaggers, TagRequest, TagResponse

router = APIRouter(prefix="/v1/tag", route_class=StrictRoute, tags=["reading"])


@router.get("", response_model_exclude_unset=True)
async def taggers(settings: SettingsDep) -> ConfiguredTaggers:
    """Whether names and parts of speech can be found, and by what; nothing is loaded."""
    models: dict[str, str | None] = {}
    advice = None
    tasks: tuple[TaggerTask, ...] = ("ner", "pos")
    for task in tasks:
        try:
            models[task] = tagger_place(settings, task).name
        except NotInstalled as fault:
            models[task], advice = None, str(fault)
    return ConfiguredTaggers(**models) if advice is None else ConfiguredTaggers(**models, advice=advice)


@router.post("", response_model=TagResponse)
async def tag(body: TagRequest, request: Request, runtime: RuntimeDep, settings: SettingsDep) -> Response:
    """Find names, or parts of speech, in texts of any languages. 503 where there is no tagger."""
    tagger_place(settings, body.task)
    check_texts(body.texts, settings)
    until = time.monotonic() + settings.worker.worker_seconds
    model = tagger_model(body.task)
    info = runtime.models.description(model)
    if info is None:
        futures = runtime.models.load(model)
        await wait_for_futures(futures, request, until)
        info = futures[0].result()
    with on_behalf_of(caller_of(request)):
        underway = Tagging(runtime.models.worker, body.task, body.texts)
    await wait_for_futures(underway.futures, request, until)
    results = underway.results()
    if body.offsets == "utf16":
        results = count_in_utf16(body.texts, results)
    degraded = _note_unlearned(body.language, info.languages, info.name)
    note_degraded(request, degraded)
    answer: dict[str, Any] = {"results": results, "model": info.name}
    if degraded:
        answer["degraded"] = degraded
    return Response(as_json(answer), media_type="application/json")


def _note_unlearned(language: str | None, learned: frozenset[str], name: str) -> list[Degraded]:
    if language is None or not learned or language in learned:
        return []
    languages = ", ".join(sorted(learned))
    return [Degraded(stage="tag", reason=f"{name} learned from {languages}, and not from {language!r}")]
