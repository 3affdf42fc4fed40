"""``POST /integrations/openwebui/search``: Open WebUI's external web search.

Open WebUI posts ``{"query", "count"}`` with a Bearer key to the address of its setting "External Search URL", and reads
a list of ``{"link", "title", "snippet"}``: https://github.com/open-webui/open-webui,
``backend/open_webui/retrieval/web/external.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field, StrictInt

from dragoman.engine.core.limits import NAMES, QUERY_CHARS
from dragoman.engine.search.response import SearchResponse
from dragoman.service.dependencies import KNOWN_PARAMETERS, RuntimeDep, SettingsDep
from dragoman.service.http.addresses import PREFIX
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.integrations.searching import address_of, find, search_request
from dragoman.store.validation import Name, NotBlank, TolerantBody

router = APIRouter(prefix="/integrations/openwebui", route_class=StrictRoute, tags=["integrations"])


class OpenWebuiSearch(TolerantBody):
    """What Open WebUI asks."""

    query: NotBlank = Field(max_length=QUERY_CHARS)
    count: StrictInt = Field(default=10, ge=1, description="How many results.")


class OpenWebuiResult(BaseModel):
    """A document found."""

    link: str = Field(description="The `url` of its metadata, or its address in this service.")
    title: str = Field(description="Its title, or else its id.")
    snippet: str


@router.post("/search", response_model=list[OpenWebuiResult], dependencies=[KNOWN_PARAMETERS])
async def search_for_open_webui(
    body: OpenWebuiSearch,
    request: Request,
    runtime: RuntimeDep,
    settings: SettingsDep,
    collection: Annotated[
        list[Name] | None, Query(max_length=NAMES, description="Collections to search; all of them when left out.")
    ] = None,
) -> Response:
    """Search as the external web search of Open WebUI."""
    base = str(request.base_url).rstrip("/") + request.scope.get(PREFIX, "")

    def answer(results: SearchResponse) -> list[dict[str, str]]:
        return [
            {"link": address_of(hit, base), "title": hit.title or hit.id, "snippet": hit.snippet}
            for hit in results.hits
        ]

    query = search_request(query=body.query, collections=collection, top_k=body.count)
    return await find(query, request, runtime, settings, answer, body.unknown_fields())
