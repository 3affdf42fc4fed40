"""How much room there is for files on a disk in memory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
_LIMITS = ("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")
"""Files of the control groups, version 2 and version 1, which say what this container may take and what it takes."""


def room_in_memory(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The bytes that files may take in memory: of the disk there, of the machine, and of this container."""
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return 0
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    room = [shutil.disk_usage(MEMORY).free]
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) << 10
    for most, used in _LIMITS:
        if (groups / most).is_file() and (limit := (groups / most).read_text(encoding="ascii").strip()).isdigit():
            room.append(int(limit) - int((groups / used).read_text(encoding="ascii")))
    return max(0, min(available, *room))
