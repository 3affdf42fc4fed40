"""``GET /integrations/pyserini/v1/{index}/search``: the search of Pyserini's and Anserini's REST server.

It takes ``query``, ``hits`` and ``parse``, and answers ``candidates`` with ``docid``, ``score``, ``rank`` and ``doc``:
https://github.com/castorini/pyserini, ``pyserini/server/rest/routes/v1.py`` and ``pyserini/server/document_format.py``.
A parsed ``doc`` has the fields of the document without its id, or is the text alone if there is no other field;
``parse=false`` gives the JSON as it would be indexed.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from dragoman.deadline import check_each
from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.engine.search.response import SearchResponse
from dragoman.service.dependencies import KNOWN_PARAMETERS, RuntimeDep, SettingsDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.integrations.searching import find, search_request
from dragoman.store.documents.info import DocumentInfo
from dragoman.store.validation import NotBlank

router = APIRouter(prefix="/integrations/pyserini", route_class=StrictRoute, tags=["integrations"])


class PyseriniQuery(BaseModel):
    """The query as it was asked."""

    text: str


class PyseriniCandidate(BaseModel):
    """A document found."""

    docid: str
    score: float
    rank: int
    doc: dict[str, str] | str | None = Field(description="The whole document; null if it has just been deleted.")


class PyseriniAnswer(BaseModel):
    """What Pyserini's clients read."""

    api: str
    index: str
    query: PyseriniQuery
    candidates: list[PyseriniCandidate]


@router.get("/v1/{index}/search", response_model=PyseriniAnswer, dependencies=[KNOWN_PARAMETERS])
async def search_for_pyserini(
    index: Annotated[str, Path(description="A collection or an alias.")],
    request: Request,
    runtime: RuntimeDep,
    settings: SettingsDep,
    query: Annotated[NotBlank, Query(max_length=QUERY_CHARS, description="The query's text.")],
    hits: Annotated[int, Query(ge=1, description="How many documents.")] = 10,
    parse: Annotated[bool, Query(description="Whether a document is its fields, or the JSON of them.")] = True,
) -> Response:
    """Search one collection as Pyserini's REST server does, with the whole documents."""

    def answer(results: SearchResponse) -> dict[str, Any]:
        candidates, room = [], settings.search.answer_bytes
        for hit in check_each(results.hits):
            try:
                document = runtime.collections.document(hit.collection, hit.id)
            except NotFound:
                document = None
            room -= 0 if document is None else len(document.text.encode())
            if room < 0:
                raise InvalidRequest(
                    f"hits: the first {hit.rank} documents have more than {settings.search.answer_bytes} bytes, which"
                    " is more than an answer has room for; ask for fewer"
                )
            doc = None if document is None else _fields(document) if parse else _source(document)
            candidates.append({"docid": hit.id, "score": hit.score, "rank": hit.rank, "doc": doc})
        return {"api": "v1", "index": index, "query": {"text": query}, "candidates": candidates}

    return await find(search_request(query=query, collections=[index], top_k=hits), request, runtime, settings, answer)


def _fields(document: DocumentInfo) -> dict[str, str] | str:
    return document.text if document.title is None else {"title": document.title, "contents": document.text}


def _source(document: DocumentInfo) -> str:
    title = {} if document.title is None else {"title": document.title}
    return json.dumps({"id": document.id, **title, "contents": document.text}, ensure_ascii=False)
