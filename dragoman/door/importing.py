"""Sends what files of documents have and a collection does not.

The collection is read before. So an import that was interrupted goes on where it ended, one that is repeated sends
nothing, and what the files no longer have is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.door import calls
from dragoman.door.files import document_format, document_lines
from dragoman.door.progress import show_progress
from dragoman.door.records import Imported
from dragoman.engine.core.errors import InvalidRequest
from dragoman.files.streams import file_parts, lines, unpack
from dragoman.store.documents.formats.mapping import FieldMapping, MappingFault
from dragoman.store.documents.formats.reader import TABLES, WHOLE, read_rows
from dragoman.store.documents.formats.rows import RowLimits

if TYPE_CHECKING:
    from dragoman.door.database import Database

_DIGEST_BYTES = 16
_DELETED_AT_ONCE = 1_000


class _State(NamedTuple):
    """What a document is: digests of its title and text, and of its metadata; and its language."""

    text: bytes
    language: str | None
    metadata: bytes | None


class FileImport:
    """The import of one or more files into a collection."""

    def __init__(
        self, database: Database, name: str, format: str | None, map: str | None, tell: Callable[[str], None]
    ) -> None:
        self._database = database
        self._name = name
        self._format = format
        self._map = map
        self._mapping = FieldMapping(map)
        self._tell = tell
        self._present: dict[str, _State] = {}
        exported: Iterator[bytes] = database.send(calls.export_documents(name))
        for line in lines(exported, longest=RowLimits().unpacked_bytes):
            document = json.loads(line.content or b"")
            self._present[document["id"]] = _state_of(document)
        self._unseen = set(self._present)
        self._unchanged = self._sent = self._rows = 0
        self._unreadable: list[tuple[int, str]] = []
        self.rejected = 0

    def add(self, path: Path) -> None:
        """Add the documents of a file, and tell what was done, and of each line that was rejected.

        Raises:
            InvalidRequest: the file holds none at all, as after an export that failed.
        """
        self._unchanged, self._sent, self._unreadable, self._rows = 0, 0, [], 0
        format = self._format or document_format(path) or "ndjson"
        changed = self._changed_lines(path, format)
        first = next(changed, None)
        if not self._rows:
            raise InvalidRequest(f"{path}: the file holds no documents")
        imported = Imported(0, 0, [], 0)
        if first is not None and format == WHOLE:
            for _ in changed:
                pass  # what it has is noted
            self._unchanged, self._unreadable = 0, []
            call = calls.add_documents(self._name, document_lines(path), format=format, map=self._map)
            imported = self._database.send(call)
        elif first is not None:
            try:
                imported = self._database.send(calls.add_documents(self._name, chain([first], changed)))
            except InvalidRequest as fault:
                if not self._unchanged:
                    raise
                self._tell(f"{path}: {fault}")  # the collection has all but what was rejected
                self.rejected += self._sent
        unchanged = f", {self._unchanged} unchanged" if self._unchanged else ""
        self._tell(f"{path}: {imported.accepted} documents, {imported.replaced} of them replaced{unchanged}")
        faults = sorted([*self._unreadable, *((line.line, line.reason) for line in imported.rejected)])
        for line_number, reason in faults:
            self._tell(f"{path}, line {line_number}: {reason}")
        self.rejected += len(faults)

    @property
    def missing(self) -> list[str]:
        """The ids of the documents that were there before and that no file has."""
        return sorted(self._unseen)

    def delete_missing(self) -> None:
        """Delete the documents that no file has; that one was deleted meanwhile is no fault."""
        ids, deleted = self.missing, 0
        for start in range(0, len(ids), _DELETED_AT_ONCE):
            chosen = {"id": {"$in": ids[start : start + _DELETED_AT_ONCE]}}
            deleted += self._database.send(calls.delete_documents(self._name, chosen))
        self._tell(f"{self._name}: {deleted} documents deleted")

    def _changed_lines(self, path: Path, format: str) -> Iterator[bytes]:
        """The rows of a file as NDJSON, without those that the collection has as they are.

        Blank lines stand for these, so that a service tells rejected lines by their numbers in the file.
        """
        parts = show_progress(file_parts(path), f"importing {path.name}", None)
        sent = 0
        for row in read_rows(unpack(parts), format, self._mapping, RowLimits()):
            self._rows += 1
            if row.content is None:
                self._unreadable.append((row.line, row.reason))
                continue
            try:
                line = self._changed_line(row.content, format in TABLES)
            except MappingFault as fault:
                self._unreadable.append((row.line, str(fault)))
                continue
            if line is None:
                self._unchanged += 1
            else:
                self._sent += 1
                yield b"\n" * max(row.line - sent - 1, 0) + line + b"\n"
                sent = max(row.line, sent + 1)

    def _changed_line(self, content: bytes, table: bool) -> bytes | None:
        """The line to send, None where the collection has it; what is no JSON object is sent to be told why.

        Raises:
            MappingFault: the fields make no document.
        """
        try:
            fields = json.loads(content)
        except (ValueError, RecursionError):
            return content
        if not isinstance(fields, dict):
            return content
        document = self._mapping.apply(fields, table)
        if not isinstance(id := document.get("id"), str):
            return _to_line(document)
        self._unseen.discard(id)
        state, present = _state_of(document), self._present.get(id)
        if present is not None:
            state = state._replace(
                language=state.language or present.language,
                metadata=present.metadata if document.get("metadata") is None else state.metadata,
            )
        if state == present:
            return None
        self._present[id] = state
        return _to_line(document)


def _to_line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode()


def _state_of(document: Mapping[str, Any]) -> _State:
    return _State(
        _digest([document.get("title") or None, document.get("text")]),
        document.get("language"),
        _digest(document.get("metadata") or {}),
    )


def _digest(content: Any) -> bytes:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=_DIGEST_BYTES).digest()
