"""The processor's cores, given out in one place: to the models, to requests, and to the parts of an index.

Numpy, faiss and torch each bring threads of their own. By default each library takes every core, and its threads spin
while they wait for each other, which takes the cores from all others. So here

- the models compute on half of the cores, on the worker's thread and those that OpenMP adds to it;
- requests compute on as many threads as there are cores, two to four; Java searches on the thread that calls it;
- products of numpy and searches of faiss take the one thread that they are called on;
- no library spins: :func:`quiet_libraries` says so to all of them before they are loaded.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["QUIET", "available", "for_models", "for_requests", "quiet_libraries"]

QUIET = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
    "KMP_BLOCKTIME": "0",
    "OPENBLAS_NUM_THREADS": "1",
}
"""What libraries read of the environment when they are loaded: OpenMP of GNU and of LLVM, and numpy's OpenBLAS."""
_LIBRARIES = ("numpy", "faiss", "torch")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_FEWEST_REQUESTS, _MOST_REQUESTS = 2, 4


def quiet_libraries() -> bool:
    """Keep the libraries of this process from spinning; what the environment says already stays.

    Returns:
        Whether it is in time: False if one of them is loaded, and has read the environment as it was.
    """
    for variable, setting in QUIET.items():
        os.environ.setdefault(variable, setting)
    return not any(library in sys.modules for library in _LIBRARIES)


def available() -> int:
    """The cores that this process may use, by its affinity and the quota of its container; at least 1."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, _quota(usable)))


def for_models(*, alone: bool = False) -> int:
    """Threads of a forward pass: half of the cores, rounded up, or all where the process does nothing else.

    ``OMP_NUM_THREADS`` is the most.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    share = available() if alone else (available() + 1) // 2
    return min(share, max(1, int(limit))) if limit.isdecimal() else share


def for_requests() -> int:
    """Threads on which requests compute at a time.

    More would contend for Python's interpreter lock, with each other and with the models' thread: they answer no more
    searches, and a crowd keeps others waiting for longer.
    """
    return min(_MOST_REQUESTS, max(_FEWEST_REQUESTS, available()))


def _quota(most: int) -> int:
    """The cores of the container's quota, rounded up; ``most`` without one."""
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return -(-int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or `max`
        return most
