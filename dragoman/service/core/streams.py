"""Uploads as they stream in: unpacked within limits, cut into lines."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.service.core.errors import MalformedBody, TooLarge

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_STEP = 256 * 1024
_RATIO_FROM = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an upload without its end; ``content`` is None where it was longer than allowed."""

    number: int
    content: bytes | None


def unpack(parts: Iterator[bytes], *, limit: int, ratio: int, gzip: bool = False) -> Iterator[bytes]:
    """The parts of a body, unpacked when they begin as gzip does (several gzip members included).

    With ``gzip`` they have to.

    Raises:
        MalformedBody: a gzip stream that is damaged or ends early, or is none where it has to be.
        TooLarge: more than ``limit`` bytes come out, or, beyond 16 MiB, more than ``ratio`` for each byte in.
    """
    head = b""
    for part in parts:
        head += part
        if len(head) >= len(_GZIP_MAGIC):
            break
    if not head.startswith(_GZIP_MAGIC):
        if gzip:
            raise MalformedBody("the body is not gzip, which its Content-Encoding says it is")
        yield from _limited(_chain(head, parts), limit)
        return
    received = produced = 0
    member = zlib.decompressobj(wbits=31)
    for part in _chain(head, parts):
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
                raise MalformedBody(f"the gzip stream is damaged near byte {received}") from fault
            pending = member.unused_data if member.eof else member.unconsumed_tail
            produced += len(out)
            if produced > limit:
                raise TooLarge(f"the upload is larger than {limit} bytes when unpacked")
            if produced > _RATIO_FROM and produced > ratio * received:
                raise TooLarge(f"the upload unpacks to more than {ratio} times its size")
            if out:
                yield out
    if not member.eof:
        raise MalformedBody("the gzip stream ends early")


def lines(parts: Iterator[bytes], longest: int) -> Iterator[Line]:
    """The non-blank lines of a body, numbered from 1 with blank ones counted; a leading BOM is dropped.

    A line of more than ``longest`` bytes comes without its content, of which no more than that is ever held.
    """
    number = 1
    held: list[bytes] = []
    size = 0
    for part in parts:
        start = 0
        while (end := part.find(b"\n", start)) >= 0:
            if size <= longest:
                held.append(part[start:end])
            line = _line(number, held, size + end - start, longest)
            if line is not None:
                yield line
            number, held, size, start = number + 1, [], 0, end + 1
        size += len(part) - start
        if size > longest:
            held = []
        elif start < len(part):
            held.append(part[start:])
    line = _line(number, held, size, longest)
    if line is not None:
        yield line


def _line(number: int, held: list[bytes], size: int, longest: int) -> Line | None:
    if size > longest:
        return Line(number, None)
    content = b"".join(held)
    if number == 1:
        content = content.removeprefix(_BOM)
    content = content.strip(b" \t\r")
    return Line(number, content) if content else None


def _chain(head: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from parts


def _limited(parts: Iterator[bytes], limit: int) -> Iterator[bytes]:
    size = 0
    for part in parts:
        size += len(part)
        if size > limit:
            raise TooLarge(f"the upload is larger than {limit} bytes")
        yield part
