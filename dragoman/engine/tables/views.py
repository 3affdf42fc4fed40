"""The merged entries of the active tables between two languages, of one pair or by way of a third language."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from threading import Lock
from weakref import WeakSet

from dragoman.lexicon.table.compose import Kind
from dragoman.lexicon.table.pivot import Composed, Fallback, Pivot
from dragoman.lexicon.table.table import Table

_PIVOTS = 64

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ActiveVersion:
    """A table version that searches use."""

    id: int
    name: str
    version: int
    source: str
    target: str
    kind: Kind
    weight: float
    checksum: str
    probabilities: bool = True
    """Whether any probability was given; if none was, they follow from the pairs alone."""

    @property
    def pair(self) -> Pair:
        """The two languages in alphabetical order: one table serves both directions."""
        return (self.source, self.target) if self.source <= self.target else (self.target, self.source)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class View:
    """The merged entries of the active tables of one language pair, in one direction; equal to itself alone.

    An entry's origin is the index of its table version in ``members``.
    """

    members: tuple[ActiveVersion, ...]
    surface: Table
    """Keyed by folded words; for display and for the smt method."""
    analysed: Table
    """Keyed by index terms; for the psq method."""
    glossaries: frozenset[int] = field(init=False)
    """The origins that are glossaries; a search asks for them thousands of times."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "glossaries", glossaries(self.members))

    def inverse(self) -> View:
        """The same entries from the target language to the source language."""
        return View(self.members, self.surface.inverse(), self.analysed.inverse())


@dataclass(frozen=True, slots=True)
class PivotView:
    """The entries of two views in a row; of a ``direct`` view, if there is one, those of the terms that it has.

    An entry's origin is the table that has the word of the target language. In the two views glossaries outrank as they
    do by themselves; only those of the direct view are glossaries of this pair of languages.
    """

    members: tuple[ActiveVersion, ...]
    surface: Pivot | Fallback
    analysed: Pivot | Fallback
    glossaries: frozenset[int]
    direct: int
    """The number of members of the direct view; they come first."""
    second: int
    """The place of the first member of the second view; those of the first view come before it."""
    parts: tuple[View | None, View]
    """The direct view, and the second one."""

    @property
    def between(self) -> tuple[ActiveVersion, ...]:
        """The tables from the source language to the third one."""
        return self.members[self.direct : self.second]


class Pivots:
    """The views by way of a third language that searches of one snapshot used last; they end with it. Thread-safe."""

    def __init__(self) -> None:
        self._pivots: dict[tuple[View | None, View, View], PivotView] = {}
        self._composed: Composed = {}
        self._forgotten: WeakSet[View] = WeakSet()
        self._lock = Lock()

    def of(self, direct: View | None, first: View, second: View) -> PivotView:
        """The same object for the same views: caches recognise its tables by identity."""
        key = (direct, first, second)
        with self._lock:
            pivot = self._pivots.pop(key, None) or _compose_pivot(direct, first, second, self._composed)
            if not any(view in self._forgotten for view in key):
                self._pivots[key] = pivot
            if len(self._pivots) > _PIVOTS:
                del self._pivots[next(iter(self._pivots))]
        return pivot

    def forget(self, *views: View) -> None:
        """Let go of these views; a request that still has one may go on with it."""
        with self._lock:
            self._forgotten.update(views)
            for key in [key for key in self._pivots if not set(key).isdisjoint(views)]:
                del self._pivots[key]


def view_of(view: View | PivotView, origin: int) -> View:
    """The view of one pair of languages whose table has the word of the target language in an entry of this origin."""
    if isinstance(view, View):
        return view
    direct, second = view.parts
    return direct if direct is not None and origin < view.direct else second


def source_tables(view: View | PivotView) -> Sequence[Table]:
    """The tables that have the terms of the source language of a view, folded."""
    surface = view.surface
    return surface.source_tables if isinstance(surface, Pivot | Fallback) else (surface,)


def target_tables(view: View | PivotView) -> Sequence[Table]:
    """The tables that have the terms of the target language of a view, folded."""
    surface = view.surface
    return surface.target_tables if isinstance(surface, Pivot | Fallback) else (surface,)


def _compose_pivot(direct: View | None, first: View, second: View, cache: Composed) -> PivotView:
    before = () if direct is None else direct.members
    offset = len(before) + len(first.members)
    surface, analysed = (Pivot(*two, offset, cache) for two in zip(_sides(first), _sides(second), strict=True))
    members = (*before, *first.members, *second.members)
    if direct is None:
        return PivotView(members, surface, analysed, frozenset(), 0, offset, (None, second))
    backed = Fallback(direct.surface, surface), Fallback(direct.analysed, analysed)
    return PivotView(members, *backed, direct.glossaries, len(before), offset, (direct, second))


def _sides(view: View) -> tuple[Table, Table]:
    return view.surface, view.analysed


def route(source: str, target: str, pairs: Collection[Pair]) -> tuple[Pair, ...]:
    """The pairs of languages by way of which ``source`` is translated to ``target``; English is the first choice.

    Empty if no two of ``pairs``, which have both directions, lead there.
    """
    between = [other for first, other in pairs if first == source != target and (other, target) in pairs]
    chosen = min(between, key=lambda language: (language != "en", language), default=None)
    return () if chosen is None else ((source, chosen), (chosen, target))


def glossaries(members: Sequence[ActiveVersion]) -> frozenset[int]:
    """The places of those members that are glossaries."""
    return frozenset(place for place, member in enumerate(members) if member.kind == "glossary")
