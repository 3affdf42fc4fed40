"""What opens translation tables in tests, and uploads to them."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.store.tables.service import Tables, Upload, Uploaded
from dragoman.store.tables.table_reader import ReadAs

Opener = Callable[[], Tables]


def put(tables: Tables, content: str = "house\tHaus\n", name: str = "words", **options: object) -> Uploaded:
    read_as = ReadAs(str(options.pop("format", "auto")))
    upload = Upload(name, **{"source": "en", "target": "de", "read_as": read_as, **options})  # type: ignore[arg-type]
    return tables.upload(upload, iter([content.encode()]))
