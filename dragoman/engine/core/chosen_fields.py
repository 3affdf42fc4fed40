"""The fields that a caller chooses of documents: ``title,year,author.name``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.engine.core.errors import InvalidRequest

_OF_DOCUMENTS = ("id", "collection", "language", "title", "text", "metadata", "generation")
"""Fields of a document itself; any other name is a path in its metadata."""
_METADATA = "metadata"

Path = tuple[str, ...]


def check_fields(names: Sequence[str], place: str) -> None:
    """
    Raises:
        InvalidRequest: a field has no name; the message begins with ``place``.
    """
    if not all(part for name in names for part in name.split(".")):
        raise InvalidRequest(f"{place}: must be names of fields, or dotted paths in metadata")


class ChosenFields:
    """Some fields of documents, of which ``id`` always is one; without names all."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self._names: set[str] = set(_OF_DOCUMENTS if names is None else ("id",))
        self._paths: list[Path] = []
        for name in names or ():
            first, *rest = name.split(".")
            if name in _OF_DOCUMENTS:
                self._names.add(name)
            else:
                self._paths.append(tuple(rest) if first == _METADATA else (first, *rest))

    @property
    def texts(self) -> bool:
        """Whether the texts of documents are among them."""
        return "text" in self._names

    def of(self, document: dict[str, Any]) -> dict[str, Any]:
        """What is chosen of a document."""
        chosen = {name: field for name, field in document.items() if name in self._names}
        if self._paths and _METADATA not in chosen:
            chosen[_METADATA] = pick(document[_METADATA] or {}, self._paths)
        return chosen

    def of_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """What is chosen of a document's metadata."""
        if _METADATA in self._names:
            return metadata
        chosen: dict[str, Any] = pick(metadata, self._paths) if self._paths else {}
        return chosen


def pick(content: Any, paths: Sequence[Path]) -> Any:
    """What lies at the paths of a JSON value, in its place; paths go through lists of objects.

    As in filters, a name with a dot is the same as one within another.
    """
    if () in paths:
        return content
    if isinstance(content, list):
        return [pick(part, paths) for part in content if isinstance(part, dict | list)]
    within: dict[str, list[Path]] = {}
    for path in paths:
        for size in range(1, len(path) + 1):
            if (name := ".".join(path[:size])) in content:
                within.setdefault(name, []).append(path[size:])
    return {
        name: pick(content[name], rest)
        for name, rest in within.items()
        if () in rest or isinstance(content[name], dict | list)
    }
