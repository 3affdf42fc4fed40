"""Reads responses of HTTP/1.1 as they arrive, as RFC 9112 has them: a head, and a body by its length or in chunks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Head", "ProtocolError", "ResponseReader"]

_HEAD_BYTES = 64 * 1024
"""Longest head, and longest line between two chunks."""
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: [^\r\n\0]*)?")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\0]*)?")
_EMPTY = (204, 304)
_INFORMATIONAL = 100


class ProtocolError(ConnectionError):
    """What arrived is no response of HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Head:
    """The status of a response, and its headers by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    persistent: bool
    """Whether the connection takes another request."""


class ResponseReader:
    """Takes one response apart, whatever parts it arrives in."""

    def __init__(self) -> None:
        self.head: Head | None = None
        """Once it has arrived."""
        self.ended = False
        """Whether all of the response has arrived."""
        self.surplus = False
        """Whether more arrived than the response."""
        self._buffer = bytearray()
        self._left = 0
        self._read: Callable[[list[bytes]], bool] = self._read_head

    def take(self, received: bytes) -> list[bytes]:
        """The parts of the body that are among what was received.

        Raises:
            ProtocolError: it is no response.
        """
        self._buffer += received
        parts: list[bytes] = []
        while not self.ended and self._read(parts):
            pass
        self.surplus = self.ended and bool(self._buffer)
        return parts

    def close(self) -> bool:
        """Note that the connection has ended; returns whether the response is whole."""
        self.ended = self.ended or self._read == self._read_until_end
        return self.ended

    def _read_head(self, parts: list[bytes]) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or end > _HEAD_BYTES:
            if len(self._buffer) > _HEAD_BYTES:
                raise ProtocolError("a head that is too long")
            return False
        first, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        status = _STATUS.fullmatch(first)
        if status is None:
            raise ProtocolError("no status")
        head = _head(status, lines)
        if head.status // _INFORMATIONAL == 1:
            return True  # such as 103: the response follows
        self.head = head
        self._begin_body(head)
        return True

    def _begin_body(self, head: Head) -> None:
        coding = head.headers.get("transfer-encoding")
        length = head.headers.get("content-length", "" if coding is None else "0")
        if head.status in _EMPTY:
            self.ended = True
        elif coding is not None:
            if coding.lower() != "chunked":
                raise ProtocolError("a coding that is not known")
            self._read = self._read_size
        elif not length:
            self._read = self._read_until_end
        elif length.isascii() and length.isdecimal() and len(length) < 16:
            self._left = int(length)
            self._read = self._read_length
            self.ended = self._left == 0
        else:
            raise ProtocolError("a length that is no number")

    def _read_length(self, parts: list[bytes]) -> bool:
        self._read_part(parts)
        self.ended = self._left == 0
        return False

    def _read_until_end(self, parts: list[bytes]) -> bool:
        self._left = len(self._buffer)
        self._read_part(parts)
        return False

    def _read_size(self, parts: list[bytes]) -> bool:
        line = self._take_line()
        if line is None:
            return False
        size = _SIZE.fullmatch(line)
        if size is None:
            raise ProtocolError("a chunk without its size")
        self._left = int(size[1], 16)
        self._read = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self, parts: list[bytes]) -> bool:
        self._read_part(parts)
        if self._left or len(self._buffer) < 2:
            return False
        if self._buffer[:2] != b"\r\n":
            raise ProtocolError("a chunk that is longer than its size")
        del self._buffer[:2]
        self._read = self._read_size
        return True

    def _read_trailer(self, parts: list[bytes]) -> bool:
        line = self._take_line()
        self.ended = line == b""
        return line is not None

    def _read_part(self, parts: list[bytes]) -> None:
        if self._left and self._buffer:
            part = bytes(self._buffer[: self._left])
            del self._buffer[: self._left]
            self._left -= len(part)
            parts.append(part)

    def _take_line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > _HEAD_BYTES:
                raise ProtocolError("a line that is too long")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line


def _head(status: re.Match[bytes], lines: list[bytes]) -> Head:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, content = line.partition(b":")
        if not colon or not name or name.strip() != name:
            raise ProtocolError("a line of the head that is no header")
        key, text = name.decode("latin-1").lower(), content.decode("latin-1").strip(" \t")
        if key in headers and key in ("content-length", "transfer-encoding") and headers[key] != text:
            raise ProtocolError("two lengths")
        headers[key] = text
    connection = headers.get("connection", "").lower()
    persistent = connection != "close" if status[1] == b"1" else connection == "keep-alive"
    return Head(int(status[2]), headers, persistent)
