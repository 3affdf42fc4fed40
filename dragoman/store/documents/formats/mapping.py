"""Which column or field of a file becomes which field of a document: ``id=docid,text=body,metadata.year=year``."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from dragoman.engine.core.errors import InvalidRequest

FIELDS = ("id", "text", "title", "language", "metadata")
"""The fields of a document."""
OTHER_IDS = ("_id", "docid")
"""Fields that hold the id where there is none of that name, as BEIR and MIRACL have it."""
MAPPING_CHARS = 10_000
"""Longest ``map``, characters."""
_LEFT_OUT = "-"
_REST = "*"
_INSIDE = "metadata."
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_TRUTHS = {"true": True, "false": False}


class MappingFault(ValueError):
    """Why the fields of a row make no document."""


class _Target(NamedTuple):
    """A field of a document, and what reads the text of a cell."""

    path: str
    read: Callable[[str], Any] | None = None


class FieldMapping:
    """Makes documents of rows; read from text as ``?map=`` has it, ``target=source`` by commas.

    A target is ``id``, ``text``, ``title``, ``language``, ``metadata``, ``metadata.NAME``, or ``-`` for what is left
    out; ``metadata=*`` puts all other fields into metadata. A type after a target (``metadata.year:number=year``) reads
    the text of a cell.
    """

    def __init__(self, text: str | None = None) -> None:
        """
        Raises:
            InvalidRequest: the text is no mapping; the message has the part that is wrong.
        """
        self.targets: dict[str, _Target] = {}
        self._keeps_rest = False
        if text is None:
            return
        if len(text) > MAPPING_CHARS:
            raise InvalidRequest(f"map: longer than {MAPPING_CHARS} characters")
        taken: set[str] = set()
        for part in _split(text):
            path, equals, source = part.partition("=")
            if not equals or not source:
                raise InvalidRequest(f"map: {part[:100]!r} is not target=source, such as text=body")
            target = _read_target(path.strip())
            if source == _REST:
                if target.path != "metadata":
                    raise InvalidRequest("map: * stands for all other fields, which metadata=* alone can take")
                self._keeps_rest = True
                continue
            if target.path in taken or source in self.targets:
                raise InvalidRequest(f"map: {part[:100]!r} names a target or a source that is named before")
            taken.update({target.path} - {_LEFT_OUT})
            self.targets[source] = target

    def check_columns(self, columns: Collection[str]) -> None:
        """
        Raises:
            InvalidRequest: a column is missing that is named, or that every document needs.
        """
        for source in self.targets:
            if source not in columns:
                raise InvalidRequest(f"map: there is no column {source!r}; there are {_list(columns)}")
        targets = {self._find_target(column, columns, True).path for column in columns}
        for needed in ("id", "text"):
            if needed not in targets:
                raise InvalidRequest(
                    f"there is no column {needed!r}; there are {_list(columns)}:"
                    f" say which it is with map={needed}=COLUMN"
                )

    def list_used(self, columns: Collection[str]) -> list[str]:
        """The columns of a table that are not left out."""
        return [column for column in columns if self._find_target(column, columns, True).path != _LEFT_OUT]

    def apply(self, fields: Mapping[str, Any], table: bool = False) -> dict[str, Any]:
        """The fields of a document, to be validated; of a ``table``, other columns are metadata.

        Raises:
            MappingFault: two fields are for one, or a cell is not of its type.
        """
        document: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for name, content in fields.items():
            target = self._find_target(name, fields, table)
            if target.path == _LEFT_OUT:
                continue
            if table and target.path.startswith(_INSIDE):
                document.setdefault("metadata", {})  # a row whose cells are all empty has none, and not what it had
            if table and (content is None or content == ""):
                continue
            if target.path == "metadata" and table:
                target = target._replace(read=json.loads)
            if target.read is not None and isinstance(content, str):
                content = _read_cell(target.read, name, content)
            if target.path == "metadata" and isinstance(content, dict):
                document.setdefault("metadata", {})
                for key, inner in content.items():
                    _put(document, origins, _INSIDE + key, inner, name)
            else:
                _put(document, origins, target.path, content, name)
        if type(document.get("id")) is int:
            document["id"] = str(document["id"])
        return document

    def _find_target(self, name: str, names: Collection[str], table: bool) -> _Target:
        if (target := self.targets.get(name)) is not None:
            return target
        plain = name.strip().lower() if table else name
        if plain in FIELDS or (plain.startswith(_INSIDE) and table):
            return _Target(plain if plain in FIELDS else _INSIDE + name.strip()[len(_INSIDE) :])
        if plain in OTHER_IDS and "id" not in names and not self._maps_id():
            first = next(other for other in OTHER_IDS if other in names or other == plain)
            if plain == first:
                return _Target("id")
        return _Target(_INSIDE + name) if table or self._keeps_rest else _Target(name)

    def _maps_id(self) -> bool:
        return any(target.path == "id" for target in self.targets.values())


def _put(document: dict[str, Any], origins: dict[str, str], path: str, content: Any, name: str) -> None:
    """Set a field of a document, or of its metadata."""
    into, key = document, path
    if path.startswith(_INSIDE):
        into, key = document.setdefault("metadata", {}), path[len(_INSIDE) :]
        if not isinstance(into, dict):
            raise MappingFault("metadata: must be an object")
    if path in origins:
        raise MappingFault(f"{path}: {origins[path]!r} and {name!r} are both for it")
    into[key] = content
    origins[path] = name


def _split(text: str) -> list[str]:
    try:
        return [part for part in next(csv.reader([text], strict=True, skipinitialspace=True), []) if part]
    except csv.Error as fault:
        raise InvalidRequest(f"map: {fault}") from fault


def _read_target(path: str) -> _Target:
    path, colon, kind = path.partition(":")
    inside = path.startswith(_INSIDE) and len(path) > len(_INSIDE)
    if not inside and path not in (*FIELDS, _LEFT_OUT):
        raise InvalidRequest(f"map: there is no field {path[:100]!r}; there are {', '.join(FIELDS)} and metadata.NAME")
    if not colon:
        return _Target(path)
    if kind not in _READERS or not inside:
        raise InvalidRequest(f"map: {kind[:100]!r} is no type of {path[:100]}; metadata.NAME has {', '.join(_READERS)}")
    return _Target(path, _READERS[kind])


def _read_number(cell: str) -> int | float:
    if _NUMBER.fullmatch(cell.strip()) is None:
        raise ValueError("is no number such as 12 or -1.5")
    return json.loads(cell)  # type: ignore[no-any-return]


def _read_boolean(cell: str) -> bool:
    if (truth := _TRUTHS.get(cell.strip().lower())) is None:
        raise ValueError("is neither true nor false")
    return truth


_READERS: dict[str, Callable[[str], Any]] = {
    "string": str,
    "number": _read_number,
    "boolean": _read_boolean,
    "json": json.loads,
}


def _read_cell(read: Callable[[str], Any], name: str, cell: str) -> Any:
    try:
        return read(cell)
    except (ValueError, RecursionError) as fault:
        raise MappingFault(f"{name}: {cell[:40]!r} {'is no JSON' if read is json.loads else fault}") from fault


def _list(columns: Collection[str]) -> str:
    shown = ", ".join(ascii(column[:40]) for column in list(columns)[:20])
    return shown + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")
