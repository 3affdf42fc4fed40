"""How many files of `dragoman/` a default search crosses: those in which a function is called, on any thread.

    python -m dragoman_lab.benchmarks.search.crossed_files

The demo's documents and tables are opened in this process, embedded, and searched once before, so that nothing is
loaded in the counted search.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import dragoman
from dragoman.cli.demo import load
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime

PACKAGE = Path(dragoman.__file__).parent
QUERY = "volcano eruption and ash"


class Tracer:
    """The files of the package in which functions are called while it counts.

    Threads that begin later are followed from their begin, so it is made before those that compute.
    """

    def __init__(self) -> None:
        self.counting = False
        self.files: set[str] = set()
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.counting and event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            self.files.add(frame.f_code.co_filename)


def trace_search(folder: str) -> list[str]:
    """The files that a search crosses, below the package; the folder has the demo."""
    tracer = Tracer()
    with dragoman.open(folder) as database:
        for info in database.collections():
            database.collection(info.name).wait()
        database.search(QUERY)
        tracer.counting = True
        database.search(QUERY)
        tracer.counting = False
    return sorted(str(Path(file).relative_to(PACKAGE)) for file in tracer.files)


def main() -> None:
    """Print the files, and how many they are."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(Settings.from_defaults(data_dir=Path(folder)))
        runtime.start(serving=False)
        load(runtime)
        runtime.close()
        files = trace_search(folder)
    sys.stdout.write("\n".join([*files, f"{len(files)} files"]) + "\n")


if __name__ == "__main__":
    main()
