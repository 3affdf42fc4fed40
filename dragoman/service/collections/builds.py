"""The builds of an index on disk, of which the file ``current`` names one; and who is using the open one."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Condition

from dragoman.files.atomic import atomic_file
from dragoman.indexes.lucene.index import LuceneIndex

__all__ = ["OpenIndex", "current", "point_to", "remove_others"]


class OpenIndex:
    """An open index and how many are using it."""

    def __init__(self, index: LuceneIndex, changed: Condition) -> None:
        """``changed`` is told when a user leaves."""
        self.index = index
        self.users = 0
        self._changed = changed

    def leave(self) -> None:
        """One of the users has done with it."""
        with self._changed:
            self.users -= 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Whether the last user has left within ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.users, seconds)


def current(directory: Path) -> str | None:
    """The name of the build that is to be opened, or None."""
    try:
        name = (directory / "current").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if name.isalnum() and (directory / name).is_dir() else None


def point_to(directory: Path, name: str) -> None:
    """Swap the build ``name`` in: whatever happens, ``current`` names one whole index."""
    with atomic_file(directory / "current") as unfinished:
        unfinished.write_text(name, encoding="ascii")


def remove_others(directory: Path, name: str) -> None:
    """Remove all builds but this one."""
    for path in directory.iterdir():
        if path.name not in (name, "current"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
