"""Reads a document for someone who does not know its language."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Protocol

from dragoman.deadline import check, check_each
from dragoman.engine.core.answer import LEFT_OUT, Degraded, significant
from dragoman.engine.core.errors import InvalidRequest, NotFound, Unavailable
from dragoman.engine.core.stages import optional
from dragoman.engine.indexing.collections import SearchedCollections
from dragoman.engine.indexing.feed import indexed_text
from dragoman.engine.indexing.stored_text import BEGINNING
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.description import describe, tables_used
from dragoman.engine.read.request import ReadQuery
from dragoman.engine.read.response import GlossTranslation, ReadDocument, ReadResponse, Sentence, WordGloss
from dragoman.engine.read.share import Share, gloss_bytes, sentence_bytes
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import TextField
from dragoman.engine.search.room import highlight_size
from dragoman.engine.search.service import Search
from dragoman.engine.search.shown.evidence import Evidence, excerpt_of
from dragoman.engine.search.shown.glosses import Glosses, no_gloss
from dragoman.engine.search.shown.hits import meaning_highlights
from dragoman.engine.search.shown.places import Work
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry
from dragoman.lexicon.text.offsets import Utf16
from dragoman.lexicon.text.passages import sentences
from dragoman.lexicon.text.tokens import Analysis, Token

STAGE = "read"
_PART = BEGINNING
"""How much of a long text is analysed at a time, in code points; a text that a search analyses whole is one part."""
_MARGIN = 600
"""How much more is analysed on both sides, so that every word and phrase of a part is found in it."""


class WholeDocument(Protocol):
    """A document as stored."""

    @property
    def key(self) -> int: ...
    @property
    def collection(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def text(self) -> str: ...
    @property
    def metadata(self) -> dict[str, Any] | None: ...
    @property
    def generation(self) -> int: ...


class ReadCollections(SearchedCollections, Protocol):
    """What reading asks of whoever stores the collections."""

    def document(self, name: str, id: str) -> WholeDocument:
        """One document by its id, of a collection by its name or alias.

        Raises:
            NotFound: no such collection, or no such document in it.
        """


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a field with its words; those that begin from ``start`` to ``end`` are of this part alone.

    ``text`` begins at ``offset`` in the field, and at ``before`` in what the words are of.
    """

    field: TextField
    text: str
    offset: int
    tokens: Sequence[Token]
    start: int
    end: int
    before: int = 0

    def has(self, start: int) -> bool:
        """Whether what begins at this place of the field is of this part."""
        return self.start <= start < self.end


