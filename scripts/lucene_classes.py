"""Put the Lucene classes that Dragoman uses into a copy of this repository, and their licences into the copy's NOTICE.

    .venv/bin/python scripts/lucene_classes.py FOLDER

They come from the jar of the installed pyserini, which is 15 times as large. A class is taken if one that is taken
names it; the first ones are those that our own Java classes and our Python name. A package's data files, such as
dictionaries, come with its classes. The same jar gives the same bytes.
"""

from __future__ import annotations

import argparse
import ast
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dragoman.indexes.analysis.languages import ANALYSERS
from dragoman.indexes.java.jvm import LUCENE_CLASSES, OWN_CLASSES, pyserini_jar

INDEXES = LUCENE_CLASSES.parents[1]

_ANALYSIS = "org/apache/lucene/analysis/"
LOADED_BY_NAME = (
    "org/apache/lucene/codecs/lucene99/Lucene99Codec",  # of new indexes; it names the formats of its parts
    _ANALYSIS + "fa/PersianStemFilterFactory",
    _ANALYSIS + "ja/JapaneseTokenizerFactory",
    _ANALYSIS + "standard/StandardTokenizerFactory",
)
"""Classes that Lucene finds in the lists of META-INF/services, by the names that we give it."""

SERVICES = "META-INF/services/org.apache.lucene."
LICENCES = ("META-INF/LICENSE.txt", "META-INF/NOTICE.txt")
"""Lucene's: the texts of the licences of what it has from others, and who that is."""
UKRAINIAN = "ua/net/nlp/README"
"""Says under which licence the Ukrainian dictionary is."""
_MANIFEST = "META-INF/MANIFEST.MF"
_TAKEN_FROM = re.compile(r"(?:META-INF/versions/\d+/)?((?:org/apache/lucene|org/tartarus|morfologik|ua/net/nlp)/.+)")
_NAMED = re.compile(r"L([\w/$]+)[;<]")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_POOL_SIZES = (
    dict.fromkeys((7, 8, 16, 19, 20), 2) | dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4) | {5: 8, 6: 8, 15: 3}
)
"""Bytes of a constant after its tag, strings left out (Java Virtual Machine Specification, section 4.4)."""


def strings(class_file: bytes) -> Iterator[str]:
    """The strings in the pool of constants of a class file, which include all names of classes in it."""
    (count,) = struct.unpack_from(">H", class_file, 8)
    place, index = 10, 1
    while index < count:
        tag = class_file[place]
        place += 1
        if tag == 1:
            (length,) = struct.unpack_from(">H", class_file, place)
            yield class_file[place + 2 : place + 2 + length].decode("utf-8", "replace")
            place += 2 + length
        else:
            place += _POOL_SIZES[tag]
        index += 2 if tag in (5, 6) else 1


def names(class_file: bytes) -> Iterator[str]:
    """What may be names of classes or data files in a class file, with slashes."""
    for text in strings(class_file):
        yield text
        yield text.replace(".", "/")
        yield from _NAMED.findall(text)


def first_names() -> set[str]:
    """The classes that our own classes and our Python name."""
    analysers = {_ANALYSIS + row.stemmer for row in ANALYSERS.values() if row.stemmer}
    in_python = {name.replace(".", "/") for path in INDEXES.rglob("*.py") for name in named_in_python(path) if name}
    with zipfile.ZipFile(OWN_CLASSES) as jar:
        ours = [jar.read(name) for name in jar.namelist() if name.endswith(".class")]
    return analysers | in_python | set(LOADED_BY_NAME) | {name for content in ours for name in names(content)}


def named_in_python(path: Path) -> Iterator[str | None]:
    """The argument of each call of `java_class` in a module; None for one that is no constant of the module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants: dict[str, str | None] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            constants[statement.targets[0].id] = _text(statement.value, constants)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "java_class":
            yield _text(call.args[0], constants)


def _text(node: ast.expr, constants: Mapping[str, str | None]) -> str | None:
    """The text that an expression of constants and sums is, or None for any other."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, constants), _text(node.right, constants)
        return None if left is None or right is None else left + right
    return None


