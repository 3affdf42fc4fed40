"""A bar on the screen for long work, where somebody looks on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def show_progress(parts: Iterable[T], what: str, shown: bool | None, total: int | None = None) -> Iterator[T]:
    """``parts``, counted on standard error while they are taken, if ``shown``; None: where a screen or notebook is."""
    if shown is None:
        shown = sys.stderr.isatty() or "ipykernel" in sys.modules
    if not shown:
        yield from parts
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(parts, description=what, total=total, console=console, transient=True)
