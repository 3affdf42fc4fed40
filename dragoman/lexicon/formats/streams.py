"""The bytes of an uploaded table: decompressed within limits, then as numbered lines of text."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_BLOCK = 1 << 16
_INFLATED = 1 << 18
_BINARY_LINES = 20
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"7z\xbc\xaf": "a 7z archive",
    b"%PDF-": "a PDF document",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Limits:
    """What an uploaded table may be at most."""

    decompressed_bytes: int = 1 << 30
    ratio: int = 200
    """Decompressed to compressed bytes, looked at once ``ratio_from`` bytes have been decompressed."""
    ratio_from: int = 1 << 24
    line_bytes: int = 1 << 16
    term_characters: int = 1000
    entries: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that was left out, and why."""

    line: int
    reason: str


class TableFormatError(ValueError):
    """A file that cannot be read as a table at all; ``line`` is where, if it is anywhere."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


class TableTooLarge(TableFormatError):
    """A file that exceeds a limit of :class:`Limits`."""


def blocks(chunks: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    """The content of a plain or gzip file, in blocks; gzip is told by its first two bytes.

    Raises:
        TableTooLarge: for more decompressed bytes, or a higher compression ratio, than the limits allow.
        TableFormatError: for an empty file, a truncated or damaged gzip file, or another binary format.
    """
    whole = _coalesced(chunks)
    first = next(whole, b"")
    if not first:
        raise TableFormatError("the file is empty")
    for magic, name in _MAGIC.items():
        if first.startswith(magic):
            raise TableFormatError(f"the file is {name}: send plain text or gzip")
    source = _chain(first, whole)
    size = 0
    for block in _gunzipped(source, limits) if first.startswith(b"\x1f\x8b") else source:
        size += len(block)
        if size > limits.decompressed_bytes:
            raise TableTooLarge(f"the file holds more than {limits.decompressed_bytes:,} bytes of text")
        yield block
    if not size:
        raise TableFormatError("the file is empty")


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _coalesced(chunks: Iterable[bytes]) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for chunk in chunks:
        gathered.append(chunk)
        size += len(chunk)
        if size >= _BLOCK:
            yield b"".join(gathered)
            gathered, size = [], 0
    if size:
        yield b"".join(gathered)


def _gunzipped(source: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    """All members of a gzip file; zero bytes after the last one are padding."""
    inflater = zlib.decompressobj(wbits=31)
    read = written = 0
    within = True
    for compressed in source:
        read += len(compressed)
        data, more = compressed, True
        while data or more:
            if inflater.eof:
                inflater, within = zlib.decompressobj(wbits=31), False
            if not within:
                data = data.lstrip(b"\x00")
                within = bool(data)
                if not within:
                    break
            block = _inflated(inflater, data)
            written += len(block)
            if written > limits.ratio_from and written > limits.ratio * read:
                raise TableTooLarge(f"the file grows to over {limits.ratio} times its size when decompressed")
            if block:
                yield block
            data = inflater.unconsumed_tail or inflater.unused_data
            more = len(block) == _INFLATED and not inflater.eof
    if within and not inflater.eof:
        raise TableFormatError("the gzip file is truncated")


def _inflated(inflater: zlib._Decompress, data: bytes) -> bytes:
    try:
        return inflater.decompress(data, _INFLATED)
    except zlib.error as fault:
        raise TableFormatError(f"the gzip file is damaged: {fault}") from fault


def lines(content: Iterable[bytes], limits: Limits) -> Iterator[tuple[int, str] | Rejection]:
    """The lines of UTF-8 text with their numbers from 1, without their ends (LF or CR LF) or a byte order
    mark; blank lines are passed over.

    A line that is not UTF-8 or longer than the limit is a rejection; a long one is never held in memory.

    Raises:
        TableFormatError: for a file that is not UTF-8 text at all.
    """
    number = invalid = valid = 0
    pending = b""
    skipping = False
    for place, block in enumerate(content):
        data = _checked_start(block) if place == 0 else block
        if skipping:
            newline = data.find(b"\n")
            if newline < 0:
                continue
            data, skipping = data[newline + 1 :], False
        data = pending + data
        end = data.rfind(b"\n") + 1
        pending = data[end:]
        for line in _decoded(data[:end], limits):
            number += 1
            if isinstance(line, str):
                valid += 1
                if line:
                    yield number, line
            else:
                invalid += line == _NOT_UTF8
                if invalid >= _BINARY_LINES and not valid:
                    raise TableFormatError("the file is not UTF-8 text", number)
                yield Rejection(number, line.decode())
        if len(pending) > limits.line_bytes:
            number += 1
            pending, skipping = b"", True
            yield Rejection(number, f"longer than {limits.line_bytes:,} bytes")
    for line in _decoded(pending, limits):
        yield Rejection(number + 1, line.decode()) if isinstance(line, bytes) else (number + 1, line)


_NOT_UTF8 = b"not valid UTF-8"


def _checked_start(block: bytes) -> bytes:
    if block.startswith(_UTF16):
        raise TableFormatError("the file is UTF-16: send it as UTF-8", 1)
    start = block[: _BLOCK // 8]
    if start.count(0) > max(1, len(start) // 100):
        raise TableFormatError("the file is not text: it holds NUL bytes", 1)
    return block.removeprefix(_UTF8_MARK)


def _decoded(data: bytes, limits: Limits) -> Iterator[str | bytes]:
    """The lines of whole-line ``data``: text, or the reason (as bytes) why one is refused."""
    if not data:
        return
    raw = data.removesuffix(b"\n").split(b"\n")
    try:
        text = data.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        text = []
    if text and max(map(len, raw)) <= limits.line_bytes:
        yield from (line.rstrip("\r") for line in text)
        return
    for line in raw:
        if len(line) > limits.line_bytes:
            yield f"longer than {limits.line_bytes:,} bytes".encode()
            continue
        try:
            yield line.decode().rstrip("\r")
        except UnicodeDecodeError:
            yield _NOT_UTF8
