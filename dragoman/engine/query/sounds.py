"""Matching of query words by sound: for some words of a query, and in some of its time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.stages import optional

STAGE = "translate"
MOST_WORDS = 32
"""The words of a query that are matched by sound in one language. A text has fewer names that no table has."""

Alike = Sequence[tuple[str, float]]


class Questions:
    """Notes what a translation asks of indexes, and answers as if they had nothing that sounds like a term."""

    def __init__(self) -> None:
        self.sounding: list[str] = []
        """The distinct terms of which it was asked what sounds like them."""
        self.held: list[str] = []
        """Those of which it was asked whether documents have them."""

    def __bool__(self) -> bool:
        return bool(self.sounding or self.held)

    def sounds(self, term: str) -> Alike:
        """Nothing."""
        if term not in self.sounding:
            self.sounding.append(term)
        return ()

    def which(self, terms: Collection[str]) -> Collection[str]:
        """None of them."""
        self.held += [term for term in terms if term not in self.held]
        return ()

    def holds(self, term: str) -> bool:
        """Yes: what is asked after that is asked in any case."""
        if term not in self.held:
            self.held.append(term)
        return True


class Sounds:
    """Finds the index terms of one language that sound like query terms, the first :data:`MOST_WORDS` of them."""

    def __init__(self, language: str, find: Callable[[str], Alike]) -> None:
        self._language = language
        self._find = find
        self._asked: dict[str, Alike] = {}
        self._left: set[str] = set()
        self._late: Unavailable | None = None

    def __call__(self, term: str) -> Alike:
        """What sounds like ``term``; nothing after the words or the time for it are used up."""
        answer = self._asked.get(term)
        if answer is not None:
            return answer
        if len(self._asked) >= MOST_WORDS or self._late is not None:
            self._left.add(term)
            return ()
        try:
            with optional():
                alike = self._asked[term] = self._find(term)
        except Unavailable as fault:
            self._late = fault
            self._left.add(term)
            return ()
        return alike

    @property
    def complete(self) -> bool:
        """Whether no word was left out."""
        return not self._left

    @property
    def truncated(self) -> list[str]:
        """The message that words were left out, as there were too many."""
        if not self._left or self._late is not None:
            return []
        return [
            f"query: only the first {len(self._asked)} of {len(self._asked) + len(self._left)} words that no table has"
            f" were matched by sound with words in {self._language}"
        ]

    @property
    def degraded(self) -> list[Degraded]:
        """The message that words were left out, as there was no time."""
        if self._late is None:
            return []
        reason = f"{len(self._left)} words were not matched by sound with words in {self._language}: {self._late}"
        return [Degraded.of(STAGE, reason, self._late.cause)]
