"""Named arrays in one safetensors file: written in one durable step, read as views of the mapped file.

The layout is that of https://github.com/huggingface/safetensors: eight bytes with the header's length, the
header as JSON, the arrays. The header's metadata carries a SHA-256 of everything else in the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.files.atomic import atomic_file

Arrays = dict[str, NDArray[np.generic]]

_DTYPES = {"I64": np.int64, "F32": np.float32, "I32": np.int32, "U8": np.uint8}
"""In the order in which arrays lie in a file: wide ones first, so that all are aligned."""
_NAMES = {np.dtype(kind): name for name, kind in _DTYPES.items()}
_ORDER = list(_NAMES)
_CHECKSUM = "sha256"


class CorruptTable(Exception):
    """A file that is not, or no longer, a usable compiled table."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def write_arrays(path: Path, arrays: Arrays, metadata: dict[str, str]) -> None:
    """Write ``arrays`` and ``metadata`` with their checksum, in one durable step.

    Raises:
        OSError: if the file cannot be written (a full disk: ENOSPC); nothing is left behind then.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    metadata = {**metadata, _CHECKSUM: checksum(arrays, metadata)}
    ordered = sorted(arrays.items(), key=lambda named_array: (_ORDER.index(named_array[1].dtype), named_array[0]))
    with atomic_file(path) as unfinished, unfinished.open("wb") as stream:
        stream.write(_encode_header(ordered, metadata))
        for _, array in ordered:  # one by one: the library would hold all of them twice
            stream.write(array.data)


def _encode_header(ordered: Sequence[tuple[str, NDArray[np.generic]]], metadata: dict[str, str]) -> bytes:
    described: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        described[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    header = json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header


def checksum(arrays: Arrays, metadata: dict[str, str]) -> str:
    """SHA-256, in hexadecimal, of the arrays with their names, types and shapes, and of the metadata."""
    digest = hashlib.sha256()
    described = {name: [str(array.dtype), list(array.shape)] for name, array in arrays.items()}
    others = {key: text for key, text in metadata.items() if key != _CHECKSUM}
    digest.update(json.dumps([described, others], sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def read_arrays(path: Path, verify: bool) -> tuple[Arrays, dict[str, str]]:
    """The arrays of a file, as read-only views of its memory map, and its metadata.

    Raises:
        FileNotFoundError: if there is no such file.
        CorruptTable: if the file is truncated, of another layout or, with ``verify``, altered.
    """
    size = path.stat().st_size
    if size < 8:
        raise CorruptTable(path, "truncated")
    content = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    header, begin = _header(path, content)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise CorruptTable(path, "its header holds no metadata")
    arrays: Arrays = {}
    end = begin
    for name, description in sorted(header.items(), key=_first_byte):
        arrays[name], first, last = _view(path, content, begin, name, description)
        if first != end:
            raise CorruptTable(path, f"its array {name} is out of place")
        end = last
    if end != size:
        raise CorruptTable(path, "truncated" if end > size else "longer than its header says")
    if verify and checksum(arrays, metadata) != metadata.get(_CHECKSUM):
        raise CorruptTable(path, "its content does not agree with its checksum")
    return arrays, metadata


def _header(path: Path, content: NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    begin = 8 + int.from_bytes(content[:8].tobytes(), "little")
    if begin > len(content):
        raise CorruptTable(path, "truncated, or not a safetensors file")
    try:
        header = json.loads(content[8:begin].tobytes())
    except (ValueError, RecursionError) as fault:
        raise CorruptTable(path, f"its header is not JSON: {fault}") from fault
    if not isinstance(header, dict):
        raise CorruptTable(path, "its header is not a JSON object")
    return header, begin


def _first_byte(header_entry: tuple[str, Any]) -> float:
    try:
        return float(header_entry[1]["data_offsets"][0])
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return math.inf


def _view(
    path: Path, content: NDArray[np.uint8], begin: int, name: str, description: Any
) -> tuple[NDArray[np.generic], int, int]:
    try:
        dtype = np.dtype(_DTYPES[description["dtype"]])
        (length,) = map(int, description["shape"])
        first, last = (begin + int(offset) for offset in description["data_offsets"])
    except (KeyError, TypeError, ValueError, OverflowError) as fault:
        raise CorruptTable(path, f"its header describes array {name[:40]!a} wrongly: {fault}") from fault
    if not begin <= first <= last or last - first != length * dtype.itemsize:
        raise CorruptTable(path, f"its header describes array {name[:40]!a} wrongly")
    if last > len(content):
        raise CorruptTable(path, "truncated")
    return content[first:last].view(dtype), first, last
