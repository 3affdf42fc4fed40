"""Memory of processes."""

from __future__ import annotations

import os
import subprocess
import sys

from dragoman_lab.benchmarks.memory import below, mebibytes, proportional

_CHILD = """
import subprocess, sys
block = bytearray(64 << 20)
del block
child = subprocess.Popen([sys.executable, "-c", "print('up', flush=True); input()"], stdin=sys.stdin)
child.wait()
"""


def test_the_peak_outlives_what_was_freed_and_children_of_children_count() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _CHILD], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "up\n"
        found = below(os.getpid())
        assert process.pid in found and len(below(process.pid)) == 1
        assert set(below(process.pid)) < set(found)
        assert mebibytes(process.pid, "VmHWM") > mebibytes(process.pid) + 60
        (grandchild,) = below(process.pid)
        assert proportional(grandchild) < proportional(process.pid) < mebibytes(process.pid) + mebibytes(grandchild)
        process.stdin.write("\n")
