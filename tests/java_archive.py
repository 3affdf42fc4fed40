"""A class-data archive for Java in the tests' processes: half of a server's start is the loading of Lucene's classes.

As a module it does what most tests do, in a Java that writes down which classes it loads.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from dragoman.indexes.java import jvm

OPTIONS = "TESTS_JAVA_OPTIONS"
"""The environment variable with the options of Java in the tests' processes."""
_QUICK = "-XX:TieredStopAtLevel=1"
"""For processes of seconds, for which to optimise does not pay."""


def options(cache: Path) -> str:
    """Options with which Java starts quickly; the archive is made once below ``cache``."""
    try:
        home, _, jar = jvm._java_home()
    except jvm.NotInstalled:
        return _QUICK
    about = f"{home} {jar} {jar.stat().st_mtime_ns} {Path(__file__).read_text()}"
    archive = cache / f"{hashlib.sha256(about.encode()).hexdigest()[:16]}.jsa"
    if not archive.exists():
        try:
            _make(archive, home, jar)
        except (OSError, subprocess.SubprocessError):  # it only saves time
            return _QUICK
    return f"{_QUICK} -XX:SharedArchiveFile={archive}"


def _make(archive: Path, home: Path, jar: Path) -> None:
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        classes, made = Path(folder, "classes"), Path(folder, "made.jsa")
        recording = os.environ | {"JAVA_TOOL_OPTIONS": f"-XX:DumpLoadedClassList={classes}"}
        quiet = {"check": True, "timeout": 120, "capture_output": True}
        subprocess.run([sys.executable, "-m", "tests.java_archive", folder], env=recording, **quiet)  # type: ignore[call-overload]
        dump = ["-Xshare:dump", "-Xlog:all=off", "-XX:+UseSerialGC", "--enable-preview", "-cp", str(jar)]
        files = [f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={made}"]
        subprocess.run([home / "bin" / "java", *dump, *files], **quiet)  # type: ignore[call-overload]
        made.replace(archive)


def main() -> None:
    """Import, search, replace and save documents in several languages."""
    from dragoman.service.core.settings import Settings
    from dragoman.service.schemas.search import SearchRequest
    from tests.service.searching import add, running

    with running(Settings(data_dir=Path(sys.argv[1], "data"), rerank="never", embed="on_demand")) as runtime:
        for language in ("de", "en", "ru", "sw"):
            runtime.collections.create(language, language)
            for text in ("Hafen 7", "harbour"):
                add(runtime, language, {"id": "a", "text": text})
            runtime.search.search(SearchRequest(query="harbour 7", query_language="en"), "x")


if __name__ == "__main__":
    main()
