"""Questions for the LLM: read to it by a bridge, with documents that search finds."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.engine.core.admission import Limit
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import InvalidRequest, Unavailable
from dragoman.engine.models.generation import Generating, Prompted, ReasonerInfo, bridge_place
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.qa.request import ReasonQuery
from dragoman.engine.qa.response import AnswerDocument, ReasonResponse, Usage
from dragoman.engine.query.description import undecided_message
from dragoman.engine.query.language import FALLBACK, NEIGHBOURS, Detection, detect, detect_by_words
from dragoman.engine.query.response import QueryRead
from dragoman.engine.search.ranked import RankedDocument
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.service import Search
from dragoman.engine.search.shown.offsets import count_in_utf16
from dragoman.engine.settings import Settings
from dragoman.reasoning.layalign.reach import reach

STAGE = "reason"
READ = "en"
"""The language that the LLM of a bridge reads."""
TOKENS = 256
PASSAGE_TOKENS = 200
"""Tokens of each document that are quoted to the model that reasons."""
_ANSWER = re.compile(r"\bthe answer is:?\s+", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Underway:
    """An answer that is being generated, and the response that lacks it."""

    generating: Generating
    response: ReasonResponse

    def finish(self) -> ReasonResponse:
        """The response, once the generation has ended."""
        generated, response = self.generating.future.result(), self.response
        response.reasoning, response.answer = split_answer(generated.text)
        prompt, completion = generated.prompt_tokens, generated.completion_tokens
        response.usage = Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
        if not generated.whole:
            response.truncated.append(f"answer: cut off after {generated.limit} tokens")
        return response


class Reasoning:
    """Has the LLM answer questions. Safe from any thread."""

    def __init__(self, models: Models, search: Search, settings: Settings, metrics: Metrics) -> None:
        self._models, self._search, self._settings, self._metrics = models, search, settings, metrics
        self.answers = Limit(settings.qa.reason_waiting, "answers are being generated")
        """To be held from before an answer begins until it ends."""

    def begin(
        self,
        request: ReasonQuery,
        request_id: str,
        cancelled: Cancelled | None = None,
        emit: Callable[[str], None] | None = None,
    ) -> Underway:
        """Queue an answer; `emit` receives its pieces on the worker's thread.

        Raises:
            InvalidRequest: a field is not allowed; the message names it.
            NotFound: there is no such collection.
            TooManyRequests: the queue for the models is full.
            Unavailable: there is no model that reasons, it cannot be loaded, or the models hang.
        """
        settings = self._settings
        bridge_place(settings)
        limit = request.max_tokens or min(TOKENS, settings.qa.reason_tokens)
        if limit > settings.qa.reason_tokens:
            raise InvalidRequest(f"max_tokens: {limit}; at most {settings.qa.reason_tokens} are allowed")
        if len(request.question) > settings.search.query_chars:
            raise InvalidRequest(
                f"question: {len(request.question)} characters; at most {settings.search.query_chars} are allowed"
            )
        if reason := self._models.stuck(settings.qa.reason_seconds):
            raise Unavailable(reason)
        reasoner = self._models.reasoner(cancelled)
        response, quoted = self._begin_response(request, request_id, reasoner, cancelled)
        if reasoner.languages and response.query.language not in reasoner.languages:
            reason = f"{reasoner.name} did not learn to read {response.query.language!r}"
            response.degraded.append(Degraded.of(STAGE, reason, "language"))
        self._metrics.count_degraded(response.degraded)
        prompt = Prompted(request.question, quoted, limit, request.temperature, secrets.randbits(32))
        return Underway(self._models.generate(prompt, emit), response)

    def _begin_response(
        self, request: ReasonQuery, request_id: str, reasoner: ReasonerInfo, cancelled: Cancelled | None
    ) -> tuple[ReasonResponse, str]:
        """A response without an answer, and the text to quote."""
        limits = f": {reasoner.limits}" if reasoner.limits else ""
        common: dict[str, Any] = {
            "request_id": request_id,
            "answer": "",
            "reasoning": "",
            "model": reasoner.name + limits,
            "usage": Usage(prompt_tokens=0, completion_tokens=0, total_tokens=0),
        }
        if request.collections is None:
            degraded: list[Degraded] = []
            detection = self._question_language(request, reasoner, degraded)
            query = QueryRead(
                text=request.question,
                language=detection.language,
                detected=request.language is None,
                language_probability=round(detection.probability, 4),
            )
            return ReasonResponse(query=query, degraded=degraded, truncated=[], **common), ""
        search = SearchQuery(
            query=request.question,
            query_language=request.language,
            collections=request.collections,
            filter=request.filter,
            top_k=min(self._settings.qa.reason_passages, self._settings.search.top_k_max),
        )
        retrieval = self._search.retrieve(search, cancelled)
        response = ReasonResponse(
            query=retrieval.understood,
            passages=[document.hit for document in retrieval.documents],
            degraded=retrieval.degraded,
            truncated=retrieval.truncated,
            **common,
        )
        quoted = self._quote(retrieval.documents, reasoner, response)
        if request.offsets == "utf16":
            count_in_utf16(retrieval)  # now that the snippets are quoted by their places in code points
        return response, quoted

    def _question_language(self, request: ReasonQuery, reasoner: ReasonerInfo, degraded: list[Degraded]) -> Detection:
        """The question's language: given, or one that the bridge learned or a neighbour of these; a guess is reported.

        Readers' languages are the more likely ones. Of an LLM without a bridge nobody says what it reads: any usual
        language may be meant.
        """
        if request.language is not None:
            return Detection.of_request(request.language)
        candidates = {FALLBACK, *reasoner.languages, *NEIGHBOURS} if reasoner.languages else {FALLBACK}
        readers = self._settings.search.readers
        if reasoner.bridge:
            detection = detect(request.question, candidates, lambda language, word: False, readers=readers)
        else:
            detection = detect_by_words(request.question, readers)
        if not detection.decided:
            degraded.append(Degraded.of("detect", f"question: {undecided_message(detection.language)}", "undecided"))
        return detection

    def _quote(self, documents: Sequence[RankedDocument], reasoner: ReasonerInfo, response: ReasonResponse) -> str:
        """Documents with their ids, each on a line; of long ones what matches the question best, and what follows.

        Where there are several collections, an id has its collection before it.
        """
        lines, answer_documents = [], []
        several = len({document.hit.collection for document in documents}) > 1  # where one id can be two documents
        for document in documents:
            hit, stored, tokens = document.hit, document.stored, PASSAGE_TOKENS
            low = max(0, hit.snippet_start - reach(tokens))
            text = stored.part(low, hit.snippet_start + reach(tokens))
            start, end = self._models.window(text, hit.snippet_start - low, tokens)
            place = f"{hit.collection}/{hit.id}"
            if end - start < (length := stored.length()):
                response.truncated.append(f"{place}: characters {low + start} to {low + end} of {length} were quoted")
            lines.append(f"\n[{place if several else hit.id}] {' '.join(text[start:end].split())}")
            answer_documents.append(AnswerDocument.of(hit))
        foreign = sorted({document.language for document in answer_documents} - {READ})
        if foreign and reasoner.bridge:
            reason = f"documents in {', '.join(foreign)} were quoted as they are, and the LLM reads English alone"
            response.degraded.append(Degraded.of(STAGE, reason, "language"))
        response.documents = answer_documents
        return "".join(lines)


def split_answer(text: str) -> tuple[str, str]:
    """The reasoning and the answer in a generated text."""
    text = text.strip()
    matches = list(_ANSWER.finditer(text))
    if matches:
        return text[: matches[-1].start()].strip(), text[matches[-1].end() :].strip().removesuffix(".")
    sentences = _SENTENCE.split(text)
    return text[: len(text) - len(sentences[-1])].strip(), sentences[-1]
