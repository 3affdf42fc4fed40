"""Streams of bytes, from files or requests: unpacked within limits, cut into lines."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_STEP = 256 * 1024
_RATIO_FROM = 16 * 1024 * 1024


class StreamFault(ValueError):
    """A stream that cannot be read to its end."""


class NotGzip(StreamFault):
    """A stream that is said to be gzip and is not."""


class StreamTooLarge(StreamFault):
    """A stream that exceeds a limit."""


class Line(NamedTuple):
    """A line without its end; ``content`` is None where it was longer than allowed."""

    line_number: int
    content: bytes | None


def file_parts(path: Path) -> Iterator[bytes]:
    """The content of a file, in parts."""
    with path.open("rb") as file:
        while part := file.read(_STEP):
            yield part


def unpack(
    parts: Iterable[bytes], *, limit: int | None = None, ratio: int | None = None, gzip: bool = False
) -> Iterator[bytes]:
    """The parts of a stream, unpacked when it begins as gzip does (several gzip members included).

    Raises:
        NotGzip: with ``gzip``, where it does not.
        StreamFault: gzip that is damaged or ends early.
        StreamTooLarge: more than ``limit`` bytes come out, or, beyond 16 MiB, more than ``ratio`` for each byte in.
    """
    source = iter(parts)
    head = b""
    for part in source:
        head += part
        if len(head) >= len(_GZIP_MAGIC):
            break
    if head.startswith(_GZIP_MAGIC):
        yield from _limit_size(_members(chain([head], source), ratio), limit, " when unpacked")
        return
    if gzip:
        raise NotGzip("the content is not gzip")
    yield from _limit_size(chain([head], source) if head else source, limit, "")


def _members(parts: Iterator[bytes], ratio: int | None) -> Iterator[bytes]:
    """What all members of a gzip stream hold; zero bytes after one are padding."""
    received = produced = 0
    member = zlib.decompressobj(wbits=31)
    for part in parts:
        received += len(part)
        pending = part
        while pending:
            if member.eof:
                if not (pending := pending.lstrip(b"\0")):
                    break
                member = zlib.decompressobj(wbits=31)
            try:
                out = member.decompress(pending, _STEP)
            except zlib.error as fault:
                raise StreamFault(f"the gzip stream is damaged near byte {received}") from fault
            pending = member.unused_data if member.eof else member.unconsumed_tail
            produced += len(out)
            if ratio is not None and produced > _RATIO_FROM and produced > ratio * received:
                raise StreamTooLarge(f"the content unpacks to more than {ratio} times its size")
            if out:
                yield out
    if not member.eof:
        raise StreamFault("the gzip stream ends early")


def _limit_size(parts: Iterator[bytes], limit: int | None, when: str) -> Iterator[bytes]:
    size = 0
    for part in parts:
        size += len(part)
        if limit is not None and size > limit:
            raise StreamTooLarge(f"the content is larger than {limit} bytes{when}")
        yield part


def gzip_stream(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts as a gzip stream."""
    packer = zlib.compressobj(wbits=31)
    for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()


def lines(parts: Iterable[bytes], longest: int, blank: bool = False) -> Iterator[Line]:
    """The lines of a stream, numbered from 1, without their ends (LF or CR LF) or a byte order mark.

    Those of nothing but white space are counted and passed over, unless ``blank``. A line of more than ``longest``
    bytes comes without its content, of which no more than that is ever held.
    """
    seen = 0
    for cut in _cut_lines(parts, longest):
        for line_number, raw in enumerate(cut, seen + 1):
            if raw is None:
                yield Line(line_number, None)
                continue
            content = raw.rstrip(b"\r")
            if line_number == 1:
                content = content.removeprefix(BOM)
            if blank or (content and not content.isspace()):
                yield Line(line_number, content)
        seen += len(cut)


def _cut_lines(parts: Iterable[bytes], longest: int) -> Iterator[Sequence[bytes | None]]:
    """What ends in each part at a newline, None for what is longer; at last what comes after the last newline."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        begun, *ended = part.split(b"\n")
        size += len(begun)
        if size > longest:
            held = []
        elif begun:
            held.append(begun)
        if not ended:
            continue
        yield [b"".join(held) if size <= longest else None]
        last = ended.pop()
        yield ended if len(part) <= longest else [raw if len(raw) <= longest else None for raw in ended]
        size = len(last)
        held = [last] if 0 < size <= longest else []
    if size:
        yield [b"".join(held) if size <= longest else None]
