"""Finds the evidence for the match of a document: the window of its text that shows it best, and the matches in it.

A text up to a limit is analysed whole. Of a longer one, only the places that are likely to match are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from typing import Literal

import regex

from dragoman.deadline import check
from dragoman.engine.core.answer import significant
from dragoman.engine.query.description import query_term
from dragoman.engine.query.exact.pattern import Reading
from dragoman.engine.query.translation import Translated
from dragoman.engine.search.ranked import CollectionRanking, RankedDocument
from dragoman.engine.search.request import SNIPPET_LENGTH, SnippetOptions
from dragoman.engine.search.response import Contribution, Highlight, MatchKind, Snippet, TextField
from dragoman.engine.search.shown.exact import required_groups, required_matches
from dragoman.engine.search.shown.further import Piece, further_windows, window_within
from dragoman.engine.search.shown.places import Key, Work, keys_of, likely_places
from dragoman.engine.search.shown.snippets import (
    Match,
    Matcher,
    Window,
    best_window,
    inside,
    sentence_window,
    window_value,
)
from dragoman.indexes.analysis.languages import has_words_among_terms
from dragoman.indexes.explanation import explain, rarity
from dragoman.lexicon.query import IDENTICAL, TRANSLITERATED, Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.text.passages import SENTENCE_END, Span
from dragoman.lexicon.text.tokens import Token

_WITHOUT_TABLE: dict[int, MatchKind] = {IDENTICAL: "identical", TRANSLITERATED: "sound"}
_SHORT = 2_000
"""A text up to this length, in code points, is analysed whole whatever was analysed before it."""
_MOST_HIGHLIGHTS = 1_000
"""How many highlights a title or a snippet has at most."""
_EDGE = 200
"""Within how many code points from its edge an excerpt is cut at the end of a sentence, or of a word."""
_UNSURE = 32
"""How near to an edge inside a word, or a run without spaces, the words of an excerpt may not be those of the text."""
_SPACE = regex.compile(r"[ \n\r\t\u3000]")
"""White space that is never part of a number."""


@dataclass(slots=True)
class Shown:
    """What is shown of a document: a window of its text, the matches, and what they add to its BM25 score."""

    snippet: str
    start: int = 0
    further: list[Snippet] = field(default_factory=list)
    """Other windows, which do not overlap, the best one first."""
    listed: list[Snippet] = field(default_factory=list)
    """The windows that a list of them has room for."""
    highlights: list[Highlight] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)
    tokens: Sequence[Token] | None = None
    """The words of title and text together; None if they were not analysed whole."""
    limits: list[str] = field(default_factory=list)
    """What is not shown of the document, or was not looked at."""

    @property
    def snippets(self) -> list[Snippet]:
        """All windows, the first one first."""
        return [Snippet(text=self.snippet, start=self.start), *self.further]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a text that begins at ``start``, and its words with offsets in the part."""

    start: int
    text: str
    tokens: Sequence[Token]


