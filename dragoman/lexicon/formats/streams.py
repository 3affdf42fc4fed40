"""The bytes of an uploaded table: decompressed within limits, then as numbered lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.files import streams
from dragoman.files.streams import NotGzip, StreamFault, StreamTooLarge, unpacked

_BLOCK = 1 << 16
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What an uploaded table may be at most."""

    decompressed_bytes: int = 1 << 30
    ratio: int = 200
    """Decompressed to compressed bytes, looked at once 16 MiB have been decompressed."""
    line_bytes: int = 1 << 16
    term_characters: int = 1000
    entries: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that was left out, and why."""

    line: int
    reason: str


REJECTIONS_TOLD = 5
"""How many rejected lines an error tells."""


class TableFormatError(ValueError):
    """A file that cannot be read as a table at all; ``line`` is where, if it is anywhere."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


def without_entries(rejected: Sequence[Rejection], count: int) -> TableFormatError:
    """The error of a file without an entry: it tells the first of ``count`` rejected lines, and why each was."""
    if not count:
        return TableFormatError("the file holds no entry")
    told = [f"line {one.line}: {one.reason}" for one in rejected[:REJECTIONS_TOLD]]
    more = f"; and {count - len(told)} more" if count > len(told) else ""
    return TableFormatError(f"no line of the file is an entry: {'; '.join(told)}{more}")


class TableTooLarge(TableFormatError):
    """A file that exceeds a limit of :class:`Limits`."""


def blocks(chunks: Iterable[bytes], limits: Limits, gzip: bool = False) -> Iterator[bytes]:
    """The content of a plain or gzip file (with ``gzip`` it has to be), in blocks of 64 KiB or more.

    Raises:
        NotGzip: a file that is not gzip and has to be.
        TableTooLarge: for more decompressed bytes, or a higher compression ratio, than the limits allow.
        TableFormatError: for an empty file, a truncated or damaged gzip file, or another binary format.
    """
    parts = unpacked(chunks, limit=limits.decompressed_bytes, ratio=limits.ratio, gzip=gzip)
    empty = True
    try:
        for block in _coalesced(parts):
            if empty:
                _check_magic(block)
            empty = False
            yield block
    except NotGzip:
        raise
    except StreamTooLarge as fault:
        raise TableTooLarge(str(fault)) from fault
    except StreamFault as fault:
        raise TableFormatError(str(fault)) from fault
    if empty:
        raise TableFormatError("the file is empty")


def _check_magic(start: bytes) -> None:
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            raise TableFormatError(f"the file is {name}: send plain text or gzip")


def _coalesced(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks large enough that their start tells what the file is."""
    gathered: list[bytes] = []
    size = 0
    for part in parts:
        gathered.append(part)
        size += len(part)
        if size >= _BLOCK:
            yield b"".join(gathered)
            gathered, size = [], 0
    if size:
        yield b"".join(gathered)


def lines(content: Iterator[bytes], limits: Limits) -> Iterator[tuple[int, str] | Rejection]:
    """The lines of UTF-8 text with their numbers from 1, without their ends (LF or CR LF) or a byte order
    mark; blank lines are passed over.

    A line that is not UTF-8 or longer than the limit is a rejection; a long one is never held in memory.

    Raises:
        TableFormatError: for a file that is not UTF-8 text at all.
    """
    invalid = valid = 0
    for number, raw in streams.lines(_checked(content), limits.line_bytes):
        if raw is None:
            yield Rejection(number, f"longer than {limits.line_bytes:,} bytes")
            continue
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            invalid += 1
            if invalid >= _BINARY_LINES and not valid:
                raise TableFormatError("the file is not UTF-8 text", number) from None
            yield Rejection(number, "not valid UTF-8")
            continue
        valid += 1
        yield number, text


def _checked(content: Iterator[bytes]) -> Iterator[bytes]:
    block = next(content, b"")
    if block.startswith(_UTF16):
        raise TableFormatError("the file is UTF-16: send it as UTF-8", 1)
    start = block[: _BLOCK // 8]
    if start.count(0) > max(1, len(start) // 100):
        raise TableFormatError("the file is not text: it holds NUL bytes", 1)
    yield block
    yield from content
