"""Finds the matches of query words in a document, and the window of the text that shows them best."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import Literal, NamedTuple

from dragoman.deadline import check_each
from dragoman.engine.query.analysed_text import Places
from dragoman.engine.search.request import SNIPPET_LENGTH
from dragoman.lexicon.query import IDENTICAL, TranslatedQuery
from dragoman.lexicon.text.passages import SENTENCE_END, Span, grapheme_boundary, sentences
from dragoman.lexicon.text.tokens import AGAIN, EXACT, PART, REPEATED, Token

MOST_OF_A_WORD = 32
"""How many words of the query one document word is shown to match; the most probable ones."""

_START, _END = attrgetter("start"), attrgetter("end")
_FINALISTS = 32
_REPEAT = 0.1


class Match(NamedTuple):
    """The document word ``text[start:end]`` and the number of the query's term group that it matches."""

    start: int
    end: int
    group: int
    probability: float
    origin: int


@dataclass(frozen=True, slots=True)
class Window:
    """The part ``text[start:end]`` of a document."""

    start: int
    end: int


class Matcher:
    """Finds the document words that a translated query's alternatives match.

    ``form`` says which form of a document's words the alternatives are: index terms (psq, untranslated) or
    folded surface words (smt). With ``frequencies``, those of them that no document has are left out: most of them.
    """

    def __init__(
        self, query: TranslatedQuery, form: Literal["term", "word"], frequencies: Mapping[str, int] | None = None
    ) -> None:
        self._form = form
        self._words = [group.query_word for group in query.groups]
        self._alternatives: dict[str, list[tuple[int, float, int]]] = {}
        for index, group in enumerate(query.groups):
            for alternative in group.alternatives:
                if frequencies is None or frequencies.get(alternative.term):
                    answer = (index, alternative.weight, alternative.origin)
                    self._alternatives.setdefault(alternative.term, []).append(answer)
        for answers in self._alternatives.values():
            answers.sort(key=lambda answer: (-answer[1], answer[0]))
            del answers[MOST_OF_A_WORD:]
        self._repeated = any(term.startswith(REPEATED) for term in self._alternatives)
        self._sequences: dict[str, list[list[str]]] = {}
        """The words of sequences by the first of them."""
        for words in (term.split(" ") for term in self._alternatives if " " in term):
            self._sequences.setdefault(words[0], []).append(words)
        self._beginnings = self._alternatives.keys() | self._sequences.keys()

    def matches(self, tokens: Sequence[Token], before: int = 0, places: Sequence[int] | None = None) -> list[Match]:
        """All pairs of a document word, or words, and a query word that translate each other, in text order.

        Pairs with the same document word are ordered by descending probability; one with the same query word is the
        most probable. What a table has comes before the identical string, unless that is the document's word. The text
        begins at ``before`` in what the tokens are of. ``places`` are those of :meth:`places_among`, where known.
        """
        matches: list[Match] = []
        ends: dict[int, int] = {}
        for place in check_each(self._places(tokens) if places is None else places, 100):
            token = tokens[place]
            answers: dict[int, Match] = {}
            ranks: dict[int, tuple[int, float]] = {}
            for term, last in self._terms(tokens, place):
                for group, probability, origin in self._alternatives[term]:
                    rank = (self._kind(term, origin, token.word == self._words[group]), probability)
                    if group not in answers or ranks[group] < rank:
                        ranks[group] = rank
                        start, end = part_of(token, term) if last is token else (token.start, last.end)
                        answers[group] = Match(start - before, end - before, group, probability, origin)
            new = [match for match in answers.values() if match.end > ends.get(match.group, match.start)]
            ends |= {match.group: match.end for match in new}
            matches += sorted(new, key=lambda match: -match.probability)
        return matches

    def _kind(self, term: str, origin: int, same: bool) -> int:
        """Which of several alternatives a word is shown to match: what only counts again comes last."""
        if term.startswith(REPEATED):
            return 0
        return 2 if origin >= 0 or (origin == IDENTICAL and same) else 1

    def counts(self, tokens: Sequence[Token]) -> Counter[str]:
        """How often each alternative occurs in a document's words."""
        return Counter(term for place in self._places(tokens) for term, _ in self._terms(tokens, place))

    def places_among(self, places: Places | None) -> list[int] | None:
        """Those of a text's places with which an alternative may begin; None if they cannot be told by terms."""
        if places is None or self._repeated or self._form == "word":
            return None
        return sorted({place for term in self._beginnings & places.keys() for place in places[term]})

    def _places(self, tokens: Sequence[Token]) -> list[int]:
        """The places of the words with which an alternative may begin: mostly a few of many."""
        if self._repeated:
            return list(range(len(tokens)))
        some = self._beginnings
        if self._form == "word":
            return [place for place, token in enumerate(tokens) if token.word in some]
        return [
            place
            for place, token in enumerate(tokens)
            if token.term in some or (token.further and not some.isdisjoint(token.further))
        ]

    def _terms(self, tokens: Sequence[Token], place: int) -> Iterator[tuple[str, Token]]:
        """The alternatives that a document has at a place, each with its last word."""
        token = tokens[place]
        if not token.term:
            return
        terms = (token.word,) if self._form == "word" else (token.term, *token.further)
        again = (EXACT + token.word, *(AGAIN + term for term in terms)) if self._repeated else ()
        for term in (*terms, *again):
            if term in self._alternatives:
                yield term, token
            for words in self._sequences.get(term, ()):
                others = [other for other in tokens[place : place + 2 * len(words)] if other.term][: len(words)]
                if (
                    len(others) == len(words)
                    and all(
                        word == other.term or word in other.further for word, other in zip(words, others, strict=True)
                    )
                    and not any(other.apart for other in others[1:])
                ):
                    yield " ".join(words), others[-1]


