"""Documents and entries of tables, as programs have them, as the lines that an import reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from io import IOBase
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from dragoman.door.plain import to_json
from dragoman.door.table import Table
from dragoman.engine.core.errors import InvalidRequest
from dragoman.files.streams import BOM, StreamFault, unpack

if TYPE_CHECKING:
    from pandas import DataFrame

Documents: TypeAlias = "Iterable[Mapping[str, Any]] | DataFrame | str | Path"
"""Documents: mappings with ``id`` and ``text``, a frame with such columns, or the path of a file of them."""
Entries: TypeAlias = (
    "Mapping[str, str | Iterable[str] | Mapping[str, float]] | Iterable[tuple[str, str]]"
    " | Iterable[tuple[str, str, float]] | Table | DataFrame | str | Path | IO[bytes]"
)
"""Entries: a mapping of terms to translations, pairs, a table or frame, or the path of a file in any form of tables."""

FORMATS_OF_NAMES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".trec": "trec",
    ".sgml": "trec",
}
"""What a file of documents is by the end of its name, before ``.gz``; any other holds JSON."""

_READ = 1 << 20
_HEAD = 1 << 16
_COLUMNS = ("source", "target", "probability")
_IN_MEMORY = 1 << 26


def document_lines(documents: Documents) -> Iterator[bytes]:
    """One NDJSON line a document; of a file its parts as they are.

    All documents are written before this returns: where one is faulty, or making them is interrupted, nothing of them
    is imported.

    Raises:
        InvalidRequest: a document cannot be written as JSON; the message has its place. Or there are no documents.
        OSError: the file cannot be read.
    """
    if isinstance(documents, str | Path):
        return _parts_of(Path(documents))
    if isinstance(documents, bytes) or not isinstance(documents, Iterable):
        raise InvalidRequest(f"documents: {type(documents).__name__} holds none")
    with ExitStack() as opened:
        written = opened.enter_context(SpooledTemporaryFile(_IN_MEMORY))
        for position, document in enumerate(_records(documents), 1):
            written.write(_line(document, f"document {position}"))
        written.seek(0)
        opened.pop_all()
    return _lines_of(written)


def document_format(documents: Documents) -> str | None:
    """The format of a file of documents by its name, and of JSON by its beginning; None of what is no file."""
    if not isinstance(documents, str | Path):
        return None
    path = Path(documents)
    suffix = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    if (format := FORMATS_OF_NAMES.get(suffix)) is not None:
        return format
    with path.open("rb") as file, suppress(StreamFault):
        head = b"".join(islice(unpack([file.read(_HEAD)]), 1))
        if head.removeprefix(BOM).lstrip().startswith(b"["):
            return "json"
    return "ndjson"


def _lines_of(written: IO[bytes]) -> Iterator[bytes]:
    with written:
        yield from written


def table_file(entries: Entries, source: str, target: str) -> tuple[Iterator[bytes], dict[str, Any]]:
    """The bytes of a table file, and what an upload of it states: its languages, its format, the kind of a table.

    Raises:
        InvalidRequest: an entry cannot be written, which the message places; a table of other languages.
        OSError: the file cannot be read.
    """
    stated: dict[str, Any] = {"source": source, "target": target}
    if isinstance(entries, str | Path):
        return _parts_of(Path(entries)), stated | {"format": "auto"}
    if isinstance(entries, Table):
        if (entries.source, entries.target) != (source, target):
            raise InvalidRequest(
                f"the table is from {entries.source} to {entries.target}, and not from {source} to {target}"
            )
        return entries.lines(), stated | {"format": "tsv", "kind": entries.kind}
    if isinstance(entries, IOBase):
        return _parts_of_stream(entries), stated | {"format": "auto"}
    rows = _entries(entries, (source, target))
    return (_line(row, f"entry {position}") for position, row in enumerate(rows, 1)), stated | {"format": "jsonl"}


def _entries(entries: Any, languages: tuple[str, str]) -> Iterator[dict[str, Any]]:
    if isinstance(entries, Mapping):
        for source, translations in entries.items():
            yield from _translations(source, translations)
        return
    if isinstance(entries, bytes) or not isinstance(entries, Iterable):
        raise InvalidRequest(f"entries: {type(entries).__name__} holds none")
    if hasattr(entries, "itertuples"):
        yield from _of_frame(entries, languages)
        return
    for position, row in enumerate(entries, 1):
        if isinstance(row, Mapping):
            yield _check_entry(
                {name: row.get(name) for name in _COLUMNS if row.get(name) is not None}, set(row), position
            )
        elif isinstance(row, str) or not isinstance(row, Iterable) or not 2 <= len(parts := list(row)) <= len(_COLUMNS):
            raise InvalidRequest(f"entry {position}: a term, its translation, and a probability or none are wanted")
        else:
            yield dict(zip(_COLUMNS, parts, strict=False))


def _check_entry(entry: dict[str, Any], names: set[Any], position: int) -> dict[str, Any]:
    if not {"source", "target"} <= names <= set(_COLUMNS):
        raise InvalidRequest(f"entry {position}: its fields are source, target, and probability or none")
    return entry


def _translations(source: Any, translations: Any) -> Iterator[dict[str, Any]]:
    if isinstance(translations, str):
        yield {"source": source, "target": translations}
    elif isinstance(translations, Mapping):
        for target, probability in translations.items():
            yield {"source": source, "target": target, "probability": probability}
    elif isinstance(translations, Iterable) and not isinstance(translations, bytes):
        yield from ({"source": source, "target": target} for target in translations)
    else:
        raise InvalidRequest(f"the translations of {source!r} are a text, several, or texts with probabilities")


def _of_frame(frame: Any, languages: tuple[str, str]) -> Iterator[dict[str, Any]]:
    """The rows of a frame by its columns source and target, or those named as the languages, and probability."""
    named = {str(column): column for column in frame.columns}
    for pair in (("source", "target"), languages):
        if set(pair) <= named.keys():
            columns = [*pair, *(["probability"] if "probability" in named else [])]
            rows = frame[[named[name] for name in columns]].itertuples(index=False, name=None)
            yield from (dict(zip(_COLUMNS, row, strict=False)) for row in rows)
            return
    raise InvalidRequest(f"the frame has no columns source and target, nor {languages[0]} and {languages[1]}")


def _records(documents: Any) -> Iterable[Mapping[str, Any]]:
    """The documents as mappings; of a frame without what its cells lack."""
    if not hasattr(documents, "itertuples"):
        return documents  # type: ignore[no-any-return]
    rows = documents.itertuples(index=False, name=None)
    columns = [str(column) for column in documents.columns]
    return (
        {name: cell for name, cell in zip(columns, row, strict=True) if cell is not None and cell == cell}
        for row in rows
    )


def _line(record: Any, place: str) -> bytes:
    return to_json(record, place) + b"\n"


def _parts_of_stream(stream: Any) -> Iterator[bytes]:
    while part := stream.read(_READ):
        if not isinstance(part, bytes):
            raise InvalidRequest("the file is open as text; open it in binary mode, rb")
        yield part


def _parts_of(path: Path) -> Iterator[bytes]:
    """The content of a file; one that cannot be read is a fault now, and not in the middle of an upload."""
    with path.open("rb"):
        return _read_parts(path)


def _read_parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        yield from iter(lambda: stream.read(_READ), b"")
