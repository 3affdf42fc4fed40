"""The committed jar holds what its sources compile to."""

from __future__ import annotations

import runpy
import shutil
import zipfile
from pathlib import Path

import pytest

from dragoman.indexes.java.jvm import OWN_CLASSES

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "java_classes.py"))


def content() -> dict[str, bytes]:
    with zipfile.ZipFile(OWN_CLASSES) as jar:
        return {name: jar.read(name) for name in jar.namelist()}


def test_the_jar_was_made_of_the_sources() -> None:
    kept = content()
    assert kept[SCRIPT["DIGEST"]] == SCRIPT["digest"](), "run 'make classes'"
    names = {path.stem for path in SCRIPT["SOURCE"].rglob("*.java")}
    assert {f"dragoman/{name}.class" for name in names} <= kept.keys()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_the_classes_are_those_of_the_sources() -> None:
    kept, made = content(), SCRIPT["compiled"]()
    assert kept.keys() == made.keys()
    if kept[SCRIPT["COMPILER"]] == made[SCRIPT["COMPILER"]]:  # another compiler writes other bytes
        assert kept == made