def part_of(token: Token, term: str) -> tuple[int, int]:
    """Where a part of a word stands in the text, or the word where that cannot be told."""
    size = token.end - token.start
    if not term.startswith(PART) or len(token.word) != size or (place := token.word.find(term[1:])) < 0:
        return token.start, token.end
    return token.start + place, token.start + place + len(term) - 1


def best_window(
    text: str,
    tokens: Sequence[Token],
    matches: Sequence[Match],
    importance: Sequence[float],
    length: int = SNIPPET_LENGTH,
    around: Window | None = None,
    before: int = 0,
) -> Window:
    """The window of at most ``length`` code points with the most valuable matches, of those with all of ``around``.

    The value of a match is its probability times the importance of its group; further matches of a group in the same
    window count a tenth. The window starts at a sentence if one is near, never inside a word, and ends after a word.
    Only a word longer than ``length`` is cut. Without matches it is the beginning of the text, which begins at
    ``before`` in what the tokens are of.
    """
    if len(text) <= length:
        return Window(0, len(text))
    if around is not None:
        low, high = _widen(around, matches, importance, length)
    elif not matches:
        return Window(0, _end(text, tokens, 0, 0, length, before))
    else:
        matches = [match for match in matches if match.end - match.start <= length] or matches
        first, last = _densest(matches, importance, length)
        low, high = matches[first].start, max(match.end for match in matches[first : last + 1])
    start = _start(text, tokens, low, length - (high - low), before)
    return Window(start, _end(text, tokens, start, high, length, before))


def sentence_window(text: str, sentence: Span, length: int = SNIPPET_LENGTH) -> Window:
    """A sentence with those that follow it, then those before it, as many as fit into ``length`` code points."""
    start, end = sentence
    low = max(start - length, 0)
    near = [(low + first, low + last) for first, last in sentences(text[low : end + 2 * length], length)]
    end = max([end, *(last for first, last in near if first >= end and last - start <= length)])
    start = min([start, *(first for first, last in near if last <= start and end - first <= length)])
    return Window(start, end)


