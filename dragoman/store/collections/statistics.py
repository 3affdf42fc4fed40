"""What a collection holds: its documents by language, the fields of their metadata, and how many bytes it takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as attribute
from datetime import datetime
from heapq import nsmallest
from pathlib import Path
from typing import Any

from sqlalchemy import LargeBinary, Text, cast, func, select
from sqlalchemy.orm import Session

from dragoman.deadline import check
from dragoman.store.database import Store
from dragoman.store.models import Collection, Document, DocumentEmbedding

FIELDS_FROM = 10_000
"""Documents whose metadata is looked at, those that were first stored last."""
FIELDS_SHOWN = 1_000
_EXAMPLES = 3
_EXAMPLE_CHARS = 100
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)


@dataclass(slots=True)
class FieldStatistics:
    """A field of metadata: a dotted path, in how many documents it has values of each type, and some of them."""

    field: str
    documents: int = 0
    types: Counter[str] = attribute(default_factory=Counter)
    examples: list[Any] = attribute(default_factory=list)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a collection holds. ``fields`` are those of the ``fields_from`` documents whose metadata was looked at.

    They are the most frequent ones; ``fields_left_out`` says how many others there are.
    """

    documents: int
    generation: int
    languages: dict[str, int]
    fields: list[FieldStatistics]
    fields_from: int
    fields_left_out: int
    bytes: dict[str, int]


def collect_statistics(store: Store, collection: Collection, index: Path) -> Statistics:
    """The statistics of a collection whose index lies in a folder."""
    with store.read() as session:
        row = session.get(Collection, collection.id) or collection
        present = (Document.collection_id == row.id, Document.deleted.is_(False))
        by_language = select(Document.language, func.count()).where(*present).group_by(Document.language)
        languages = {counted.language: counted[1] for counted in session.execute(by_language)}
        sizes = [_bytes(session, column) for column in (Document.text, Document.title, Document.metadata_)]
        texts, titles, metadata = session.execute(select(*sizes).where(*present)).one()
        embedded = [
            func.sum(func.length(column))
            for column in DocumentEmbedding.__table__.columns
            if isinstance(column.type, LargeBinary)
        ]
        embeddings = session.execute(select(*embedded).where(DocumentEmbedding.collection_id == row.id)).one()
        fields, left_out, read = _fields(session, row.id)
    return Statistics(
        documents=row.document_count,
        generation=row.generation,
        languages=dict(sorted(languages.items())),
        fields=fields,
        fields_from=read,
        fields_left_out=left_out,
        bytes={
            "texts": int(texts or 0) + int(titles or 0),
            "metadata": int(metadata or 0),
            "embeddings": sum(int(size or 0) for size in embeddings),
            "index": _folder_bytes(index),
        },
    )


def _bytes(session: Session, column: Any) -> Any:
    if session.get_bind().dialect.name == "sqlite":
        return func.sum(func.length(cast(column, LargeBinary)))
    return func.sum(func.octet_length(cast(column, Text)))


def _fields(session: Session, collection: int) -> tuple[list[FieldStatistics], int, int]:
    """The fields of documents' metadata by their names, how many are left out, and how many documents were read."""
    statistics: dict[str, FieldStatistics] = {}
    last_stored = (
        select(Document.metadata_)
        .where(Document.collection_id == collection, Document.deleted.is_(False))
        .order_by(Document.key.desc())
        .limit(FIELDS_FROM)
        .execution_options(yield_per=500)
    )
    count = 0
    for metadata in session.scalars(last_stored):
        check()
        count += 1
        types: dict[str, set[str]] = {}
        for path, content in walk(metadata or {}):
            types.setdefault(path, set()).add(type_of(content))
            _add_example(statistics.setdefault(path, FieldStatistics(path)).examples, content)
        for path, of_document in types.items():
            statistics[path].documents += 1
            statistics[path].types.update(of_document)
    shown = nsmallest(FIELDS_SHOWN, statistics.values(), key=lambda field: (-field.documents, field.field))
    return sorted(shown, key=lambda field: field.field), len(statistics) - len(shown), count


def _add_example(examples: list[Any], content: Any) -> None:
    if content is None or len(examples) == _EXAMPLES or len(str(content)) > _EXAMPLE_CHARS:
        return
    if all((type(example), example) != (type(content), content) for example in examples):
        examples.append(content)


def walk(content: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a JSON value with their dotted paths, which go through lists."""
    if isinstance(content, dict):
        for name, inner in content.items():
            yield from walk(inner, f"{path}.{name}" if path else name)
    elif isinstance(content, list):
        for inner in content:
            yield from walk(inner, path)
    else:
        yield path, content


def type_of(content: Any) -> str:
    """``boolean``, ``number``, ``date``, ``string`` or ``null``."""
    if content is None:
        return "null"
    if isinstance(content, bool):
        return "boolean"
    if isinstance(content, int | float):
        return "number"
    if _DATE.fullmatch(content):
        with suppress(ValueError):  # the 30th of February
            datetime.fromisoformat(content)
            return "date"
    return "string"


def _folder_bytes(folder: Path) -> int:
    """The size of the files in a folder; those that go meanwhile count nothing."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size
