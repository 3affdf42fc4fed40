"""Tables as a check sees them."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.lexicon import Table


@dataclass(frozen=True)
class View:
    """A table, whose entries of the origins in ``glossaries`` are a user's."""

    analysed: Table
    glossaries: frozenset[int] = frozenset()