def inside(matches: Iterable[Match], window: Window) -> list[Match]:
    """The matches that lie entirely in the window."""
    return [match for match in matches if window.start <= match.start and match.end <= window.end]


def window_value(matches: Sequence[Match], importance: Sequence[float]) -> float:
    """The value of some matches together, as that of a window."""
    return _joint_value(
        range(len(matches)), matches, [match.probability * importance[match.group] for match in matches]
    )


def _widen(around: Window, matches: Sequence[Match], importance: Sequence[float], length: int) -> tuple[int, int]:
    """Start and end of the most valuable matches that fit into one window together with ``around``."""

    near = [match for match in matches if max(match.end, around.end) - min(match.start, around.start) <= length]
    worth = [match.probability * importance[match.group] for match in near]
    fitting = {
        low: [index for index, match in enumerate(near) if low <= match.start and match.end <= low + length]
        for low in (around.start, *(match.start for match in reversed(near) if match.start < around.start))
    }
    low = max(fitting, key=lambda low: _joint_value(fitting[low], near, worth))
    return low, max([around.end, *(near[index].end for index in fitting[low])])


def _joint_value(indexes: Iterable[int], matches: Sequence[Match], worth: Sequence[float]) -> float:
    """The value of some matches together; further ones of a group count a tenth."""
    best: dict[int, float] = {}
    whole = 0.0
    for index in indexes:
        group = matches[index].group
        best[group] = max(best.get(group, 0.0), worth[index])
        whole += worth[index]
    return sum(best.values()) * (1.0 - _REPEAT) + whole * _REPEAT


def _densest(matches: Sequence[Match], importance: Sequence[float], length: int) -> tuple[int, int]:
    """First and last match of the most valuable window.

    All windows are compared by the sum of their matches, and the best ones by the exact value.
    """
    worth = [match.probability * importance[match.group] for match in matches]
    total = list(accumulate(worth, initial=0.0))
    starts = [match.start for match in matches]
    ends = [match.end for match in matches]
    spans: list[tuple[float, int, int]] = []
    for first, start in enumerate(check_each(starts, 1000)):
        if first and starts[first - 1] == start:
            continue
        last = max(bisect_right(ends, start + length) - 1, first)
        spans.append((total[last + 1] - total[first], first, last))
    finalists = sorted(spans, key=lambda span: (-span[0], span[1]))[:_FINALISTS]
    _, first, last = max(
        finalists, key=lambda span: (_joint_value(range(span[1], span[2] + 1), matches, worth), -span[1])
    )
    return first, last


def _start(text: str, tokens: Sequence[Token], low: int, spare: int, before: int) -> int:
    """The start of a window whose first match starts at ``low``, at most ``spare`` before it."""
    if spare <= 0:
        return low
    if low <= spare // 2:
        return 0
    sentences: list[int] = [end.end() for end in SENTENCE_END.finditer(text, max(low - spare, 0), low)]
    for sentence in reversed(sentences):
        at = bisect_left(tokens, sentence + before, key=_START)
        if at == 0 or tokens[at - 1].end <= sentence + before:
            return sentence
    if low <= spare:
        return 0
    at = bisect_left(tokens, low - spare // 2 + before, key=_START)
    return min(tokens[at].start - before, low) if at < len(tokens) else low


def _end(text: str, tokens: Sequence[Token], start: int, least: int, length: int, before: int) -> int:
    """The end of a window from ``start``: after a word and the punctuation attached to it."""
    limit = start + length
    if limit >= len(text):
        return len(text)
    at = bisect_right(tokens, limit + before, key=_END) - 1
    if at < 0 or tokens[at].end - before <= start:
        return grapheme_boundary(text, start, limit)
    end = max(tokens[at].end - before, min(least, limit))
    next_start = tokens[at + 1].start - before if at + 1 < len(tokens) else len(text)
    while end < min(limit, next_start) and not text[end].isspace():
        end += 1
    return end
