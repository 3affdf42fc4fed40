"""The words of a document that stand for required texts: as highlights, and for the choice of the window."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.core.answer import significant
from dragoman.engine.indexing.feed import indexed_text
from dragoman.engine.query.exact.pattern import Occurrence, Reading
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.response import Highlight, MatchKind, Snippet, TextField
from dragoman.engine.search.shown.snippets import Match, part_of
from dragoman.lexicon.query import IDENTICAL, TRANSLITERATED, TermGroup
from dragoman.lexicon.text.tokens import Analysis, Token

_BORDER = 600
"""Characters at the end of a title, and at the beginning of a text, where what goes on in the other is looked for."""
_WITHOUT_TABLE: dict[int, MatchKind] = {IDENTICAL: "identical", TRANSLITERATED: "sound"}


def readings_of(retrieval: Retrieval, language: str) -> list[Reading]:
    """What the required texts became in a language."""
    return [wish.readings[language] for wish in retrieval.wishes if not wish.excluded and language in wish.readings]


def required_matches(readings: Sequence[Reading], tokens: Sequence[Token], before: int, group: int) -> list[Match]:
    """Where words that begin at ``before`` have the required texts; the first of these is group ``group``."""
    return [
        Match(*_place(place, before), group + index, place.alternative.weight, place.alternative.origin)
        for index, reading in enumerate(readings)
        for place in reading.occurrences(tokens)
    ]


def required_groups(readings: Sequence[Reading]) -> list[TermGroup]:
    """The words of required texts as terms of a query, for the search of likely places in long texts."""
    slots = [slot for reading in readings for slot in (*reading.words, reading.whole) if slot.alternatives]
    return [
        TermGroup(slot.word.casefold(), "", 0, 0, [other for other in slot.alternatives if " " not in other.term])
        for slot in slots
    ]


def required_highlights(
    retrieval: Retrieval, document: RankedDocument, snippets: Sequence[Snippet], tokens: Sequence[Token] | None
) -> list[Highlight]:
    """The required texts in the title and the snippets; ``tokens`` are the words of title and text, or None."""
    readings = readings_of(retrieval, document.stored.language)
    if not readings:
        return []
    title, analysis = document.stored.title or "", document.whole.analysis(document.stored.language)
    parts: list[tuple[TextField, str, int, Sequence[Token], int]] = []
    if tokens is None:
        parts.append(("title", title, 0, analysis.tokens(title), 0))
        parts += [("text", part.text, part.start, analysis.tokens(part.text), 0) for part in snippets]
    else:
        before = len(document.whole.text) - len(document.stored.text)
        parts.append(("title", title, 0, [token for token in tokens if token.end <= len(title)], 0))
        for part in snippets:
            first, last = before + part.start, before + part.start + len(part.text)
            words = [token for token in tokens if first <= token.start and token.end <= last]
            parts.append(("text", part.text, part.start, words, first))
    highlights = [
        _highlight(reading, place, field, text, offset, starts)
        for field, text, offset, words, starts in parts
        for reading in readings
        for place in reading.occurrences(words)
    ]
    return highlights + _across(readings, document, snippets, analysis)


def _across(
    readings: Sequence[Reading], document: RankedDocument, snippets: Sequence[Snippet], analysis: Analysis
) -> list[Highlight]:
    """Texts that begin at the end of the title and go on in the text, as an index has them: in the one and the other.

    What is in no snippet is not marked; repetitions of what is marked in the title or the text alone are left in.
    """
    title = document.stored.title or ""
    beginning = document.stored.part(0, _BORDER)
    if not title or not beginning:
        return []
    joined = indexed_text(title, beginning)
    before = len(joined) - len(beginning)
    tokens = analysis.tokens(joined[max(0, len(title) - _BORDER) :])
    if shift := max(0, len(title) - _BORDER):
        tokens = [token._replace(start=token.start + shift, end=token.end + shift) for token in tokens]
    highlights: list[Highlight] = []
    for reading in readings:
        for place in reading.occurrences(tokens):
            within = [token for token in tokens if place.first.start <= token.start and token.end <= place.last.end]
            in_title = [token for token in within if token.end <= len(title)]
            in_text = [token for token in within if token.start >= before]
            if in_title:
                part = place._replace(first=in_title[0], last=in_title[-1])
                highlights.append(_highlight(reading, part, "title", title, 0, 0))
            for snippet in snippets if in_text else ():
                start, end = in_text[0].start - before, in_text[-1].end - before
                if snippet.start <= start and end <= snippet.start + len(snippet.text):
                    part = place._replace(first=in_text[0], last=in_text[-1])
                    starts = before + snippet.start
                    highlights.append(_highlight(reading, part, "text", snippet.text, snippet.start, starts))
    return highlights


def _place(place: Occurrence, before: int) -> tuple[int, int]:
    first, last = place.first, place.last
    start, end = part_of(first, place.alternative.term) if first is last else (first.start, last.end)
    return start - before, end - before


def _highlight(reading: Reading, place: Occurrence, field: TextField, text: str, offset: int, before: int) -> Highlight:
    origin = place.alternative.origin
    member = reading.members[origin] if origin not in _WITHOUT_TABLE else None
    start, end = _place(place, before)
    return Highlight(
        field=field,
        start=offset + start,
        end=offset + end,
        match=_WITHOUT_TABLE.get(origin, "table"),
        document_term=text[start:end],
        query_term=place.slot.word,
        probability=significant(place.alternative.weight),
        table=member.name if member else None,
        version=member.version if member else None,
    )
