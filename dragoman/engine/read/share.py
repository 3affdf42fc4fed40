"""How much of an answer one of its lists may take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from dragoman.engine.read.response import Sentence, WordGloss
from dragoman.engine.search.response import TextField


class Placed(Protocol):
    """What begins at a place of a document."""

    field: TextField
    start: int


T = TypeVar("T", bound=Placed)


class Share:
    """The room of one list, in bytes of JSON; from the first piece that has none on, nothing more is listed."""

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._left = limit
        self._end: Placed | None = None

    def fit(self, pieces: Iterable[T], size: Callable[[T], int]) -> list[T]:
        """The first pieces, as many as there is room for."""
        fitting: list[T] = []
        if self._end is not None:
            return fitting
        for piece in pieces:
            self._left -= size(piece)
            if self._left < 0:
                self._end = piece
                break
            fitting.append(piece)
        return fitting

    @property
    def is_full(self) -> bool:
        """Whether a piece had no room."""
        return self._end is not None

    def messages(self) -> list[str]:
        """Where the list ends, if it does before the document."""
        if self._end is None:
            return []
        place = f"character {self._end.start} of the {self._end.field}"
        return [f"{self._name}: from {place} on nothing is listed: it may have {self._limit} bytes"]


def sentence_bytes(sentence: Sentence) -> int:
    """The bytes of a sentence."""
    return 50


def gloss_bytes(gloss: WordGloss) -> int:
    """The bytes of a word's gloss."""
    terms = sum(len(translation.term.encode()) + len(translation.table) for translation in gloss.translations)
    return 80 + 75 * len(gloss.translations) + terms
