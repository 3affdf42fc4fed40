"""Rows of an import of documents: what a reader of a format yields, and within which limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.engine.core.limits import GIB, MIB

COLUMNS = 1_000
"""Most columns of a table of documents."""
ARRAY_DOCUMENTS = 10_000
"""Most documents of a JSON array, which are stored together or not at all."""


class Row(NamedTuple):
    """One document as a file has it: ``content`` is a JSON object, or None where it cannot be read, for ``reason``."""

    line: int
    content: bytes | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RowLimits:
    """What the rows of one import may be at most."""

    row_bytes: int = 8 * MIB
    body_bytes: int = 32 * MIB
    """Bytes of a JSON array."""
    values: int = 250_000
    """Values of a JSON array."""
    depth: int = 64
    unpacked_bytes: int = 16 * GIB
    unpacked_ratio: int = 200
    folder: Path | None = None
    """Where a Parquet file is kept while it is read; None: where temporary files are."""


def write_row(line: int, fields: Mapping[str, Any], limits: RowLimits) -> Row:
    """A row of these fields, without content where JSON cannot hold them or they are too long."""
    try:
        content = json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return Row(line, None, "holds a lone surrogate")
    except (TypeError, ValueError) as fault:
        return Row(line, None, str(fault))
    if len(content) > limits.row_bytes:
        return Row(line, None, f"the row is longer than {limits.row_bytes} bytes")
    return Row(line, content)