class Reading:
    """Reads documents. Every method may be called from any thread."""

    def __init__(
        self,
        collections: ReadCollections,
        search: Search,
        registry: TableRegistry,
        analysis: Callable[[str], Analysis],
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        self._collections = collections
        self._search = search
        self._registry = registry
        self._analysis = analysis
        self._settings = settings
        self._metrics = metrics

    def read(self, request: ReadQuery, request_id: str, cancelled: Cancelled | None = None) -> ReadResponse:
        """A whole document, with all matches of a query, its sentences, and glosses in the reader's language.

        Raises:
            InvalidRequest: a field is not allowed; the message names it.
            NotFound: there is no such collection, document or table.
        """
        names = request.tables or ()
        if len(names) > self._settings.search.search_names:
            raise InvalidRequest(
                f"tables: {len(names)} of them; at most {self._settings.search.search_names} are allowed"
            )
        snapshot = self._registry.include(self._registry.snapshot, names)
        whole = self._collections.document(request.collection, request.id)
        document = self._as_ranked(whole)
        response = ReadResponse(
            request_id=request_id,
            document=ReadDocument(
                id=whole.id,
                collection=whole.collection,
                language=whole.language,
                title=whole.title,
                text=whole.text,
                metadata=whole.metadata,
                generation=whole.generation,
            ),
            highlights=[],
            gloss=[],
            sentences=[],
            degraded=[],
            truncated=[],
        )
        room = self._settings.search.answer_bytes
        self._add_sentences(response, Share("sentences", room // 8))
        evidence = None
        if request.query is not None:
            evidence = self._match(request, request.query, document, snapshot, response, cancelled)
        self._add_words(response, document, evidence, self._glosses(request, document, snapshot, response), room)
        if request.offsets == "utf16":
            _count_in_utf16(response)
        self._metrics.count_degraded(response.degraded)
        return response

    def _as_ranked(self, whole: WholeDocument) -> RankedDocument:
        """The document as a search has it, with its whole text."""
        (info,) = self._collections.chosen([whole.collection])
        stored = self._collections.by_keys([whole.key]).get(whole.key)
        if stored is None:
            raise NotFound(f"there is no document with id {whole.id!r} any more: it was deleted meanwhile")
        if stored.text != whole.text[:BEGINNING]:
            stored = replace(stored, generation=-1)  # replaced meanwhile: no passage is of this text
        document = RankedDocument(info, whole.key, whole.language)
        document.stored = replace(stored, language=whole.language, title=whole.title, text=whole.text, complete=True)
        document.whole = AnalysedText(indexed_text(whole.title, whole.text), whole.language, self._analysis)
        return document

    def _match(
        self,
        request: ReadQuery,
        query: str,
        document: RankedDocument,
        snapshot: Snapshot,
        response: ReadResponse,
        cancelled: Cancelled | None,
    ) -> Evidence | None:
        """What finds the matches of a query; None if no document of this language matches it."""
        search = SearchQuery(
            query=query,
            query_language=request.query_language,
            reader_languages=[request.reader_language],
            collections=[document.collection.name],
            tables=request.tables,
            rerank=False,
        )
        retrieval = self._search.match(search, document, cancelled, snapshot)
        response.query = retrieval.understood
        response.translation = describe(retrieval.query, retrieval.translations, retrieval.names, retrieval.truncated)
        response.degraded += retrieval.degraded
        response.truncated += retrieval.truncated
        passage = document.passage
        if passage is not None and passage.generation == document.stored.generation:
            response.highlights = meaning_highlights(query, document.stored, passage.sentence)
        return _evidence(query, document, retrieval)

    def _glosses(
        self, request: ReadQuery, document: RankedDocument, snapshot: Snapshot, response: ReadResponse
    ) -> Glosses | None:
        """What glosses the document's words; None if it needs none or there is no table, which is said."""
        language, reader = document.language, request.reader_language
        if language == reader:
            return None
        if request.tables is not None:
            snapshot = self._registry.select(snapshot, request.tables, reader, [language])
        glosses = self._search.glosses(reader, snapshot)
        if glosses.view(language) is None:
            response.degraded.append(no_gloss(language, reader, snapshot))
            return None
        return glosses

    def _add_sentences(self, response: ReadResponse, share: Share) -> None:
        document = response.document
        fields: list[tuple[TextField, str]] = [("title", document.title or ""), ("text", document.text)]
        try:
            with optional():
                spans = (
                    Sentence(field=name, start=start, end=end)
                    for name, text in fields
                    for start, end in check_each(sentences(text), 100)
                )
                response.sentences = share.fit(spans, sentence_bytes)
        except Unavailable as fault:
            response.degraded.append(Degraded.of("sentences", f"there are none: {fault}", fault.cause))
        response.truncated += share.messages()

    def _add_words(
        self,
        response: ReadResponse,
        document: RankedDocument,
        evidence: Evidence | None,
        glosses: Glosses | None,
        room: int,
    ) -> None:
        """Add the matches and the glosses, part by part, as far as there is time and room."""
        if evidence is None and glosses is None:
            return
        matches, words = Share("highlights", room * 3 // 8), Share("gloss", room // 2)
        reached = "the title"
        try:
            with optional():
                for part in self._parts(document):
                    if (evidence is None or matches.is_full) and (glosses is None or words.is_full):
                        break
                    reached = "the title" if part.field == "title" else f"character {part.start} of the text"
                    if evidence is not None:
                        highlights = evidence.highlights(part.field, part.text, part.offset, part.tokens, part.before)
                        of_part = (highlight for highlight in highlights if part.has(highlight.start))
                        response.highlights += matches.fit(of_part, highlight_size)
                    if glosses is not None:
                        response.gloss += words.fit(_gloss_part(part, document.language, glosses), gloss_bytes)
        except Unavailable as fault:
            lists = [name for name, there in (("highlights", evidence), ("gloss", glosses)) if there is not None]
            reason = f"{' and '.join(lists)} end at about {reached}: {fault}"
            response.degraded.append(Degraded.of(STAGE, reason, fault.cause))
        response.highlights.sort(key=lambda highlight: (highlight.field == "text", highlight.start))
        response.truncated += [*matches.messages(), *words.messages()]

    def _parts(self, document: RankedDocument) -> Iterator[Part]:
        """The title and the text with their words, of a long text a part at a time."""
        title, text = document.stored.title or "", document.stored.text
        check()
        if len(text) <= BEGINNING:
            tokens = document.whole.tokens
            before = len(document.whole.text) - len(text)
            first = bisect_left(tokens, before, key=attrgetter("start")) if before else 0
            yield Part("title", title, 0, tokens[:first], 0, len(title))
            yield Part("text", text, 0, tokens[first:], 0, len(text), before)
            return
        yield Part("title", title, 0, self._analysis(document.language).tokens(title), 0, len(title))
        for start in check_each(range(0, len(text), _PART)):
            excerpt = excerpt_of(document, max(0, start - _MARGIN), start + _PART + _MARGIN)
            yield Part("text", excerpt.text, excerpt.start, excerpt.tokens, start, start + _PART)


def _count_in_utf16(response: ReadResponse) -> None:
    """Count all offsets in code units; once, when the response is complete."""
    fields = {"title": Utf16(response.document.title or ""), "text": Utf16(response.document.text)}
    for spans in (response.highlights, response.gloss, response.sentences):
        for field, counted in fields.items():
            counted.count(span for span in spans if span.field == field)


def _evidence(query: str, document: RankedDocument, retrieval: Retrieval) -> Evidence | None:
    for ranking in retrieval.collection_rankings:
        if ranking.translated.language == document.language:
            return Evidence(query, ranking, Work())
    return None


def _gloss_part(part: Part, language: str, glosses: Glosses) -> Iterator[WordGloss]:
    offset = part.offset - part.before
    for token, translations in glosses.of_tokens(part.tokens, language):
        if part.has(offset + token.start):
            yield WordGloss(
                field=part.field,
                start=offset + token.start,
                end=offset + token.end,
                translations=[
                    GlossTranslation(
                        term=translation.term,
                        probability=significant(translation.probability),
                        table=translation.version.name,
                        version=translation.version.version,
                        by_way_of=tables_used([translation.between]) if translation.between else LEFT_OUT,
                    )
                    for translation in translations
                ],
            )
