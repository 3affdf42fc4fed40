"""``GET /v1/suggest``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from dragoman.engine.core.answer import as_json
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.query.readers import readers_of
from dragoman.engine.suggest.response import SuggestResponse
from dragoman.service.dependencies import KNOWN_PARAMETERS, RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.errors import request_id
from dragoman.service.http.threads import Threads
from dragoman.service.suggest.parameters import NameLists, Typed, split_names
from dragoman.store.validation import LanguageCode

router = APIRouter(prefix="/v1/suggest", route_class=StrictRoute, tags=["search"])


@router.get("", response_model=SuggestResponse, dependencies=[KNOWN_PARAMETERS])
async def suggest(
    request: Request,
    runtime: RuntimeDep,
    settings: SettingsDep,
    q: Annotated[Typed, Query(description="What is typed so far.", examples=["volc"])],
    language: Annotated[
        LanguageCode | None,
        Query(description="ISO 639-1 code of what is typed; by default the readers' languages, as in a search."),
    ] = None,
    collections: Annotated[
        NameLists | None,
        Query(description="Collections or aliases, repeated or by commas; by default all of them."),
    ] = None,
) -> Response:
    """At most ten completions of what is typed, and other spellings of words that no table has.

    Titles of documents are completed from their beginning. Terms of the active tables complete all that is typed, or
    its last word; each has one translation into a language of the documents.
    """
    identifier = request_id(request)
    names = split_names(collections)
    readers = readers_of(None, settings.search.readers, request.headers.get("accept-language"))
    threads: Threads = request.app.state.threads

    def answer(_: Cancelled) -> Response:
        suggested = runtime.suggest.suggest(q, identifier, language, names, readers)
        return Response(as_json(suggested), media_type="application/json")

    return await threads.run(request, answer, waits=False)
