"""The merged views of the tables that requests choose by name, kept for the next request within a limit of bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from threading import Lock

from dragoman import deadline
from dragoman.engine.tables.compiled import CompiledTables
from dragoman.engine.tables.views import ActiveVersion, Pair, View

_MOST = 32
_WAIT_SECONDS = 0.1
"""How long a request waits for another's compilation before it looks at its deadline."""


@dataclass(frozen=True, slots=True)
class _Selection:
    views: tuple[View, View]
    """In both directions."""
    size: int
    """Of its files, bytes."""
    by_version: bool
    """Whether a request named a version of it, so that it is used whether it is active or not."""


class Selections:
    """The views of chosen tables that were used last. Thread-safe.

    Their files are in a folder of their own, and are deleted when others take their place. A request that still has a
    view of deleted files can go on with it; the disk is freed when it ends.
    """

    def __init__(self, files: CompiledTables, most_bytes: int, forgotten: Callable[[View, View], object]) -> None:
        """``most_bytes`` limits all files together, except that the last used view is kept in any case.

        ``forgotten`` is called with both directions of each view that is let go.
        """
        self._files = files
        self._most_bytes = most_bytes
        self._forgotten = forgotten
        self._selections: dict[str, _Selection] = {}
        self._ready: frozenset[int] | None = None
        """The ids of all versions that there are; None before that is known."""
        self._lock = Lock()
        self._compiling = Lock()

    def views(self, pair: Pair, members: tuple[ActiveVersion, ...], by_version: bool = False) -> tuple[View, View]:
        """The merged view of some versions of one pair, in both directions; compiled now unless it is kept.

        That of a version which is deleted meanwhile is compiled for this request alone. ``by_version`` says that
        versions were named by number: it is kept though they are not active.

        Raises:
            DeadlinePassed: compiling it, or what others compile before it, takes too long.
        """
        key = self._files.key(pair, members)
        if (selection := self._touch(key)) is not None:
            return selection.views
        self._enter()
        try:
            selection = self._touch(key) or self._compile(pair, members, by_version)
            with self._lock:
                self._selections[key] = selection
                if self._is_deleted(members):
                    self._forget(key)
                self._limit()
        finally:
            self._compiling.release()
        return selection.views

    def keep_only(self, ready: Collection[ActiveVersion], active: Collection[ActiveVersion]) -> None:
        """Let go of the views of versions that are not ``active``, and delete all files that no kept view has.

        Those that were chosen by version stay while all of it is ``ready``.
        """
        with self._compiling, self._lock:
            self._ready = frozenset(version.id for version in ready)
            for key, selection in list(self._selections.items()):
                if not set(ready if selection.by_version else active).issuperset(selection.views[0].members):
                    self._forget(key)
            self._files.keep_only_selected(self._selections)

    def _touch(self, key: str) -> _Selection | None:
        """What is kept, as the one that was used last."""
        with self._lock:
            if (selection := self._selections.pop(key, None)) is not None:
                self._selections[key] = selection
            return selection

    def _enter(self) -> None:
        deadline.check()
        while not self._compiling.acquire(timeout=_WAIT_SECONDS):
            deadline.check()

    def _is_deleted(self, members: tuple[ActiveVersion, ...]) -> bool:
        return self._ready is not None and any(version.id not in self._ready for version in members)

    def _compile(self, pair: Pair, members: tuple[ActiveVersion, ...], by_version: bool) -> _Selection:
        view = self._files.selected_view(pair, members)
        return _Selection((view, view.inverse()), view.surface.nbytes + view.analysed.nbytes, by_version)

    def _limit(self) -> None:
        while len(self._selections) > _MOST or (
            len(self._selections) > 1
            and sum(selection.size for selection in self._selections.values()) > self._most_bytes
        ):
            self._forget(next(iter(self._selections)))

    def _forget(self, key: str) -> None:
        self._forgotten(*self._selections.pop(key).views)
        self._files.remove_selected(key)
