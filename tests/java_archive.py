"""A class-data archive for Java in the tests' processes: half of a server's start is the loading of Lucene's classes.

As a module it does what most tests do, in a Java that writes down which classes it loads.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
_QUICK = "-XX:TieredStopAtLevel=1"
"""For processes of seconds, for which to optimise does not pay."""


@cache
def options() -> str:
    """Options with which Java starts quickly; the archive is made once, by the first process that needs one."""
    import jpype

    from dragoman.indexes.java import jvm

    try:
        home, _, jars = jvm.locate_java()
    except jvm.NotInstalled:
        return _QUICK
    path = [*jars, *Path(jpype.__file__).parents[1].glob("org.jpype.jar")]
    about = f"{home} {[(jar, jar.stat().st_mtime_ns) for jar in path]} {Path(__file__).read_text()}"
    archive = ROOT / ".pytest_cache" / "java" / f"{hashlib.sha256(about.encode()).hexdigest()[:16]}.jsa"
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_name("lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            for old in archive.parent.glob("*.jsa"):
                old.unlink()
            try:
                _make(archive, home, path)
            except (OSError, subprocess.SubprocessError):
                archive.touch()  # it only saves time: an empty one is not tried again
    return f"{_QUICK} -XX:SharedArchiveFile={archive}" if archive.stat().st_size else _QUICK


def _make(archive: Path, home: Path, path: list[Path]) -> None:
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        classes, made = Path(folder, "classes"), Path(folder, "made.jsa")
        recording = os.environ | {"JAVA_TOOL_OPTIONS": f"-XX:DumpLoadedClassList={classes}"}
        dump = [
            "-Xshare:dump",
            "-Xlog:all=off",
            "-XX:+UseSerialGC",
            "--enable-preview",
            "-cp",
            ":".join(map(str, path)),
        ]
        files = [f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={made}"]
        for command in ([sys.executable, "-m", "tests.java_archive", folder], [home / "bin" / "java", *dump, *files]):
            subprocess.run(command, cwd=ROOT, env=recording, check=True, timeout=120, capture_output=True)
            recording = dict(os.environ)
        made.replace(archive)


def main() -> None:
    """Import, search, replace and save documents in several languages."""
    from dragoman.engine.search.request import SearchQuery
    from dragoman.engine.settings import Settings
    from tests.support.searching import add, running

    with running(Settings.load(data_dir=Path(sys.argv[1], "data"), rerank="never", embed="on_demand")) as runtime:
        for language in ("de", "en", "ru", "sw"):
            runtime.collections.create(language, language)
            for text in ("Hafen 7", "harbour"):
                add(runtime, language, {"id": "a", "text": text})
            runtime.search.search(SearchQuery(query="harbour 7", query_language="en"), "x")


if __name__ == "__main__":
    main()