class Evidence:
    """Finds the evidence in the documents of one BM25 ranking."""

    def __init__(
        self,
        text: str,
        ranking: CollectionRanking,
        work: Work,
        required: Sequence[Reading] = (),
        snippets: SnippetOptions | None = None,
    ) -> None:
        query, statistics = ranking.translated.query, ranking.statistics
        self._text = text
        self._translated = ranking.translated
        self._statistics = statistics
        self._work = work
        self._required = required
        self._snippets = snippets or SnippetOptions()
        self._required_groups = required_groups(required)
        words = query.method == "smt" and not has_words_among_terms(ranking.translated.language)
        self._form: Literal["term", "word"] = "word" if words else "term"
        self._evidence = _as_evidence(ranking.translated)
        self._matcher = Matcher(self._evidence, self._form, statistics.frequencies)
        self._found_keys: list[Key] | None = None
        self._found_importance: list[float] | None = None

    def of(self, document: RankedDocument, explained: bool) -> Shown:
        """That in a document; the window has the sentence that dense search found, and the best matches beside it.

        If ``explained``, it has the contributions of the query's terms.
        """
        size = len(document.whole.text)
        if document.stored.complete and (size <= _SHORT or self._work.analyse(size)):
            return self._of_whole(document, explained)
        return self._of_parts(document, explained)

    def highlights(
        self, field: TextField, text: str, offset: int, tokens: Sequence[Token], before: int = 0
    ) -> Iterator[Highlight]:
        """All matches in a part of a field that begins at ``offset``; it begins at ``before`` in what tokens are of."""
        return (self._highlight(field, text, offset, match) for match in self._matcher.matches(tokens, before))

    @property
    def _keys(self) -> list[Key]:
        if self._found_keys is None:
            groups = [*self._evidence.groups, *self._required_groups]
            translated = replace(self._translated, query=replace(self._evidence, groups=groups))
            required = {other.term: 1 for group in self._required_groups for other in group.alternatives}
            self._found_keys = keys_of(
                translated, {**required, **self._statistics.frequencies}, self._importance_in_long
            )
        return self._found_keys

    @property
    def _importance_in_long(self) -> list[float]:
        """Also that of each word that is required, which is as much as that of the rarest word of the query."""
        return [*self._importance, *[max(self._importance, default=1.0)] * len(self._required_groups)]

    @property
    def _importance(self) -> list[float]:
        """What a match of each query term is worth; a short text shows all of them in any case."""
        if self._found_importance is None:
            query = self._translated.query
            self._found_importance = [
                group.weight * rarity(group, self._statistics, query.method != "smt") for group in query.groups
            ]
        return self._found_importance

    def _of_whole(self, document: RankedDocument, explained: bool) -> Shown:
        title, text, tokens = document.stored.title or "", document.stored.text, document.whole.tokens
        before = len(document.whole.text) - len(text)
        first = bisect_left(tokens, before, key=attrgetter("start")) if before else 0
        places = self._matcher.places_among(document.whole.places)
        of_title = of_text = None
        if places is not None:
            cut = bisect_left(places, first)
            of_title, of_text = places[:cut], [place - first for place in places[cut:]]
        piece = self._piece(0, text, tokens[first:], before, of_text)
        window = self._window(piece, _around(document))
        shown = Shown(text[window.start : window.end], window.start, tokens=tokens)
        in_title = self._matcher.matches(tokens[:first], places=of_title)
        shown.highlights = self._highlights("title", title, 0, in_title, shown)
        self._show_windows([piece], piece, window, shown)
        if explained:
            shown.contributions = self._contributions(tokens)
        return shown

    def _of_parts(self, document: RankedDocument, explained: bool) -> Shown:
        title = document.stored.title or ""
        in_title = self._matcher.matches(document.whole.analysis(document.stored.language).tokens(title))
        shown = Shown(beginning(document.stored.text, self._snippets.length))
        around = _around(document)
        places, scanned = self._places(document, around)
        worth = -1.0
        best: tuple[Piece, Window] | None = None
        pieces: list[Piece] = []
        for excerpt in self._excerpts(document, places, elsewhere=around is None):
            piece = self._piece(excerpt.start, excerpt.text, excerpt.tokens)
            pieces.append(piece)
            if around is not None and (best is not None or not piece.has(around.start)):
                continue
            local = None if around is None else Window(around.start - excerpt.start, around.end - excerpt.start)
            window = self._window(piece, local)
            if (near_value := window_value(inside(piece.matches, window), self._importance)) > worth:
                worth, best = near_value, (piece, window)
                shown.snippet, shown.start = piece.text[window.start : window.end], piece.start + window.start
        shown.highlights = self._highlights("title", title, 0, in_title, shown)
        if best is not None:
            self._show_windows(pieces, *best, shown)
        looked = sum(len(piece.text) for piece in pieces)
        limit = f"only {looked} characters, at the places that seemed to match best, were analysed{scanned}"
        shown.limits.append(limit + ("; it has no contributions" if explained else ""))
        return shown

    def _places(self, document: RankedDocument, around: Window | None) -> tuple[Sequence[int], str]:
        """Where to look at a long text, first at the sentence that dense search found, and what was not scanned."""
        sentence = [] if around is None else [around.start]
        several = self._snippets.count > 1
        if sentence and not several:
            return sentence, ""
        likely = likely_places(
            document.stored, self._keys, self._importance_in_long, self._work, self._snippets.length, several
        )
        scanned = "" if likely.complete else f", and none after character {likely.scanned}"
        return [*sentence, *likely.starts], scanned

    def _piece(
        self,
        start: int,
        text: str,
        tokens: Sequence[Token],
        before: int = 0,
        places: Sequence[int] | None = None,
    ) -> Piece:
        """A part of a text with its matches; ``places`` as for :meth:`Matcher.matches`."""
        matches = valued = self._matcher.matches(tokens, before, places)
        if self._required and len(text) > self._snippets.length:
            required = required_matches(self._required, tokens, before, len(self._importance))
            valued = sorted([*matches, *required], key=attrgetter("start"))
        return Piece(start, text, tokens, matches, valued, before)

    @property
    def _importance_of_all(self) -> list[float]:
        """Also that of what is required, which counts as much as the rarest word of the query."""
        return [*self._importance, *[max(self._importance, default=1.0)] * len(self._required)]

    def _window(self, piece: Piece, around: Window | None) -> Window:
        """The best window of a piece; of a sentence that is longer than a snippet, the best part."""
        length = self._snippets.length
        if len(piece.text) <= length:
            return Window(0, len(piece.text))
        if around is not None and around.end - around.start > length:
            return window_within(piece, around, self._importance_of_all, length)
        return best_window(
            piece.text, piece.tokens, piece.valued, self._importance_of_all, length, around, piece.before
        )

    def _show_windows(self, pieces: Sequence[Piece], piece: Piece, window: Window, shown: Shown) -> None:
        """Add the further snippets, and the highlights in all of them, to what is shown."""
        windows = [(piece, window)]
        if self._snippets.count > 1:
            groups = [match.group for match in inside(piece.valued, window)]
            count, length = self._snippets.count - 1, self._snippets.length
            windows += further_windows(pieces, piece.in_text(window), groups, self._importance_of_all, count, length)
        shown.further = [
            Snippet(text=piece.text[window.start : window.end], start=piece.start + window.start)
            for piece, window in windows[1:]
        ]
        for piece, window in sorted(windows, key=lambda chosen: chosen[0].start + chosen[1].start):
            near = inside(piece.matches, window)
            shown.highlights += self._highlights("text", piece.text, piece.start, near, shown)

    def _excerpts(self, document: RankedDocument, places: Sequence[int], elsewhere: bool) -> Iterator[Excerpt]:
        """The text around each place, analysed; also its beginning if no place matches and one ``elsewhere`` may."""
        ends: list[Span] = []
        matched = False
        near = _near(self._snippets.length)
        for place in places:
            if any(start <= place < end - self._snippets.length for start, end in ends):
                continue
            check()
            excerpt = excerpt_of(document, max(0, place - near), place + near)
            if not excerpt.text:  # the document has been replaced since
                continue
            ends.append((excerpt.start, excerpt.start + len(excerpt.text)))
            matched = matched or bool(self._matcher.matches(excerpt.tokens))
            yield excerpt
        if elsewhere and not matched:
            check()
            size = len(document.stored.text)
            yield excerpt_of(document, 0, size if self._work.analyse(size) else _SHORT)

    def _highlights(
        self, field: TextField, text: str, offset: int, matches: Sequence[Match], shown: Shown
    ) -> list[Highlight]:
        if len(matches) > _MOST_HIGHLIGHTS:
            shown.limits.append(f"{_MOST_HIGHLIGHTS} of {len(matches)} matches in its {field} are listed")
        return [self._highlight(field, text, offset, match) for match in matches[:_MOST_HIGHLIGHTS]]

    def _highlight(self, field: TextField, text: str, offset: int, match: Match) -> Highlight:
        group = self._translated.query.groups[match.group]
        member = None
        if self._translated.view is not None and match.origin not in _WITHOUT_TABLE:
            member = self._translated.view.members[match.origin]
        return Highlight(
            field=field,
            start=offset + match.start,
            end=offset + match.end,
            match=_WITHOUT_TABLE.get(match.origin, "spelling" if group.spelling else "table"),
            document_term=text[match.start : match.end],
            query_term=query_term(self._text, group),
            probability=significant(match.probability),
            table=member.name if member else None,
            version=member.version if member else None,
        )

    def _contributions(self, tokens: Sequence[Token]) -> list[Contribution]:
        searched_tokens = [token for token in tokens if token.term]
        translated = self._translated
        counts = self._matcher.counts(searched_tokens)
        scores = explain(translated.query, self._statistics, counts, len(searched_tokens), translated.bm25)
        return [
            Contribution(query_term=query_term(self._text, group), **asdict(score))
            for group, score in zip(translated.query.groups, scores, strict=True)
        ]


