"""The bytes of an uploaded table: decompressed within limits, then as numbered lines of text."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

from dragoman.files import streams
from dragoman.files.streams import NotGzip, StreamFault, StreamTooLarge, unpack
from dragoman.lexicon.formats.detection.encodings import Encoding
from dragoman.lexicon.formats.items import Limits, Rejection, TableFormatError, TableTooLarge

_BLOCK = 1 << 16
_BINARY_LINES = 20
_MAGIC = {
    b"BZh": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"7z\xbc\xaf": "a 7z archive",
    b"%PDF-": "a PDF document",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel or Word document: save it as .xlsx",
}
ZIP = b"PK\x03\x04"


def blocks(chunks: Iterable[bytes], limits: Limits, gzip: bool = False) -> Iterator[bytes]:
    """The content of a plain or gzip file (with ``gzip`` it has to be), in blocks of 64 KiB or more.

    Raises:
        NotGzip: a file that is not gzip and has to be.
        TableTooLarge: for more decompressed bytes, or a higher compression ratio, than the limits allow.
        TableFormatError: for an empty file, a truncated or damaged gzip file, or another binary format.
    """
    parts = unpack(chunks, limit=limits.decompressed_bytes, ratio=limits.ratio, gzip=gzip)
    empty = True
    try:
        for block in _coalesce(parts):
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
            raise TableFormatError(f"the file is {name}: send text, .xlsx, .ods or gzip")


def _coalesce(parts: Iterable[bytes]) -> Iterator[bytes]:
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


def head(content: Iterator[bytes], size: int) -> tuple[bytes, bool, Iterator[bytes]]:
    """The first ``size`` bytes or a little more, whether they are all, and the content from its beginning."""
    taken: list[bytes] = []
    length = 0
    whole = True
    for block in content:
        taken.append(block)
        length += len(block)
        if length >= size:
            whole = False
            break
    return b"".join(taken), whole, chain(taken, content)


def lines(content: Iterator[bytes], limits: Limits, encoding: Encoding) -> Iterator[tuple[int, str] | Rejection]:
    """The lines of text with their numbers from 1, without their ends (LF, CR LF, or CR in a file without LF) or a
    byte order mark; blank lines are passed over.

    A line that can't be decoded or is longer than the limit is a rejection; a long one is never held in memory.

    Raises:
        TableFormatError: for a file that is not text in its encoding at all.
    """
    codec = encoding.codec
    if encoding.wide:
        content = _as_utf8(content, codec)
        codec = "utf-8"
    invalid = valid = 0
    for line_number, raw in streams.lines(_with_line_feeds(content), limits.line_bytes):
        if raw is None:
            yield Rejection(line_number, f"longer than {limits.line_bytes:,} bytes")
            continue
        try:
            text = raw.decode(codec)
        except UnicodeDecodeError:
            invalid += 1
            if invalid >= _BINARY_LINES and not valid:
                raise TableFormatError(f"the file is not {_display_name(encoding)} text", line_number) from None
            yield Rejection(line_number, f"not valid {_display_name(encoding)}")
            continue
        valid += 1
        yield line_number, text


def _display_name(encoding: Encoding) -> str:
    return "UTF-8" if encoding.name == "utf-8" else encoding.name


def _as_utf8(content: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Text of wide characters as UTF-8; what can't be decoded becomes a byte that UTF-8 never has."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    for block in content:
        yield decoder.decode(block).removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")


def _with_line_feeds(content: Iterator[bytes]) -> Iterator[bytes]:
    """The content with LF for CR where its first block has only CR, as old programs on a Mac write it."""
    block = next(content, b"")
    if b"\r" in block and b"\n" not in block:
        yield from (part.replace(b"\r", b"\n") for part in chain([block], content))
        return
    yield block
    yield from content
