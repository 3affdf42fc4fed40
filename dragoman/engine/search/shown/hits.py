"""Builds hits: documents with the evidence for their match."""

from __future__ import annotations

import json
from typing import Any

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.chosen_fields import ChosenFields
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.stages import optional
from dragoman.engine.indexing.stored_text import StoredText
from dragoman.engine.search.ranked import RankedDocument, Retrieval, StageScore
from dragoman.engine.search.response import (
    Fusion,
    Highlight,
    Hit,
    RankedBy,
    Scores,
    TextField,
)
from dragoman.engine.search.room import contribution_size, highlight_size, snippet_size
from dragoman.engine.search.shown.evidence import Evidence, Shown, beginning, of_sentence
from dragoman.engine.search.shown.exact import readings_of, required_highlights
from dragoman.engine.search.shown.places import Work
from dragoman.lexicon.text.passages import Span
from dragoman.lexicon.text.tokens import Token

STAGE = "highlights"


def add_hits(retrieval: Retrieval) -> None:
    """Give the documents of a search their hits; those for which there is no time have no evidence."""
    rankings = {
        (ranking.collection.key, ranking.translated.language): ranking for ranking in retrieval.collection_rankings
    }
    evidence: dict[int, Evidence] = {}
    work, hits = Work(), 0
    snippets = retrieval.request.snippets
    retrieval.room.reserve(len(retrieval.documents), snippets.length)
    try:
        with optional():
            for document in check_each(retrieval.documents):
                ranking = document.collection_ranking or rankings.get(
                    (document.collection.key, document.stored.language)
                )
                if ranking is not None and id(ranking) not in evidence:
                    evidence[id(ranking)] = Evidence(
                        retrieval.request.query,
                        ranking,
                        work,
                        readings_of(retrieval, ranking.translated.language),
                        snippets,
                    )
                rank = retrieval.offset + hits + 1
                shown = _show(retrieval, rank, document, evidence[id(ranking)] if ranking is not None else None, work)
                document.hit = _hit(rank, document, shown, retrieval)
                hits += 1
    except Unavailable as fault:
        effect = (
            f"hits from rank {retrieval.offset + hits + 1} on have no evidence, and their snippets are their beginnings"
        )
        retrieval.degraded.append(Degraded.of(STAGE, f"{effect}: {fault}", fault.cause))
        for rank, document in enumerate(retrieval.documents[hits:], retrieval.offset + hits + 1):
            shown = Shown(beginning(document.stored.text, snippets.length))
            _list_snippets(retrieval, rank, shown)
            document.hit = _hit(rank, document, shown, retrieval)


def _show(retrieval: Retrieval, rank: int, document: RankedDocument, evidence: Evidence | None, work: Work) -> Shown:
    """What is shown of a document; ``evidence`` is None if dense search alone found it."""
    sentence = document.passage.sentence if document.passage is not None else None
    explained = retrieval.request.explain and not retrieval.room.short_of("contributions")
    if evidence is None:
        shown = of_sentence(document, sentence or (0, 0), retrieval.request.snippets.length)
    else:
        shown = evidence.of(document, explained)
    _list_snippets(retrieval, rank, shown)
    if required := required_highlights(retrieval, document, shown.snippets, shown.tokens):
        shown.highlights = _in_order(_without_repetitions([*shown.highlights, *required]))
    if sentence is not None:
        meant = meaning_highlights(retrieval.request.query, document.stored, _shown_part(sentence, shown))
        shown.highlights = _in_order([*meant, *shown.highlights])
    retrieval.truncated += [f"{STAGE}: of document {document.stored.id!r} {limit}" for limit in shown.limits]
    if retrieval.request.gloss:
        if evidence is None and document.stored.complete and work.analyse(len(document.whole.text)):
            shown.tokens = document.whole.tokens
        document.words = _words(document, shown)
    document.whole = document.whole.without_words()
    return shown


def _list_snippets(retrieval: Retrieval, rank: int, shown: Shown) -> None:
    """List the snippets if several are requested; without those that have no room, and their highlights."""
    if retrieval.request.snippets.count == 1:
        return
    shown.listed = retrieval.room.fitting("snippets", rank, shown.snippets, snippet_size)
    if len(shown.listed) <= len(shown.further):
        shown.further = shown.listed[1:]
        ranges = [(snippet.start, snippet.start + len(snippet.text)) for snippet in shown.snippets]
        shown.highlights = [
            highlight
            for highlight in shown.highlights
            if highlight.field == "title"
            or any(low <= highlight.start and highlight.end <= high for low, high in ranges)
        ]


