"""Compile the Java classes of dragoman/indexes/java/source into dragoman.jar beside them; the jar is committed.

    .venv/bin/python scripts/java_classes.py

This needs a JDK (javac) of version 17 or later, which running Dragoman does not. The jar names the version that made
it.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path

from dragoman.indexes.java.jvm import OWN_CLASSES, locate_java

SOURCE = OWN_CLASSES.with_name("source")
COMPILER = "META-INF/javac"
DIGEST = "META-INF/sources.sha256"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def compiler() -> str:
    """The major version of javac; FileNotFoundError where there is none."""
    said = subprocess.run(["javac", "-version"], capture_output=True, text=True, check=True)
    found = re.search(r"javac (\d+)", said.stdout + said.stderr)
    if found is None:
        raise ValueError(f"javac has no version: {said.stdout}{said.stderr}")
    return found[1]


def compiled() -> dict[str, bytes]:
    """The content of the jar by path: the classes, and the version of the compiler."""
    lucene = locate_java().jars[0]
    with tempfile.TemporaryDirectory() as folder:
        command = ["javac", "--release", "11", "-Xlint:all,-processing", "-Werror", "-cp", str(lucene), "-d", folder]
        subprocess.run([*command, *map(str, sorted(SOURCE.rglob("*.java")))], check=True)
        classes = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*.class"))}
    return {COMPILER: compiler().encode(), DIGEST: digest(), **classes}


def digest() -> bytes:
    """A checksum of the sources, by which a jar that is not of them is known without a compiler."""
    read = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.java")):
        read.update(f"{path.relative_to(SOURCE)}\n".encode() + path.read_bytes())
    return read.hexdigest().encode()


def main() -> None:
    """Write the jar, the same bytes for the same sources and compiler."""
    with zipfile.ZipFile(OWN_CLASSES, "w") as jar:
        for name, content in compiled().items():
            jar.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
