"""Which column is in which language, by its script, its letters and the odds that a language detector gives.

Each row is a witness: of ``Haus`` and ``house`` the first is likelier German and the second likelier English. A file is
taken to be the other way round where its rows say so together; where they only hint at it, whoever sends it has to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from dragoman.lexicon.formats.detection.letters import of_script, one_script, own_letters, script
from dragoman.lexicon.formats.items import Odds

ROWS = 200
"""So many rows are witnesses."""
_SCRIPT = 6.0
_LETTER = 2.5
_MOST = 6.0
_SWAPPED, _SWAPPED_MEAN = -6.0, -1.0
_UNCLEAR, _UNCLEAR_MEAN, _UNCLEAR_ROWS = -3.0, -0.7, 3
_DOUBTFUL = -2.0
_MISSING_ROWS = 5
_LONGEST = 200


class Direction(Enum):
    """How two columns stand to the languages of a table."""

    STRAIGHT = "straight"
    SWAPPED = "swapped"
    UNCLEAR = "unclear"
    DOUBTFUL = "doubtful"
    """Perhaps swapped, by rows that are few or show little: taken as straight, with a warning."""


class Witness:
    """Compares terms of two languages."""

    def __init__(self, languages: tuple[str, str], odds: Odds | None = None) -> None:
        self.languages = languages
        self._odds = odds
        self._scripts = tuple(of_script(script(language)) for language in languages)
        self._differ = script(languages[0]) != script(languages[1])
        first, second = languages
        self._own_letters = own_letters(first, second), own_letters(second, first)

    def of(self, term: str) -> float:
        """How much likelier a term is in the first language, as a logarithm between -6 and 6."""
        term = term[:_LONGEST]
        if self._differ:
            ours, theirs = (len(pattern.findall(term)) for pattern in self._scripts)
            if ours + theirs:
                return _SCRIPT * (ours - theirs) / (ours + theirs)
            return 0.0
        score = sum(
            _LETTER if letter in self._own_letters[0] else -_LETTER if letter in self._own_letters[1] else 0
            for letter in term
        )
        if self._odds is not None and term.isprintable():
            score += self._odds(term)
        return max(-_MOST, min(_MOST, score))

    def direction(self, rows: Iterable[tuple[str, str]]) -> Direction:
        """Whether the terms of these rows, each of two different ones, are in the languages' order."""
        evidence = [
            self.of(source) - self.of(target) for source, target in rows if source.casefold() != target.casefold()
        ]
        telling = [weight for weight in evidence if abs(weight) > 0.1]
        if not telling:
            return Direction.STRAIGHT
        total, mean = sum(telling), sum(telling) / len(evidence)
        against = sum(weight < 0 for weight in telling)
        if total <= _SWAPPED and mean <= _SWAPPED_MEAN and against * 10 >= len(telling) * 7:
            return Direction.SWAPPED
        if total <= _UNCLEAR and mean <= _UNCLEAR_MEAN and len(evidence) >= _UNCLEAR_ROWS:
            return Direction.UNCLEAR
        if total <= _DOUBTFUL:
            return Direction.DOUBTFUL
        return Direction.STRAIGHT

    def mean(self, terms: Sequence[str]) -> float:
        """The mean of :meth:`of` over some terms."""
        terms = terms[:ROWS]
        return sum(map(self.of, terms)) / len(terms) if terms else 0.0

    def foreign(self, terms: Sequence[str], side: int) -> bool:
        """Whether terms said to be in a language hold no letter of the script that it is always written in."""
        language = self.languages[side]
        if len(terms) < _MISSING_ROWS or not one_script(language):
            return False
        return not any(self._scripts[side].search(term) for term in terms)
