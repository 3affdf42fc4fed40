"""The point-in-time snapshot of the active translation tables that searches use; immutable, replaced as a whole."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from dragoman.lexicon.table.compose import Member, analysed, merge
from dragoman.lexicon.table.table import CorruptTable, Table
from dragoman.lexicon.text.tokens import Analysis
from dragoman.service.core.errors import classify
from dragoman.service.tables.views import ActiveVersion, Pair, PivotView, View, glossaries, pivoted, route

logger = logging.getLogger("dragoman")

COMPILED_VERSION = "2"
"""Increase it when the same versions may compile to different files."""

_SELECTIONS = 32


@dataclass(frozen=True, slots=True)
class Unserved:
    """Active versions of one language pair that cannot be compiled now, and why."""

    members: tuple[ActiveVersion, ...]
    reason: str

    def __str__(self) -> str:
        return f"{_named(self.members)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The active versions at one moment, with their compiled views. It never changes; a request uses one."""

    versions: tuple[ActiveVersion, ...] = ()
    views: dict[Pair, View] = field(default_factory=dict)
    """By source and target language, with both directions of every pair."""
    unserved: dict[Pair, Unserved] = field(default_factory=dict)
    """Active versions that are not in ``versions``, because they cannot be compiled."""

    def view(self, source: str, target: str) -> View | PivotView | None:
        """What translates ``source`` to ``target``: tables of this pair, and by way of another language what they lack.

        None if there is nothing, or if tables that the pair needs cannot be served now.
        """
        direct = self.views.get((source, target))
        legs = [self.views.get(pair) for pair in self._route(source, target)]
        if not legs or None in legs or (direct is None and self.missing(source, target)):
            return direct
        return pivoted(direct, *legs)

    def missing(self, source: str, target: str) -> Unserved | None:
        """The unserved active versions between two languages, or on the way by another language; else None."""
        for pair in ((source, target), *self._route(source, target)):
            found = self.unserved.get((min(pair), max(pair)))
            if found is not None:
                return found
        return None

    def _route(self, source: str, target: str) -> tuple[Pair, ...]:
        unserved = {pair for one, other in self.unserved for pair in ((one, other), (other, one))}
        return route(source, target, self.views.keys() | unserved)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(version.name for version in self.versions)

    @property
    def languages(self) -> frozenset[str]:
        """All languages that an active table translates from or to."""
        return frozenset(language for pair in self.views for language in pair)

    def knows(self, language: str, word: str) -> bool:
        """Whether an active table has the folded word on its ``language`` side."""
        return any(view.surface.sources.index(word) >= 0 for pair, view in self.views.items() if pair[0] == language)


class CompiledTables:
    """The compiled, memory-mapped files in a directory; all of them are derived from the database.

    ``<version id>/<checksum>.safetensors`` holds one version. ``merged/<key>-{surface,analysed}.safetensors`` hold
    the merged view of a language pair. A missing or corrupt file is rebuilt.
    """

    def __init__(
        self, directory: Path, load: Callable[[ActiveVersion], Table], analysis: Callable[[str], Analysis]
    ) -> None:
        self._directory = directory
        self._merged = directory / "merged"
        self._load = load
        self._analysis = analysis

    def save(self, version: ActiveVersion, table: Table) -> None:
        """Write the compiled file of a version."""
        path = self._path(version)
        path.parent.mkdir(parents=True, exist_ok=True)
        table.save(path)

    def table(self, version: ActiveVersion) -> Table:
        """The table of a version, in the direction it was uploaded in."""
        path = self._path(version)
        table = self.opened(version)
        if table is None:
            self.save(version, self._load(version))
            logger.info(
                "compiled table %s version %d again from the database: %s",
                version.name,
                version.version,
                path,
            )
            table = Table.open(path)
        return table

    def opened(self, version: ActiveVersion) -> Table | None:
        """The table of a version if its compiled file is intact; another is removed."""
        path = self._path(version)
        table = _open(path, _named([version]))
        if table is not None and (table.source, table.target) != (version.source, version.target):
            table = None  # compiled under other codes of its languages
        if table is None:
            path.unlink(missing_ok=True)
        return table

    def view(self, pair: Pair, members: Sequence[ActiveVersion]) -> View:
        """The merged view of some versions of one pair, opened from its files or compiled."""
        key = self.key(pair, members)
        surface_path = self._merged / f"{key}-surface.safetensors"
        analysed_path = self._merged / f"{key}-analysed.safetensors"
        what = _named(members)
        surface = _open(surface_path, what)
        if surface is None:
            surface = _saved(merge([self._member(pair, member) for member in members]), surface_path)
        by_term = _open(analysed_path, what)
        if by_term is None:
            source, target = (self._analysis(language) for language in pair)
            by_term = _saved(analysed(surface, source, target, glossaries(members)), analysed_path)
        return View(tuple(members), surface, by_term)

    def key(self, pair: Pair, members: Sequence[ActiveVersion]) -> str:
        """The name of a merged view; it differs whenever the compiled files may differ."""
        described = {
            "compiled": COMPILED_VERSION,
            "pair": pair,
            "analyses": [self._analysis(language).fingerprint for language in pair],
            "members": [
                [member.name, member.version, member.source, member.kind, member.weight, member.checksum]
                for member in members
            ],
        }
        return hashlib.sha256(json.dumps(described, ensure_ascii=False).encode()).hexdigest()[:32]

    def keep_only(self, versions: Iterable[ActiveVersion], merged: Collection[str]) -> None:
        """Delete the compiled files of all other versions and views; open files stay usable."""
        kept = {str(version.id) for version in versions}
        try:
            for folder in list(self._directory.glob("[0-9]*")):
                if folder.name not in kept:
                    shutil.rmtree(folder, ignore_errors=True)
            for path in list(self._merged.glob("*")):
                if path.name.split("-")[0] not in merged:
                    path.unlink(missing_ok=True)
        except OSError as fault:
            logger.warning("unused compiled tables could not be deleted: %s", fault)

    def _member(self, pair: Pair, version: ActiveVersion) -> Member:
        table = self.table(version)
        oriented = table if (table.source, table.target) == pair else table.inverse()
        return Member(oriented, version.name, version.version, version.kind, version.weight)

    def _path(self, version: ActiveVersion) -> Path:
        return self._directory / str(version.id) / f"{version.checksum}.safetensors"


