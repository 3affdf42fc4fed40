"""The point-in-time snapshot of the active translation tables that searches use; immutable, replaced as a whole."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.errors import NotFound, Unavailable, classify
from dragoman.engine.core.key_limits import sees_table, table_limits
from dragoman.engine.core.names import without_folders
from dragoman.engine.core.priority import in_background
from dragoman.engine.tables.choices import Choice, VersionKey, choose_ready, parse_choices
from dragoman.engine.tables.compiled import CompiledTables, describe_versions
from dragoman.engine.tables.selections import Selections
from dragoman.engine.tables.views import ActiveVersion, Pair, Pivots, PivotView, View, route
from dragoman.engine.tables.written_terms import WrittenTerms

logger = logging.getLogger("dragoman")


@dataclass(frozen=True, slots=True)
class Unserved:
    """Active versions of one language pair that cannot be compiled now, and why."""

    members: tuple[ActiveVersion, ...]
    reason: str

    def __str__(self) -> str:
        return f"{describe_versions(self.members)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The active versions at one moment, with their compiled views. It never changes; a request uses one."""

    versions: tuple[ActiveVersion, ...] = ()
    views: dict[Pair, View] = field(default_factory=dict)
    """By source and target language, with both directions of every pair."""
    unserved: dict[Pair, Unserved] = field(default_factory=dict)
    """Active versions that are not in ``versions``, because they cannot be compiled."""
    pivots: Pivots = field(default_factory=Pivots, compare=False, repr=False)
    """A cache, shared with the snapshots that are selected from this one."""
    _routes: dict[Pair, tuple[Pair, ...]] = field(init=False, default_factory=dict, compare=False, repr=False)
    """The ways by another language that were asked for; a search asks for each a dozen times."""
    _from: dict[str, list[View]] = field(init=False, default_factory=dict, compare=False, repr=False)
    """By language, the views that translate from it, where that was asked for."""

    def view(self, source: str, target: str) -> View | PivotView | None:
        """What translates ``source`` to ``target``: tables of this pair, and by way of another language what they lack.

        None if there is nothing, or if tables that the pair needs cannot be served now.
        """
        direct = self.views.get((source, target))
        legs = self._legs(source, target)
        if len(legs) < 2 or (direct is None and self.missing(source, target)):
            return direct
        return self.pivots.of(direct, *legs)

    def translates(self, source: str, target: str) -> bool:
        """Whether there is a :meth:`view`."""
        if (source, target) in self.views:
            return True
        return len(self._legs(source, target)) == 2 and not self.missing(source, target)

    def missing(self, source: str, target: str) -> Unserved | None:
        """The unserved active versions between two languages, or on the way by another language; else None."""
        if not self.unserved:
            return None
        for pair in ((source, target), *self._route(source, target)):
            unserved = self.unserved.get((min(pair), max(pair)))
            if unserved is not None:
                return unserved
        return None

    def _legs(self, source: str, target: str) -> list[View]:
        return [view for pair in self._route(source, target) if (view := self.views.get(pair)) is not None]

    def _route(self, source: str, target: str) -> tuple[Pair, ...]:
        way = self._routes.get((source, target))
        if way is None:
            unserved = {pair for first, second in self.unserved for pair in ((first, second), (second, first))}
            way = self._routes[source, target] = route(source, target, self.views.keys() | unserved)
        return way

    @property
    def members(self) -> dict[Pair, tuple[ActiveVersion, ...]]:
        """The versions of each view, by the two languages in alphabetical order."""
        return {pair: view.members for pair, view in self.views.items() if pair[0] < pair[1]}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(version.name for version in self.versions)

    @property
    def languages(self) -> frozenset[str]:
        """All languages that an active table translates from or to."""
        return frozenset(language for pair in self.views for language in pair)

    def knows(self, language: str, word: str) -> bool:
        """Whether an active table has the folded word on its ``language`` side."""
        views = self._from.get(language)
        if views is None:
            views = self._from[language] = [view for pair, view in self.views.items() if pair[0] == language]
        return any(view.surface.sources.index(word) >= 0 for view in views)


