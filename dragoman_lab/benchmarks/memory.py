"""Memory and processor time of processes (Linux)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

Line = Literal["VmRSS", "VmHWM", "VmData", "RssAnon"]


def mebibytes(process: int | Literal["self"], line: Line = "VmRSS") -> float:
    """Resident memory of a process, MiB: now, at its peak (`VmHWM`), or but for files (`RssAnon`).

    `VmData` is all data that it holds.
    """
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.split(f"{line}:")[1].split()[0]) / 1024


def proportional(process: int) -> float:
    """The memory of a process and of those below it, MiB: what several share is divided among them (PSS)."""
    return sum(_proportional(each) for each in (process, *below(process)))


def _proportional(process: int) -> float:
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    return int(rollup.split("\nPss:")[1].split()[0]) / 1024


def below(process: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    threads = Path(f"/proc/{process}/task").glob("*/children")
    direct = [int(child) for children in threads for child in children.read_text(encoding="ascii").split()]
    return direct + [descendant for child in direct for descendant in below(child)]


def processor_seconds(process: int) -> float:
    """What all threads of a process and of those below it computed so far."""
    clocks = (~each << 3 | 2 for each in (process, *below(process)))  # Linux's numbers of other processes' clocks
    return sum(map(time.clock_gettime, clocks))
