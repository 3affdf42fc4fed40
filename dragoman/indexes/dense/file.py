"""The file of a dense index: arrays with a header and a checksum, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from dragoman.files.atomic import atomic_file
from dragoman.indexes.errors import IndexCorrupt, IndexFault

__all__ = ["DenseHeader", "OtherEncoder", "read", "read_header", "write"]

FORMAT = "3"
"""Version of the file format and of the passage splitting; a file of another version is rebuilt."""


class OtherEncoder(IndexFault):
    """The vectors come from another encoder or another collection."""


@dataclass(frozen=True, slots=True)
class DenseHeader:
    """What a file's vectors represent: a collection up to a generation, encoded by ``encoder`` at ``width``."""

    collection: str
    encoder: str
    width: int
    generation: int
    states: bool = False
    """Whether it has the states of subwords."""


def write(path: Path, header: DenseHeader, tensors: dict[str, NDArray[Any]]) -> None:
    """Write arrays to ``path`` atomically.

    Raises:
        OSError: if the file cannot be written, for example on a full disk.
    """
    metadata = _metadata(header)
    metadata["checksum"] = _checksum(metadata, tensors)
    try:
        with atomic_file(path) as unfinished:
            save_file(tensors, unfinished, metadata)
    except SafetensorError as fault:  # how the library reports an operating-system error
        raise OSError(str(fault)) from fault


def read_header(path: Path) -> DenseHeader:
    """Read only the header of a file. The vectors are not checked.

    Raises:
        IndexCorrupt: if it cannot be read.
        FileNotFoundError: if there is no file.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        with safe_open(path, "np") as file:
            return _header(path, file.metadata() or {})
    except (SafetensorError, OSError) as fault:
        raise IndexCorrupt(path, f"cannot be read: {fault}") from fault


def read(path: Path, collection: str, encoder: str) -> tuple[DenseHeader, dict[str, NDArray[Any]]]:
    """The header and the arrays of a file written by :func:`write`.

    Raises:
        IndexCorrupt: if the file is damaged, truncated, or of another format.
        OtherEncoder: if the vectors belong to another encoder or collection.
        FileNotFoundError: if there is no file.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        with safe_open(path, "np") as file:
            metadata = dict(file.metadata() or {})
            header = _header(path, metadata)
            if header.collection != collection or header.encoder != encoder:
                raise OtherEncoder(path, f"holds vectors of {header.encoder} for collection {header.collection}")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as fault:
        raise IndexCorrupt(path, f"cannot be read: {fault}") from fault
    if metadata.pop("checksum", "") != _checksum(metadata, tensors):
        raise IndexCorrupt(path, "the checksum does not match")
    if tensors["vectors"].shape[1:] != (header.width,):
        raise IndexCorrupt(path, "the vectors have another width than the header says")
    return header, tensors


def _metadata(header: DenseHeader) -> dict[str, str]:
    return {
        "format": FORMAT,
        "collection": header.collection,
        "encoder": header.encoder,
        "width": str(header.width),
        "generation": str(header.generation),
        "states": str(int(header.states)),
    }


def _header(path: Path, metadata: Mapping[str, str]) -> DenseHeader:
    if metadata.get("format") != FORMAT:
        raise IndexCorrupt(path, f"is of format {metadata.get('format')!r}, not {FORMAT!r}")
    try:
        return DenseHeader(
            metadata["collection"],
            metadata["encoder"],
            int(metadata["width"]),
            int(metadata["generation"]),
            metadata["states"] == "1",
        )
    except (KeyError, ValueError) as fault:
        raise IndexCorrupt(path, f"the header is damaged: {fault}") from fault


def _checksum(metadata: Mapping[str, str], tensors: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.data)
    return digest.hexdigest()
