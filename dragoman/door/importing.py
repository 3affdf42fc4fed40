"""Sends what files of documents have and a collection does not.

The collection is asked for the documents of some rows at a time. So an import that was interrupted goes on where it
ended, and one that is repeated sends nothing. All ids are read only to know which of them the files no longer have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from dragoman.door import calls
from dragoman.door.files import document_format, document_lines
from dragoman.door.progress import show_progress
from dragoman.door.records import Imported
from dragoman.engine.core.errors import InvalidRequest, TooManyRequests, Unavailable
from dragoman.files.streams import file_parts, unpack
from dragoman.store.documents.formats.mapping import FieldMapping, MappingFault
from dragoman.store.documents.formats.reader import TABLES, WHOLE, check_format, read_rows
from dragoman.store.documents.formats.rows import Row, RowLimits

if TYPE_CHECKING:
    from dragoman.door.database import Database

_DIGEST_BYTES = 16
_DELETED_AT_ONCE = 1_000
_ROWS_AT_ONCE = 200
_BYTES_AT_ONCE = 1 << 22
_ADDRESS_CHARS = 6_000
"""Ids of one question, as an address has them: proxies take addresses of 8 KiB."""


class _State(NamedTuple):
    """What a document is: digests of its title and text, and of its metadata; and its language."""

    text: bytes
    language: str | None
    metadata: bytes | None


class _Line(NamedTuple):
    """A row of a file: the document that it makes, or what is sent as it is to be told why it makes none."""

    line_number: int
    document: dict[str, Any] | None
    content: bytes = b""

    @property
    def id(self) -> str | None:
        id = None if self.document is None else self.document.get("id")
        return id if isinstance(id, str) else None


class FileImport:
    """The import of one or more files into a collection."""

    def __init__(
        self,
        database: Database,
        name: str,
        format: str | None,
        map: str | None,
        tell: Callable[[str], None],
        sync: bool = False,
    ) -> None:
        """With ``sync``, what the files lack is known in the end.

        Raises:
            InvalidRequest: there is no such format, or the mapping is none.
            NotFound: there is no such collection.
        """
        if format is not None:
            check_format(format)
        self._database = database
        self._name = name
        self._format = format
        self._map = map
        self._mapping = FieldMapping(map)
        self._tell = tell
        self._is_empty = not database.send(calls.get_collection(name)).documents
        self._unseen: set[str] = set(self._list_ids()) if sync else set()
        self._sent_ids: set[str] = set()
        self._unchanged = self._sent = self._rows = 0
        self._unreadable: list[tuple[int, str]] = []
        self.rejected = 0

    def _list_ids(self) -> Iterator[str]:
        cursor: str | None = None
        while True:
            ids, cursor = self._database.send(calls.list_ids(self._name, cursor))
            yield from ids
            if cursor is None:
                return

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
        for some in _gather(self._read_lines(read_rows(unpack(parts), format, self._mapping, RowLimits()), format)):
            present = self._fetch([line.id for line in some if line.id is not None])
            for line in some:
                if self._is_unchanged(line, present):
                    self._unchanged += 1
                    continue
                self._sent += 1
                content = line.content if line.document is None else json.dumps(line.document).encode()
                yield b"\n" * max(line.line_number - sent - 1, 0) + content + b"\n"
                sent = max(line.line_number, sent + 1)

    def _read_lines(self, rows: Iterable[Row], format: str) -> Iterator[_Line]:
        for row in rows:
            self._rows += 1
            if row.content is None:
                self._unreadable.append((row.line, row.reason))
                continue
            try:
                fields = json.loads(row.content)
                document = self._mapping.apply(fields, format in TABLES) if isinstance(fields, dict) else None
            except MappingFault as fault:
                self._unreadable.append((row.line, str(fault)))
            except (ValueError, RecursionError):
                yield _Line(row.line, None, row.content)
            else:
                yield _Line(row.line, document, row.content)

    def _fetch(self, ids: Sequence[str]) -> dict[str, _State]:
        """What the collection has of these ids; what it cannot tell now is sent, which does no harm."""
        present: dict[str, _State] = {}
        if self._is_empty:
            return present
        for some in _cut_ids(ids):
            cursor: str | None = None
            while True:
                call = calls.list_documents(self._name, cursor, _ROWS_AT_ONCE, {"id": {"$in": some}})
                try:
                    page = self._database.send(call)
                except (TooManyRequests, Unavailable):
                    break
                present.update((document.id, _state_of(asdict(document))) for document in page.documents)
                if (cursor := page.next) is None:
                    break
        return present

    def _is_unchanged(self, line: _Line, present: Mapping[str, _State]) -> bool:
        """Whether the collection has the document, and had no other of its id sent before."""
        if line.document is None or (id := line.id) is None:
            return False
        self._unseen.discard(id)
        stored = present.get(id)
        if stored is not None and id not in self._sent_ids:
            state = _state_of(line.document)
            state = state._replace(
                language=state.language or stored.language,
                metadata=stored.metadata if line.document.get("metadata") is None else state.metadata,
            )
            if state == stored:
                return True
        self._sent_ids.add(id)
        return False


def _gather(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    gathered: list[_Line] = []
    size = 0
    for line in lines:
        gathered.append(line)
        size += len(line.content)
        if len(gathered) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield gathered
            gathered, size = [], 0
    if gathered:
        yield gathered


def _cut_ids(ids: Sequence[str]) -> Iterator[list[str]]:
    """The ids in lists that an address can hold; one that is too long for it is left out."""
    some: list[str] = []
    size = 0
    for id in dict.fromkeys(ids):
        chars = len(quote(json.dumps(id))) + len(quote(", "))
        if chars > _ADDRESS_CHARS:
            continue
        if size + chars > _ADDRESS_CHARS:
            yield some
            some, size = [], 0
        some.append(id)
        size += chars
    if some:
        yield some


def _state_of(document: Mapping[str, Any]) -> _State:
    return _State(
        _digest([document.get("title") or None, document.get("text")]),
        document.get("language"),
        _digest(document.get("metadata") or {}),
    )


def _digest(content: Any) -> bytes:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=_DIGEST_BYTES).digest()