def excerpt_of(document: RankedDocument, low: int, high: int) -> Excerpt:
    """The text from about ``low`` to ``high``, cut at the ends of sentences or words, with its words."""
    stored = document.stored
    text = stored.part(low, high)
    first, unsure_first = (0, False) if low == 0 else _cut_before(text)
    whole = len(text) < high - low or (stored.complete and high >= len(stored.text))
    last, unsure_last = (len(text), False) if whole else _cut_after(text, first)
    text = text[first:last]
    tokens = document.whole.analysis(stored.language).tokens(text)
    least, most = _UNSURE if unsure_first else 0, len(text) - (_UNSURE if unsure_last else 0)
    if unsure_first or unsure_last:
        tokens = [token for token in tokens if least <= token.start and token.end <= most]
    return Excerpt(low + first, text, tokens)


def beginning(text: str, length: int = SNIPPET_LENGTH) -> str:
    """As much of the beginning of a text as a snippet shows, without its words."""
    if len(text) <= length:
        return text
    end = max((space.start() for space in _SPACE.finditer(text, 0, length + 1)), default=length)
    return text[: end or length]


def of_sentence(document: RankedDocument, sentence: Span, length: int = SNIPPET_LENGTH) -> Shown:
    """A sentence of a document with those near it, without any evidence; of a longer one, its beginning."""
    low = max(0, sentence[0] - _near(length))
    text = document.stored.part(low, sentence[1] + _near(length))
    if not text:  # the document has been replaced since
        return Shown(beginning(document.stored.text, length))
    window = sentence_window(text, (max(0, sentence[0] - low), min(sentence[1] - low, len(text))), length)
    return Shown(beginning(text[window.start : window.end], length), low + window.start)


