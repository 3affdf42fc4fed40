"""Builds hits: documents with the evidence for their match."""

from __future__ import annotations

from dataclasses import asdict, replace

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.stages import optional
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.response import (
    Fusion,
    Highlight,
    Hit,
    RankedBy,
    Scores,
    TextField,
)
from dragoman.engine.search.room import contribution_size, highlight_size
from dragoman.engine.search.shown.evidence import Evidence, Shown, beginning, of_sentence
from dragoman.engine.search.shown.places import Work
from dragoman.lexicon.text.passages import Span
from dragoman.lexicon.text.tokens import Token
from dragoman.service.collections.texts import StoredText

STAGE = "highlights"


def add_hits(search: Retrieval) -> None:
    """Give the documents of a search their hits; those for which there is no time have no evidence."""
    parts = {(part.collection.key, part.translated.language): part for part in search.parts}
    evidence: dict[int, Evidence] = {}
    work, hits = Work(), 0
    search.room.reserve(len(search.documents))
    try:
        with optional():
            for one in check_each(search.documents):
                part = one.part or parts.get((one.collection.key, one.stored.language))
                if part is not None and id(part) not in evidence:
                    evidence[id(part)] = Evidence(search.request.query, part, work)
                shown = _shown(search, one, evidence[id(part)] if part is not None else None, work)
                one.hit = _hit(hits + 1, one, shown, search)
                hits += 1
    except Unavailable as fault:
        effect = f"hits from rank {hits + 1} on have no evidence, and their snippets are their beginnings"
        search.degraded.append(Degraded.of(STAGE, f"{effect}: {fault}", fault.error_type))
        for rank, one in enumerate(search.documents[hits:], hits + 1):
            one.hit = _hit(rank, one, Shown(beginning(one.stored.text)), search)


def _shown(search: Retrieval, one: RankedDocument, evidence: Evidence | None, work: Work) -> Shown:
    """What is shown of a document; ``evidence`` is None if dense search alone found it."""
    sentence = one.passage.sentence if one.passage is not None else None
    explained = search.request.explain and not search.room.short_of("contributions")
    shown = of_sentence(one, sentence or (0, 0)) if evidence is None else evidence.of(one, explained)
    if sentence is not None:
        meant = _meaning(search.request.query, one.stored, sentence)
        shown.highlights = _in_order([*meant, *shown.highlights])
    search.truncated += [f"{STAGE}: of document {one.stored.id!r} {limit}" for limit in shown.limits]
    if search.request.gloss:
        if evidence is None and one.stored.complete and work.analyse(len(one.whole.text)):
            shown.tokens = one.whole.tokens
        one.words = _words(one, shown)
    one.whole = replace(one.whole)  # without its words, which are many
    return shown


def _words(one: RankedDocument, shown: Shown) -> list[Token] | None:
    """The words of the title and the snippet; None if they are not known."""
    if shown.tokens is None:
        return None
    before = len(one.whole.text) - len(one.stored.text)
    start = before + shown.start
    end = start + len(shown.snippet)
    return [word for word in shown.tokens if word.end < before or (start <= word.start and word.end <= end)]


def _hit(rank: int, one: RankedDocument, shown: Shown, search: Retrieval) -> Hit:
    stored, request, room = one.stored, search.request, search.room
    hit = Hit(
        rank=rank,
        id=stored.id,
        collection=one.collection.name,
        language=stored.language,
        score=one.score,
        scores=_scores(one),
        title=room.title(rank, stored.title),
        snippet=shown.snippet,
        snippet_start=shown.start,
        highlights=room.fitting("highlights", rank, shown.highlights, highlight_size),
    )
    if request.explain:
        hit.contributions = []
        if search.parts and shown.tokens is not None:
            hit.contributions = room.all_or_none("contributions", rank, shown.contributions, contribution_size)
        if request.method == "hybrid":
            hit.fusion = _fusion(one)
    return hit


def _fusion(one: RankedDocument) -> Fusion:
    fused = {"bm25": one.bm25, "dense": one.dense} | ({} if one.late is None else {"late": one.late})
    return Fusion(
        **{
            stage: None if found is None or found.weight is None else RankedBy(**asdict(found))
            for stage, found in fused.items()
        }
    )


def _meaning(query: str, document: StoredText, sentence: Span) -> list[Highlight]:
    """The best sentence, or the title; nothing if the document has been replaced since."""
    field: TextField = "text" if sentence[1] else "title"
    text = document.part(*sentence) if sentence[1] else document.title or ""
    start = sentence[0] if sentence[1] else 0
    if not text:
        return []
    return [
        Highlight(
            field=field,
            start=start,
            end=start + len(text),
            match="meaning",
            document_term=text,
            query_term=query,
            probability=None,
            table=None,
            version=None,
        )
    ]


def _in_order(highlights: list[Highlight]) -> list[Highlight]:
    """Those of the title, then those of the text, each by start; of those that start together the first one first."""
    return sorted(highlights, key=lambda one: (one.field == "text", one.start))


def _scores(one: RankedDocument) -> Scores:
    scores = Scores(first_stage=one.first_stage, rerank=one.rerank)
    if one.dense is not None:
        scores.dense = one.dense.score
    if one.late is not None:
        scores.late = one.late.score
    return scores