def reached(jar: zipfile.ZipFile, first: Iterable[str]) -> set[str]:
    """The files of the classes that ``first`` and what they name lead to, and the data files of their packages.

    A class may have variants for later versions of Java. Lucene makes the class of an attribute from its interface's
    name.
    """
    variants: dict[str, list[str]] = {}
    folders: dict[str, list[str]] = {}
    for path in jar.namelist():
        if (match := _TAKEN_FROM.fullmatch(path)) is None or path.endswith("/"):
            continue
        if path.endswith(".class"):
            variants.setdefault(match[1].removesuffix(".class"), []).append(path)
        else:
            folders.setdefault(path.rpartition("/")[0], []).append(path)
    data_files = {path for paths in folders.values() for path in paths}
    taken: set[str] = set()
    visited: set[str] = set()
    waiting = set(first)
    while waiting:
        name = waiting.pop()
        visited.add(name)
        if name in variants or name in data_files:
            taken.update(variants.get(name, ()))
            taken.update(folders.get(name.rpartition("/")[0], ()))
            waiting.update(found for path in variants.get(name, ()) for found in names(jar.read(path)))
            waiting.add(f"{name}Impl")
            waiting -= visited
    return taken


def services(jar: zipfile.ZipFile, taken: set[str]) -> dict[str, bytes]:
    """Lucene's lists of services without the classes that are not taken."""
    lists = {}
    for path in jar.namelist():
        if path.startswith(SERVICES):
            lines = jar.read(path).decode("utf-8").splitlines()
            kept = [line for line in lines if f"{line.strip().replace('.', '/')}.class" in taken]
            if kept:
                lists[path] = "".join(f"{line}\n" for line in kept).encode()
    return lists


def content(source: Path) -> dict[str, bytes]:
    """What the small jar holds, by path."""
    with zipfile.ZipFile(source) as jar:
        taken = reached(jar, first_names())
        files = {path: jar.read(path) for path in [*taken, *LICENCES]}
        files |= services(jar, taken)
    files[_MANIFEST] = b"Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n"
    return files


def write(files: Mapping[str, bytes], target: Path) -> None:
    """Write a jar. Nothing in it is compressed: so the wheel, which compresses it as a whole, is smaller."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as jar:
        for path in sorted(files, key=lambda path: (path != _MANIFEST, path)):
            jar.writestr(zipfile.ZipInfo(path, _EPOCH), files[path])


def licences(files: Mapping[str, bytes]) -> str:
    """What the licences of the classes and dictionaries want to be said where they are passed on.

    The text of the Apache License itself, with which Lucene's begins, is in the file LICENSE.
    """
    texts = {path: files[path].decode("utf-8") for path in sorted(files) if "LICENSE" in path or path == UKRAINIAN}
    lucene = texts.pop(LICENCES[0]).partition("limitations under the License.")[2]
    shown = {"Apache Lucene": files[LICENCES[1]].decode("utf-8"), "Parts of Apache Lucene": lucene}
    shown |= texts
    return "".join(f"\n{'=' * 100}\n{title}\n{'=' * 100}\n\n{text.strip()}\n" for title, text in shown.items())


def put_into(folder: Path) -> Path:
    """Write the jar and the NOTICE of a copy of the repository, and return the jar.

    Raises:
        ValueError: ``folder`` is the repository itself, or pyserini is not installed.
    """
    source = pyserini_jar()
    if (folder / ".git").exists():
        raise ValueError(f"{folder} is a repository, and not a copy of one")
    if source is None:
        raise ValueError("the Lucene classes come from pyserini: pip install --no-deps pyserini")
    files = content(source)
    target = folder / LUCENE_CLASSES.relative_to(LUCENE_CLASSES.parents[3])
    write(files, target)
    with (folder / "NOTICE").open("a", encoding="utf-8") as notice:
        notice.write(licences(files))
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description="Put the Lucene classes into a copy of this repository.")
    parser.add_argument("folder", type=Path, help="the copy")
    try:
        jar = put_into(parser.parse_args().folder)
    except ValueError as fault:
        parser.error(str(fault))
    print(f"{jar}: {jar.stat().st_size / 1e6:.1f} MB")  # noqa: T201


if __name__ == "__main__":
    main()