def _near(length: int) -> int:
    """How much of a long text is looked at before and after a place, for snippets of this length."""
    return length + SNIPPET_LENGTH


def _around(document: RankedDocument) -> Window | None:
    """The best sentence, unless it is the title."""
    sentence = document.passage.sentence if document.passage is not None else None
    return Window(*sentence) if sentence and sentence[1] else None


def _cut_before(text: str) -> tuple[int, bool]:
    """Where the first sentence or word of a part begins, and whether it is unsure that there is one."""
    border = SENTENCE_END.search(text, 0, _EDGE) or _SPACE.search(text, 0, _EDGE)
    return (border.end(), False) if border else (0, True)


def _cut_after(text: str, start: int) -> tuple[int, bool]:
    """Where the last sentence or word of a part ends, and whether it is unsure that one does."""
    low = max(start, len(text) - _EDGE)
    ends = [border.end() for border in SENTENCE_END.finditer(text, low)][:-1] or [
        border.start() for border in _SPACE.finditer(text, low)
    ]
    return (ends[-1], False) if ends else (len(text), True)


def _as_evidence(translated: Translated) -> TranslatedQuery:
    """The query with P(query term | document term) as the weights; ``smt`` queries have other weights."""
    if translated.query.method != "smt" or translated.view is None:
        return translated.query
    surface = translated.view.surface

    def group_as_evidence(group: TermGroup) -> TermGroup:
        backward = {entry.term: entry.p_backward for entry in surface.translations(group.query_word)}
        alternatives = [Alternative(a.term, backward.get(a.term, a.weight), a.origin) for a in group.alternatives]
        return replace(group, alternatives=alternatives)

    return replace(translated.query, groups=[group_as_evidence(group) for group in translated.query.groups])