class TableRegistry:
    """Holds the current :class:`Snapshot`, and compiles a new one before it becomes current.

    Only one thread at a time may change it (the caller has a lock); any thread may read snapshots.
    """

    def __init__(self, files: CompiledTables, selection_bytes: int) -> None:
        """``selection_bytes`` limits the compiled files of the tables that requests choose."""
        self.files = files
        self._snapshot = Snapshot()
        self.written = WrittenTerms(files, lambda: self._snapshot.versions)
        self._previous: dict[Pair, tuple[ActiveVersion, ...]] = {}
        """The members of the views of the snapshot before. Their files are kept, but are not open."""
        self._compiling = Lock()
        self._ready: Mapping[VersionKey, ActiveVersion] = {}
        """All versions that there are, active or not."""
        self._selections = Selections(files, selection_bytes, lambda *views: self._snapshot.pivots.forget(*views))

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot, of the tables that whoever asks may see. A request reads it once."""
        tables = table_limits()
        return self._snapshot if tables is None else self._restrict(self._snapshot, tables)

    def find_ready(self, versions: Collection[VersionKey]) -> set[VersionKey]:
        """Those of some versions that there are, active or not."""
        return {version for version in versions if version in self._ready and sees_table(version[0])}

    def prepare(self, versions: Iterable[ActiveVersion], allow_unserved: bool = False) -> Snapshot:
        """The snapshot of these versions, with every view compiled; the current one stays in place.

        A pair that cannot be compiled is ``unserved`` in it if it was before, or with ``allow_unserved``.

        Raises:
            Exception: compiling failed.
        """
        ordered = tuple(sorted(versions, key=lambda version: version.name))
        views: dict[Pair, View] = {}
        unserved: dict[Pair, Unserved] = {}
        with self._compiling:
            for pair in sorted({version.pair for version in ordered}):
                members = tuple(version for version in ordered if version.pair == pair)
                current = self._snapshot.views.get(pair)
                if current is not None and current.members == members:
                    views |= {way: self._snapshot.views[way] for way in (pair, pair[::-1])}
                    continue
                try:
                    _add(views, pair, self.files.view(pair, members))
                except Exception as fault:
                    before = self._snapshot.unserved.get(pair)
                    if not allow_unserved and (before is None or before.members != members):
                        raise
                    unserved[pair] = _note_unserved(members, fault, before)
        served = tuple(version for version in ordered if version.pair not in unserved)
        return Snapshot(served, views, unserved)

    def install(self, snapshot: Snapshot, ready: Iterable[ActiveVersion]) -> None:
        """Make ``snapshot`` the current one.

        Files of versions that are not ``ready`` are deleted. Files of views are kept for this snapshot and for the
        previous one, which makes a rollback fast.
        """
        ready = list(ready)
        with self._compiling:
            if snapshot.versions != self._snapshot.versions:
                self._previous = self._snapshot.members
            self._snapshot = snapshot
            self._ready = {(version.name, version.version): version for version in ready}
        self.written.keep_only(ready)
        self.clean(ready)
        self._selections.keep_only(ready, snapshot.versions)

    def clean(self, ready: Iterable[ActiveVersion]) -> None:
        """Delete the files of versions that are not ``ready``, and those of views of neither snapshot."""
        ready = list(ready)
        with self._compiling:
            present = {version.id for version in ready}
            if any(version.id not in present for members in self._previous.values() for version in members):
                self._previous = {}  # nothing of a version that was deleted stays
            views = [*self._previous.items(), *self._snapshot.members.items()]
            self.files.keep_only(ready, {self.files.key(pair, members) for pair, members in views})

    def at(self, versions: Iterable[ActiveVersion]) -> Snapshot:
        """The snapshot of these versions, active or not, compiled where necessary.

        A pair that cannot be compiled is ``unserved`` in it.
        """
        current, ordered = self._snapshot, tuple(sorted(versions, key=lambda version: version.name))
        if current.versions == ordered and not current.unserved:
            return current
        views: dict[Pair, View] = {}
        unserved: dict[Pair, Unserved] = {}
        for pair in sorted({version.pair for version in ordered}):
            members = tuple(version for version in ordered if version.pair == pair)
            whole, before = current.views.get(pair), current.unserved.get(pair)
            if before is not None and before.members == members:
                unserved[pair] = before  # the background thread retries it
                continue
            try:
                if whole and whole.members == members:
                    _add(views, pair, whole)
                else:
                    views[pair], views[pair[::-1]] = self._selections.views(pair, members)
            except Exception as fault:
                unserved[pair] = _note_unserved(members, fault, None)
        return Snapshot(tuple(version for version in ordered if version.pair not in unserved), views, unserved)

    def include(self, snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
        """The snapshot with the versions that a request names by number, such as ``mine@3``, in place of active ones.

        Between their languages it has the chosen tables alone, compiled where necessary.

        Raises:
            InvalidRequest: a name is not allowed; the message has its place.
            NotFound: a table has no such version, or none is active.
            Unavailable: a table cannot be served now.
        """
        choices = parse_choices(names)
        _check_active(choices, snapshot)
        present = {(version.name, version.version): version for version in snapshot.versions}
        ready = {key: version for key, version in self._ready.items() if sees_table(version.name)}
        named = choose_ready(choices, {**ready, **present})  # of a snapshot that is older, too
        chosen = [version for version in named if version not in snapshot.versions]
        if not chosen:
            return snapshot
        replaced = {version.name for version in chosen}
        others = (version for version in snapshot.versions if version.name not in replaced)
        versions = tuple(sorted((*others, *chosen), key=lambda version: version.name))
        names_chosen = {choice.name for choice in choices}
        views, unserved = dict(snapshot.views), dict(snapshot.unserved)
        for pair in {version.pair for version in chosen}:
            members = tuple(version for version in versions if version.pair == pair and version.name in names_chosen)
            views[pair], views[pair[::-1]] = self._compile_chosen(pair, members)
            unserved.pop(pair, None)
        return Snapshot(versions, views, unserved, snapshot.pivots)

    def _restrict(self, snapshot: Snapshot, names: frozenset[str]) -> Snapshot:
        """A snapshot as it would be if there were only the tables with these names; compiled where necessary."""
        views: dict[Pair, View] = {}
        unserved: dict[Pair, Unserved] = {}
        for pair, all_members in snapshot.members.items():
            members = tuple(version for version in all_members if version.name in names)
            if members == all_members:
                views |= {way: snapshot.views[way] for way in (pair, pair[::-1])}
            elif members:
                try:
                    views[pair], views[pair[::-1]] = self._selections.views(pair, members)
                except (DeadlinePassed, WorkCancelled):
                    raise
                except Exception as fault:
                    unserved[pair] = _note_unserved(members, fault, None)
        for pair, missing in snapshot.unserved.items():
            if members := tuple(version for version in missing.members if version.name in names):
                reason = missing.reason if members == missing.members else "it is not served with others of its pair"
                unserved[pair] = Unserved(members, reason)
        lost = {version for missing in unserved.values() for version in missing.members}
        versions = tuple(version for version in snapshot.versions if version.name in names and version not in lost)
        return Snapshot(versions, views, unserved, snapshot.pivots)

    def _compile_chosen(self, pair: Pair, members: tuple[ActiveVersion, ...]) -> tuple[View, View]:
        """The views of versions that a request named; see :meth:`Selections.views`.

        Raises:
            NotFound: one of them was deleted since the request came.
        """
        try:
            return self._selections.views(pair, members, by_version=True)
        except (Unavailable, OSError) as fault:
            for version in members:
                if (version.name, version.version) not in self._ready:
                    raise NotFound(f"tables: version {version.version} of {version.name!r} was deleted") from fault
            raise

    def select(self, snapshot: Snapshot, names: Collection[str], source: str, targets: Iterable[str]) -> Snapshot:
        """A snapshot of only the tables with these names, for queries in ``source`` and documents in ``targets``.

        A new combination of tables is compiled now. Versions that ``names`` has are those that the snapshot includes.
        """
        table_names = {name.partition("@")[0] for name in names}
        chosen = tuple(version for version in snapshot.versions if version.name in table_names)
        views: dict[Pair, View] = {}
        pairs = {pair for version in chosen for pair in (version.pair, version.pair[::-1])}
        for target in targets:
            for first, second in {(source, target), *route(source, target, pairs)} & pairs:
                pair = (min(first, second), max(first, second))
                members = tuple(version for version in chosen if version.pair == pair)
                whole = snapshot.views[pair]
                if whole.members == members:
                    views |= {way: snapshot.views[way] for way in (pair, pair[::-1])}
                elif pair not in views:
                    views[pair], views[pair[::-1]] = self._selections.views(pair, members)
        return Snapshot(chosen, views, pivots=snapshot.pivots)


def _note_unserved(members: tuple[ActiveVersion, ...], fault: Exception, before: Unserved | None) -> Unserved:
    unserved = Unserved(members, without_folders(str(classify(fault) or f"{type(fault).__name__}: {fault}")))
    if unserved != before:
        logger.error(
            "%s cannot be served; all other tables are: %s", describe_versions(members), unserved.reason, exc_info=fault
        )
    return unserved


def _add(views: dict[Pair, View], pair: Pair, view: View) -> None:
    views[pair] = view
    views[pair[1], pair[0]] = view.inverse()


def _check_active(choices: Sequence[Choice], snapshot: Snapshot) -> None:
    """Raise :class:`NotFound` if a name has no active table, :class:`Unavailable` if its table is not served."""
    for place, (name, version) in enumerate(choices):
        if version is None and name not in snapshot.names:
            for unserved in snapshot.unserved.values():
                if any(member.name == name for member in unserved.members):
                    raise Unavailable(f"tables[{place}]: cannot be served now: {unserved}")
            raise NotFound(f"tables[{place}]: there is no active table named {name!r}")


def check_detectable(snapshot: Snapshot, languages: Collection[str]) -> None:
    """Raise :class:`Unavailable` in background work if tables that language detection needs are not served.

    ``languages`` are those of the documents; empty if these are to be detected too.
    """
    pairs = [*snapshot.views, *snapshot.unserved]
    joined = {language for pair in pairs if not set(pair).isdisjoint(languages) for language in pair}
    for pair, unserved in snapshot.unserved.items():
        if in_background() and not (languages and joined.isdisjoint(pair)):
            raise Unavailable(f"a language cannot be detected now: {unserved}")
