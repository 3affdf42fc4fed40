"""What a required or excluded text became in one language, and where documents have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.deadline import check_each
from dragoman.engine.tables.views import ActiveVersion
from dragoman.indexes.lucene.fields import term_field
from dragoman.lexicon.query import Alternative
from dragoman.lexicon.text.tokens import Token

_NOTHING = "k 0"


class Slot(NamedTuple):
    """A word of a text, and what stands for it in documents."""

    word: str
    """As it is written in the text."""
    alternatives: tuple[Alternative, ...]
    """Index terms; one with spaces is several words in a row."""
    gap: int = 0
    """How many other words may stand before it."""


Slots = tuple[Slot, ...]
"""Words that follow one another."""


class Occurrence(NamedTuple):
    """A word, or words, of a document that stand for one of a text."""

    first: Token
    last: Token
    slot: Slot
    alternative: Alternative


@dataclass(frozen=True, slots=True)
class Reading:
    """A text in one language of documents."""

    language: str
    words: Slots
    """Word by word."""
    whole: Slot
    """What stands for all of it."""
    literal: tuple[str, ...] = ()
    """Its words that no table translates, and that are looked for as they are."""
    members: tuple[ActiveVersion, ...] = ()
    """The table versions that the origins of alternatives are places of."""
    left_out: int = 0
    """How many alternatives of its words are not looked for, as there are too many."""

    @property
    def patterns(self) -> list[Slots]:
        """The sequences of which a document has one."""
        return [slots for slots in (self.words, (self.whole,)) if slots and all(slot.alternatives for slot in slots)]

    @property
    def program(self) -> str:
        """The filter that leaves the documents of the language which have it."""
        return any_of([program for slots in self.patterns for program in _programs(slots, term_field(self.language))])

    def occurrences(self, tokens: Sequence[Token]) -> list[Occurrence]:
        """Where the words of a document, or a part of one, have it."""
        return [place for slots in self.patterns for place in _occurrences(slots, tokens)]


@dataclass(slots=True)
class Wish:
    """A text that documents must hold, or must not."""

    path: str
    """Where the request has it."""
    text: str
    excluded: bool = False
    readings: dict[str, Reading] = field(default_factory=dict)
    """By the language of documents."""

    def program(self, languages: Iterable[str]) -> str:
        """The filter over documents in some languages."""
        program = any_of([self.readings[language].program for language in languages])
        return f"! {program}" if self.excluded else program


def any_of(programs: Sequence[str]) -> str:
    """The documents that one of these filters leaves."""
    return _join("|", [program for program in programs if program != _NOTHING])


def all_of(programs: Sequence[str]) -> str:
    """The documents that all of these filters leave."""
    return _join("&", programs)


def _join(operator: str, programs: Sequence[str]) -> str:
    if not programs:
        return _NOTHING
    return programs[0] if len(programs) == 1 else " ".join([operator, str(len(programs)), *programs])


def _programs(slots: Slots, field: str) -> list[str]:
    """The filters that find a sequence: terms are faster to find than sequences."""
    name = field.encode().hex()
    terms = [[alternative.term.encode().hex() for alternative in slot.alternatives] for slot in slots]
    if len(slots) > 1:
        parts = [f"{slot.gap} {len(some)} {' '.join(some)}" for slot, some in zip(slots, terms, strict=True)]
        return [" ".join(["p", name, str(len(slots)), *parts])]
    several = [" " in alternative.term for alternative in slots[0].alternatives]
    single = [term for term, spaces in zip(terms[0], several, strict=True) if not spaces]
    sequences = [term for term, spaces in zip(terms[0], several, strict=True) if spaces]
    programs = [" ".join(["t", name, str(len(single)), *single])] if single else []
    return programs + ([" ".join(["p", name, "1", "0", str(len(sequences)), *sequences])] if sequences else [])


class _Span(NamedTuple):
    """Words from one place to another; places are those of the index."""

    start: int
    end: int
    occurrence: Occurrence


def _occurrences(slots: Slots, tokens: Sequence[Token]) -> list[Occurrence]:
    """The words that are part of an occurrence of the whole sequence, in the order of the words of the text."""
    placed = _place(tokens)
    spans = [_spans(slot, placed) for slot in slots]
    for before, (index, slot) in zip(spans, enumerate(slots[1:], 1), strict=False):
        ends = {span.end + skipped for span in before for skipped in range(slot.gap + 1)}
        spans[index] = [span for span in spans[index] if span.start in ends]
    for index in range(len(slots) - 1, 0, -1):
        starts = {span.start - skipped for span in spans[index] for skipped in range(slots[index].gap + 1)}
        spans[index - 1] = [span for span in spans[index - 1] if span.end in starts]
    return [span.occurrence for some in spans for span in some]


def _place(tokens: Sequence[Token]) -> list[tuple[int, Token]]:
    """The words with their places in the index: one that is apart leaves a place free before it."""
    placed: list[tuple[int, Token]] = []
    place = 0
    for token in tokens:
        if token.term:
            place += 2 if token.apart else 1
            placed.append((place, token))
    return placed


def _spans(slot: Slot, placed: Sequence[tuple[int, Token]]) -> list[_Span]:
    """Where a document has one of the alternatives; of those at the same words the most probable one."""
    beginnings: dict[str, list[tuple[list[str], Alternative]]] = {}
    for alternative in sorted(slot.alternatives, key=lambda alternative: -alternative.weight):
        words = alternative.term.split(" ")
        beginnings.setdefault(words[0], []).append((words, alternative))
    spans: list[_Span] = []
    for index, (place, token) in enumerate(check_each(placed, 100)):
        matching = [match for term in (token.term, *token.further) for match in beginnings.get(term, ())]
        lengths: set[int] = set()
        for words, alternative in sorted(matching, key=lambda match: -match[1].weight):
            near = placed[index : index + len(words)]
            if len(words) in lengths or len(near) < len(words) or near[-1][0] != place + len(words) - 1:
                continue
            if all(word in (other.term, *other.further) for word, (_, other) in zip(words, near, strict=True)):
                lengths.add(len(words))
                spans.append(_Span(place, place + len(words), Occurrence(token, near[-1][1], slot, alternative)))
    return spans