def _named(members: Sequence[ActiveVersion]) -> str:
    return ", ".join(f"table '{one.name}' version {one.version}" for one in members)


def _open(path: Path, what: str) -> Table | None:
    try:
        return Table.open(path)
    except FileNotFoundError:
        return None
    except CorruptTable as fault:
        logger.warning("the compiled file of %s is damaged and is rebuilt: %s: %s", what, path, fault.reason)
        return None


def _saved(table: Table, path: Path) -> Table:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.save(path)
    return Table.open(path)


class TableRegistry:
    """Holds the current :class:`Snapshot`, and compiles a new one before it becomes current.

    Only one thread at a time may change it (the caller has a lock); any thread may read snapshots.
    """

    def __init__(self, files: CompiledTables) -> None:
        self.files = files
        self._snapshot = self._previous = Snapshot()
        self._compiling = Lock()
        self._selected: OrderedDict[str, View] = OrderedDict()

    @property
    def snapshot(self) -> Snapshot:
        """The current snapshot. A request reads it once."""
        return self._snapshot

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
                    unserved[pair] = _unserved(members, fault, before)
        served = tuple(version for version in ordered if version.pair not in unserved)
        return Snapshot(served, views, unserved)

    def install(self, snapshot: Snapshot, ready: Iterable[ActiveVersion]) -> None:
        """Make ``snapshot`` the current one.

        Files of versions that are not ``ready`` are deleted. Files of views are kept for this snapshot and for the
        previous one, which makes a rollback fast.
        """
        with self._compiling:
            if snapshot.versions != self._snapshot.versions:
                self._previous = self._snapshot
            self._snapshot = snapshot
            active = set(snapshot.versions)
            for key in [key for key, view in self._selected.items() if not active.issuperset(view.members)]:
                del self._selected[key]
            views = [*self._previous.views.items(), *snapshot.views.items()]
            keys = {self.files.key(pair, view.members) for pair, view in views if pair[0] < pair[1]}
            self.files.keep_only(ready, keys | self._selected.keys())

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
                _add(views, pair, whole if whole and whole.members == members else self._subset(pair, members))
            except Exception as fault:
                unserved[pair] = _unserved(members, fault, None)
        return Snapshot(tuple(version for version in ordered if version.pair not in unserved), views, unserved)

    def select(self, snapshot: Snapshot, names: Collection[str], source: str, targets: Iterable[str]) -> Snapshot:
        """A snapshot of only the tables with these names, for queries in ``source`` and documents in ``targets``.

        A new combination of tables is compiled now.
        """
        chosen = tuple(version for version in snapshot.versions if version.name in names)
        views: dict[Pair, View] = {}
        pairs = {pair for version in chosen for pair in (version.pair, version.pair[::-1])}
        for target in targets:
            for one, other in {(source, target), *route(source, target, pairs)} & pairs:
                pair = (min(one, other), max(one, other))
                members = tuple(version for version in chosen if version.pair == pair)
                whole = snapshot.views[pair]
                if whole.members == members:
                    views |= {way: snapshot.views[way] for way in (pair, pair[::-1])}
                elif pair not in views:
                    _add(views, pair, self._subset(pair, members))
        return Snapshot(chosen, views)

    def _subset(self, pair: Pair, members: tuple[ActiveVersion, ...]) -> View:
        key = self.files.key(pair, members)
        with self._compiling:
            view = self._selected.get(key)
            if view is None:
                view = self._selected[key] = self.files.view(pair, members)
            self._selected.move_to_end(key)
            while len(self._selected) > _SELECTIONS:
                self._selected.popitem(last=False)
        return view


def _unserved(members: tuple[ActiveVersion, ...], fault: Exception, before: Unserved | None) -> Unserved:
    found = Unserved(members, str(classify(fault) or f"{type(fault).__name__}: {fault}"))
    if found != before:
        logger.error("%s cannot be served; all other tables are: %s", _named(members), found.reason, exc_info=fault)
    return found


def _add(views: dict[Pair, View], pair: Pair, view: View) -> None:
    views[pair] = view
    views[pair[1], pair[0]] = view.inverse()
