"""Build the wheel of Dragoman with the Lucene classes in it, and print how large it and its parts are.

    .venv/bin/python scripts/build_wheel.py [FOLDER]

FOLDER is where the wheel goes, dist/ by default. It is built in a copy of the package, so that nothing of an earlier
build is in it and the repository stays as it is. The same files give the same bytes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

from lucene_classes import put_into

ROOT = Path(__file__).resolve().parent.parent
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
EPOCH = "315532800"
"""The time of all files in the wheel, seconds: 1980, the first year that zip files know."""
LISTED = 10


def built(folder: Path) -> Path:
    """Build the wheel into a folder.

    Raises:
        ValueError: pyserini, which has the Lucene classes, is not installed.
        subprocess.CalledProcessError: pip could not build it, and has said why.
    """
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary)
        for name in BUILT_FROM:
            shutil.copy(ROOT / name, copy)
        shutil.copytree(ROOT / "dragoman", copy / "dragoman", ignore=shutil.ignore_patterns("__pycache__"))
        put_into(copy)
        made = copy / "dist"
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", made, copy]
        subprocess.run(build, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, check=True)
        (wheel,) = made.glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, folder))


def sizes(wheel: Path) -> Counter[str]:
    """The bytes that each part takes in the wheel: a jar, a folder of weights, or a room with all else in it."""
    parts: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as archive:
        for file in archive.infolist():
            folders = Path(file.filename).parts[:-1]
            depth = folders.index("weights") + 2 if "weights" in folders else 2
            part = file.filename if file.filename.endswith(".jar") else "/".join(folders[:depth])
            parts[part] += file.compress_size
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheel with the Lucene classes in it.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist", help="where it goes; default: dist")
    try:
        wheel = built(parser.parse_args().folder)
    except ValueError as fault:
        parser.error(str(fault))
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)
    parts = sizes(wheel)
    lines = [f"{size / 1e6:6.1f} MB  {part}" for part, size in parts.most_common(LISTED)]
    rest = sum(parts.values()) - sum(size for _, size in parts.most_common(LISTED))
    lines += [f"{rest / 1e6:6.1f} MB  all else", f"{wheel.stat().st_size / 1e6:6.1f} MB  {wheel}"]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
