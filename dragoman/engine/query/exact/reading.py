"""Translates what documents must hold, or must not, as a query is translated; a phrase becomes a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import nlargest

import regex

from dragoman.deadline import check_each
from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.exact.pattern import Reading, Slot, Slots, Wish
from dragoman.engine.query.response import ExactReading, ExactText
from dragoman.engine.query.translation import Sounds, bridge_to, is_function_word
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import PivotView, View
from dragoman.lexicon.query import IDENTICAL, LEAST_PROBABILITY, TRANSLITERATED, Alternative, Bridge, monolingual, psq
from dragoman.lexicon.table.table import Entry
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import PART, REPEATED, Analysis, Token

MOST_WORDS = 32
"""The words of a required or excluded text."""
MOST_ALTERNATIVES = 4_000
"""The index terms that are looked for in place of all words of a text; the most probable ones."""
LEAST_PRODUCT = 0.0005
"""The least P(f|e) P(e|f) of a translation, outside glossaries. In tables of parallel text most others are errors. They
hardly count in a score, but would decide here. Of the single words in an en-de table of parallel text that a dictionary
translates too, it leaves 98 of 100 entries that the dictionary has, and 61 of 100 others."""
MOST_SHOWN = 5_000
"""The index terms that an answer shows of all texts."""

_LATIN = regex.compile(r"\p{Latin}")


def read_wish(
    wish: Wish,
    source: str,
    target: str,
    method: str,
    snapshot: Snapshot,
    analysis: Callable[[str], Analysis],
    sounds: Sounds,
    holds: Callable[[str], bool],
) -> Reading:
    """A text in the language ``source`` as documents in ``target`` may have it, for a search by ``method``.

    ``sounds`` finds the index terms that sound like a term, and ``holds`` says whether the documents have one.

    Raises:
        InvalidRequest: it has no word, or too many.
    """
    text = AnalysedText(wish.text, source, analysis)
    content = [token for token in text.tokens if token.term]
    if not content:
        raise InvalidRequest(f"{wish.path}: {wish.text!r} has no word to look for")
    if len(content) > MOST_WORDS:
        raise InvalidRequest(f"{wish.path}: {len(content)} words; at most {MOST_WORDS} are allowed")
    if source == target:
        return _as_written(text, target, content, analysis, ())
    if method == "none":
        words = tuple(text.text[token.start : token.end] for token in content)
        return _as_written(text, target, analysis(target).tokens(text.text), analysis, words)
    view = snapshot.view(source, target)
    bridge = bridge_to(analysis, source, target, view, sounds, holds)
    return _Translation(text, content, target, view, bridge, analysis(target)).reading()


def _as_written(
    text: AnalysedText,
    target: str,
    tokens: Sequence[Token],
    analysis: Callable[[str], Analysis],
    literal: tuple[str, ...],
) -> Reading:
    """The index terms of a text one after the other; a single word also as a part of others, as a query matches it."""
    content = [token for token in tokens if token.term]
    bridge = bridge_to(analysis, text.language, target)
    slots = tuple(
        _slot(text, token, monolingual([token], bridge).groups[0].alternatives, parts=len(content) == 1)
        for token in check_each(content)
    )
    joined = " ".join(token.term for token in content)
    others = bridge.sequences(joined) if len(content) > 1 else ()
    return Reading(target, slots, Slot(text.text, tuple(Alternative(term, 1.0, IDENTICAL) for term in others)), literal)


def _slot(
    text: AnalysedText, token: Token, alternatives: Iterable[Alternative], gap: int = 0, *, parts: bool = True
) -> Slot:
    """A word; what only counts a match once more matches nothing else."""
    terms: dict[str, Alternative] = {}
    for alternative in alternatives:
        if not alternative.term.startswith(REPEATED if parts else (PART, *REPEATED)):
            terms.setdefault(alternative.term, alternative)
    return Slot(text.text[token.start : token.end], tuple(terms.values()), gap)


def _shorten(slot: Slot, most: int) -> Slot:
    """The word with its most probable alternatives."""
    best = nlargest(most, slot.alternatives, key=lambda alternative: alternative.weight)
    return slot._replace(alternatives=tuple(best))


class _Translation:
    """The translation of one text by the tables between two languages."""

    def __init__(
        self,
        text: AnalysedText,
        content: Sequence[Token],
        target: str,
        view: View | PivotView | None,
        bridge: Bridge,
        analysis: Analysis,
    ) -> None:
        self._text = text
        self._content = content
        self._target = target
        self._view = view
        self._bridge = bridge
        self._analysis = analysis
        self._literal: list[str] = []

    def reading(self) -> Reading:
        """The text word by word, and whole."""
        whole = self._whole()
        words = self._words(whole)
        literal = () if whole.alternatives else tuple(self._literal)
        most = MOST_ALTERNATIVES // len(words)
        shorter = tuple(_shorten(slot, most) for slot in words)
        left_out = sum(max(0, len(slot.alternatives) - most) for slot in words)
        left_out += max(0, len(whole.alternatives) - MOST_ALTERNATIVES)
        members = self._view.members if self._view is not None else ()
        return Reading(self._target, shorter, _shorten(whole, MOST_ALTERNATIVES), literal, members, left_out)

    def _words(self, whole: Slot) -> Slots:
        """The words but function words, which other languages have elsewhere; so many others may be in their place."""
        function_words = folded_function_words(self._text.language)
        aside = partial(is_function_word, self._text.text, function_words, self._view)
        searched = [token for token in check_each(self._content) if not aside(token)] or self._content
        slots: list[Slot] = []
        before = self._content.index(searched[0])
        for token in searched:
            place = self._content.index(token)
            gap = place - before - 1 if slots else 0
            slots.append(_slot(self._text, token, self._alternatives(token, whole), gap))
            before = place
        return tuple(slots)

    def _alternatives(self, token: Token, whole: Slot) -> list[Alternative]:
        """What a query of the word alone matches; without a translation the word itself, and what sounds like it."""
        table, glossaries = (self._view.analysed, self._view.glossaries) if self._view else (None, frozenset[int]())
        (group,) = psq([token], table, self._bridge, glossaries).groups
        if not group.oov:
            unlikely = self._unlikely(token)
            likely = [
                other
                for other in group.alternatives
                if other.term.removeprefix(PART) not in unlikely and _is_of_word(other, token)
            ]
            return likely if likely or whole.alternatives else group.alternatives
        if not token.word.isdecimal():  # no language has another word for a number
            self._literal.append(self._text.text[token.start : token.end])
        itself = [alternative for alternative in group.alternatives if alternative.origin != TRANSLITERATED]
        if whole.alternatives and len(self._content) == 1:  # its translations are all of several words
            return itself
        if not itself:
            terms = [other.term for other in self._analysis.tokens(token.word) if other.term]
            itself = [Alternative(" ".join(terms), 1.0, IDENTICAL)] if terms else []
        return [*itself, *self._sounding(group.alternatives, itself)]

    def _unlikely(self, token: Token) -> set[str]:
        """What a query of the word looks for that hardly is a translation, or is only a part of longer ones."""
        assert self._view is not None
        entries = self._view.analysed.translations(token.term, least_backward=LEAST_PROBABILITY)
        unlikely = {entry.term for entry in entries if not self._is_likely(entry)}
        parts = {word for entry in entries if " " in entry.term for word in entry.term.split(" ")}
        if parts:
            surface = self._view.surface
            written = surface.translations(token.word) or surface.translations(token.term)
            words = [self._analysis.tokens(entry.term) for entry in check_each(written)]
            alone = {tokens[0].term for tokens in words if len(tokens) == 1}
            unlikely |= parts - alone if written else set()
        return unlikely

    def _is_likely(self, entry: Entry) -> bool:
        assert self._view is not None
        if entry.origin in self._view.glossaries:
            return entry.p_backward > 0
        return entry.p_backward >= LEAST_PROBABILITY and entry.p_forward * entry.p_backward >= LEAST_PRODUCT

    def _sounding(self, alternatives: Iterable[Alternative], itself: Sequence[Alternative]) -> list[Alternative]:
        """In the script of the word itself other words sound alike only by chance, where documents have the word."""
        alike = [alternative for alternative in alternatives if alternative.origin == TRANSLITERATED]
        if not any(self._bridge.holds(alternative.term) for alternative in itself):
            return alike
        latin = bool(_LATIN.match(itself[0].term))
        return [alternative for alternative in alike if bool(_LATIN.match(alternative.term)) != latin]

    def _whole(self) -> Slot:
        """The entries of tables for the whole text; of one word, those of several."""
        if self._view is None:
            return Slot(self._text.text, ())
        matches: dict[str, Alternative] = {}
        for entry in self._view.analysed.translations(" ".join(token.term for token in self._content)):
            if not self._is_likely(entry) or (len(self._content) == 1 and " " not in entry.term):
                continue
            forms = [entry.term, *self._bridge.sequences(entry.term)]
            if self._bridge.parts and " " not in entry.term:
                forms.append(PART + entry.term)
            for form in forms:
                matches.setdefault(form, Alternative(form, min(1.0, entry.p_backward), entry.origin))
        return Slot(self._text.text, tuple(matches.values()))


def _is_of_word(alternative: Alternative, token: Token) -> bool:
    """Whether what stands for the word itself is the word or its stem.

    A foreign word may be a form of another word: English "forest" is one of German "Forum" to a dictionary of forms.
    """
    return alternative.origin != IDENTICAL or token.word.startswith(alternative.term.removeprefix(PART))


def describe_wishes(wishes: Iterable[Wish], truncated: list[str], *, excluded: bool) -> list[ExactText]:
    """What the required or the excluded texts became; what is not shown is added to ``truncated``."""
    described: list[ExactText] = []
    remaining = MOST_SHOWN

    def show(slot: Slot) -> list[str]:
        nonlocal remaining
        terms = list(dict.fromkeys(alternative.term.removeprefix(PART) for alternative in slot.alternatives))
        shown_terms = terms[: max(0, remaining)]
        remaining -= len(terms)
        return shown_terms

    for wish in wishes:
        if wish.excluded != excluded:
            continue
        readings = {
            language: ExactReading(
                words=[show(slot) for slot in reading.words],
                phrases=show(reading.whole),
                literal=list(reading.literal),
            )
            for language, reading in wish.readings.items()
        }
        described.append(ExactText(text=wish.text, languages=readings))
    if remaining < 0:
        name = "must_not" if excluded else "must"
        truncated.append(f"translation.{name}: only the first {MOST_SHOWN} of {MOST_SHOWN - remaining} terms are shown")
    return described
