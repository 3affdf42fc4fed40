"""The words of a document that stand for required texts: as highlights, and for the choice of the window."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.core.numbers import significant
from dragoman.engine.query.exact.pattern import Occurrence, Reading
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.response import Highlight, MatchKind, Snippet, TextField
from dragoman.engine.search.shown.snippets import Match, part_of
from dragoman.lexicon.query import IDENTICAL, TRANSLITERATED, TermGroup
from dragoman.lexicon.text.tokens import Token

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
    return [
        _highlight(reading, place, field, text, offset, starts)
        for field, text, offset, words, starts in parts
        for reading in readings
        for place in reading.occurrences(words)
    ]


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