def _shown_part(sentence: Span, shown: Shown) -> Span:
    """As much of a sentence as the snippet has, which may be shorter; all of it where the snippet has none."""
    low, high = max(sentence[0], shown.start), min(sentence[1], shown.start + len(shown.snippet))
    return (low, high) if low < high else sentence


def _words(document: RankedDocument, shown: Shown) -> list[Token] | None:
    """The words of the title and the snippets; None if they are not known."""
    if shown.tokens is None:
        return None
    before = len(document.whole.text) - len(document.stored.text)
    starts = [(before + snippet.start, len(snippet.text)) for snippet in shown.snippets]
    return [
        word
        for word in shown.tokens
        if word.end < before or any(start <= word.start and word.end <= start + size for start, size in starts)
    ]


def _hit(rank: int, document: RankedDocument, shown: Shown, retrieval: Retrieval) -> Hit:
    stored, request, room = document.stored, retrieval.request, retrieval.room
    hit = Hit(
        rank=rank,
        id=stored.id,
        collection=document.collection.name,
        language=stored.language,
        score=document.score,
        scores=_scores(document),
        title=room.title(rank, stored.title),
        snippet=shown.snippet,
        snippet_start=shown.start,
        metadata=_metadata(rank, stored, retrieval),
        highlights=room.fitting("highlights", rank, shown.highlights, highlight_size),
        relevance=document.relevance,
        weak=document.weak,
    )
    if request.snippets.count > 1:
        hit.snippets = shown.listed
    if request.collapse is not None:
        hit.collapsed = document.collapsed
    if request.explain:
        hit.contributions = []
        if retrieval.collection_rankings and shown.tokens is not None:
            hit.contributions = room.all_or_none("contributions", rank, shown.contributions, contribution_size)
        if request.method == "hybrid":
            hit.fusion = _fusion(document)
    return hit


def _metadata(rank: int, stored: StoredText, retrieval: Retrieval) -> dict[str, Any]:
    """What a hit shows of a document's metadata."""
    if not stored.metadata_chars:
        return {}
    if not stored.metadata:
        retrieval.truncated.append(
            f"metadata: that of document {stored.id!r} is left out: {stored.metadata_chars} characters"
        )
        return {}
    metadata: dict[str, Any] = json.loads(stored.metadata)
    size = stored.metadata_chars
    if retrieval.request.fields is not None:
        metadata = ChosenFields(retrieval.request.fields).of_metadata(metadata)
        size = len(json.dumps(metadata))
    return metadata if retrieval.room.metadata(rank, size) else {}


def _fusion(document: RankedDocument) -> Fusion:
    fused = {"bm25": document.bm25, "dense": document.dense} | (
        {} if document.late is None else {"late": document.late}
    )
    return Fusion(**{stage: _ranked_by(score) for stage, score in fused.items()})


def _ranked_by(score: StageScore | None) -> RankedBy | None:
    """A score that the fused one is made of; None if it is not."""
    if score is None or score.weight is None:
        return None
    return RankedBy(rank=score.rank, score=score.score, value=score.share, weight=score.weight)


def meaning_highlights(query: str, document: StoredText, sentence: Span) -> list[Highlight]:
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


def _without_repetitions(highlights: list[Highlight]) -> list[Highlight]:
    """Those of a word of the query that is also required once."""
    distinct: dict[tuple[str, int, int, str], Highlight] = {}
    for highlight in highlights:
        distinct.setdefault((highlight.field, highlight.start, highlight.end, highlight.query_term), highlight)
    return list(distinct.values())


def _in_order(highlights: list[Highlight]) -> list[Highlight]:
    """Those of the title, then those of the text, each by start; of those that start together the first one first."""
    return sorted(highlights, key=lambda highlight: (highlight.field == "text", highlight.start))


def _scores(document: RankedDocument) -> Scores:
    scores = Scores(first_stage=document.first_stage, rerank=document.rerank)
    if document.dense is not None:
        scores.dense = document.dense.score
    if document.late is not None:
        scores.late = document.late.score
    return scores
