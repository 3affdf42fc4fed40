"""One line of a job: read, and answered as its endpoint would answer it."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import ValidationError

from dragoman.engine.core.answer import fields_of
from dragoman.engine.core.errors import InvalidRequest, ServiceError
from dragoman.engine.core.trec import one_collection
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.qa.question_answering import QuestionAnswering
from dragoman.engine.rerank.request import RerankRequests
from dragoman.engine.search.request import Method
from dragoman.engine.search.service import Search
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.service.qa.schemas import QaRequest
from dragoman.service.reports.service import record_retrieval, record_search
from dragoman.service.rerank.response import answer_v1, check_scored
from dragoman.service.rerank.schemas import DocumentFields, RerankV1
from dragoman.service.search.schemas import SearchRequest
from dragoman.store.line import LineId, LineRejected, parse_object
from dragoman.store.reports.recording import Recording
from dragoman.store.validation import Body, describe

JobType = Literal["rerank", "search", "qa"]
_PLACED = re.compile("[0-9]+:")


class SettledQa(QaRequest):
    """A question as a job keeps it: its documents are searched for by the method that was chosen when it was sent."""

    method: Method | None = None


_REQUESTS: dict[JobType, type[RerankV1 | SearchRequest | QaRequest]] = {
    "rerank": RerankV1,
    "search": SearchRequest,
    "qa": QaRequest,
}
_STORED = _REQUESTS | {"qa": SettledQa}


@dataclass(frozen=True, slots=True)
class LineRequest:
    """What a line asks."""

    custom_id: str
    request: RerankV1 | SearchRequest | QaRequest


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """The endpoint's answer as JSON, and what names its documents in a TREC run: see :func:`run_names`."""

    response: str
    ids: str | None = None


class _Named(Body):
    custom_id: LineId


def parse_line(content: bytes, type: JobType, depth: int, *, stored: bool = False) -> LineRequest:
    """The request of one line, as it was sent or as a job ``stored`` it.

    Raises:
        LineRejected: not JSON, without a usable custom_id, or not what the endpoint takes.
    """
    fields = parse_object(content, depth)
    try:
        custom_id = _Named.model_validate(fields).custom_id
    except ValidationError as fault:
        raise LineRejected(describe(fault.errors())) from fault
    del fields["custom_id"]
    try:
        request = (_STORED if stored else _REQUESTS)[type].model_validate(fields)
        if isinstance(request, RerankV1):
            request.texts()
    except ValidationError as fault:
        raise LineRejected(describe(fault.errors()), custom_id) from fault
    except InvalidRequest as fault:
        raise LineRejected(str(fault), custom_id) from fault
    return LineRequest(custom_id, request)


class LineAnswers:
    """Answers lines of jobs as the endpoints would. Safe from any thread."""

    def __init__(
        self,
        search: Search,
        qa: QuestionAnswering,
        rerank: RerankRequests,
        settings: Settings,
        recording: Recording,
    ) -> None:
        self._search, self._qa = search, qa
        self._recording = recording
        self._rerank = rerank
        self._settings = settings

    def default_method(self, request: SearchRequest | QaRequest) -> Method | None:
        """The method of a search that names none, as of now; None if its collections are not there.

        Questions over a context need no search: None too.
        """
        try:
            if isinstance(request, QaRequest):
                return self._qa.default_method(request.as_query())
            return self._search.default_method(request.as_query())
        except ServiceError:
            return None

    def answer(self, line: LineRequest, snapshot: Snapshot, cancelled: Cancelled) -> LineAnswer:
        """What the endpoint answers, with the tables of one snapshot; the request's id is the line's ``custom_id``.

        ``timings_ms`` are left out, so that two runs of a job are equal.

        Raises:
            ServiceError: what the endpoint would answer in place of it, or the line was cancelled.
        """
        if isinstance(line.request, SearchRequest):
            query = line.request.as_query()
            results = self._search.search(query, line.custom_id, cancelled, snapshot)
            record_search(self._recording, query, results, "job")
            response = fields_of(results)
            del response["timings_ms"]
            return LineAnswer(_dump(response), run_names(line.request))
        if isinstance(line.request, QaRequest):
            method = line.request.method if isinstance(line.request, SettledQa) else None
            record = partial(record_retrieval, self._recording, line.custom_id, kind="job")
            answered = self._qa.answer(line.request.as_query(), line.custom_id, cancelled, snapshot, method, record)
            return LineAnswer(_dump(fields_of(answered)), run_names(line.request))
        request, texts = line.request, line.request.texts()
        begun = self._rerank.begin(request.as_query(), texts, snapshot)
        scores = begun.pending.result(time.monotonic() + self._settings.jobs.job_line_seconds, cancelled)
        ranked = begun.ranking(scores, raw=bool(request.raw_scores))
        check_scored(ranked, len(texts))
        response = answer_v1(line.custom_id, request, ranked).model_dump(mode="json", exclude_none=True)
        return LineAnswer(_dump(response), run_names(request))


def run_names(request: RerankV1 | SearchRequest | QaRequest) -> str | None:
    """What names a line's documents in a TREC run, as JSON.

    The documents of a rerank request, a list: an id, or the place in the request of one without an id. The one
    collection of a search, ``{"collection": name}``, null where it is not one that is named. None if nothing is
    searched or reranked.
    """
    if isinstance(request, RerankV1):
        return _dump(_document_names(request))
    if isinstance(request, QaRequest) and request.context is not None:
        return None
    named = request.collections if request.collections and one_collection(request.collections) else [None]
    return _dump({"collection": named[0]})


def _document_names(request: RerankV1) -> list[str]:
    """A name for each document: its id, or its place; ``place:id`` where another document has that name too.

    An id that looks like such a name gets its place as well, so that no two names are the same.
    """
    ids = [_id(document) for document in request.documents]
    names = [str(place) if id is None else id for place, id in enumerate(ids)]
    counted = Counter(names)
    return [
        name if counted[name] == 1 and not _PLACED.match(name) else f"{place}:{name}"
        for place, name in enumerate(names)
    ]


def _id(document: str | DocumentFields) -> str | None:
    """The id of a document that is an object with one: a text or an integer, in ``id`` or else in ``_id``."""
    fields = {} if isinstance(document, str) else document.model_extra or {}
    ids = (fields.get(name) for name in ("id", "_id"))
    usable = (str(id) for id in ids if isinstance(id, str | int) and not isinstance(id, bool))
    return next(filter(None, usable), None)


def _dump(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
