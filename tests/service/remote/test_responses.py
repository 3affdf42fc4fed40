"""Responses of HTTP/1.1 are read as they were written, whatever parts they arrive in, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.service.remote.responses import ProtocolError, ResponseReader

BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=4)


def whole(parts: list[bytes], form: str) -> bytes:
    """A response with such a body: by its length, in chunks, or until the end of the connection."""
    body = b"".join(parts)
    if form == "chunks":
        chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in parts)
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nTrailer: a\r\n\r\n"
    length = b"content-length: %d\r\n" % len(body) if form == "length" else b""
    return b"HTTP/1.1 103 Early\r\na: b\r\n\r\nHTTP/1.1 404\r\nX-Name:  \tword \r\n" + length + b"\r\n" + body


@given(BODIES, st.sampled_from(["length", "chunks", "end"]), st.lists(st.integers(1, 60)), st.booleans())
def test_a_response_is_read_whatever_parts_it_arrives_in(
    parts: list[bytes], form: str, cuts: list[int], more: bool
) -> None:
    sent = whole(parts, form) + (b"HTTP" if more and form != "end" else b"")
    reader, read = ResponseReader(), b""
    for size in [*cuts, len(sent)]:
        read += b"".join(reader.take(sent[:size]))
        sent = sent[size:]
    assert reader.head is not None
    assert reader.head.status == (200 if form == "chunks" else 404)
    assert reader.head.headers.get("x-name") == (None if form == "chunks" else "word")
    assert read == b"".join(parts)
    assert reader.ended == (form != "end")
    assert reader.surplus == (more and form != "end")
    assert reader.close()


@given(BODIES.filter(bool), st.sampled_from(["length", "chunks"]), st.data())
def test_a_response_that_is_cut_off_is_not_whole(parts: list[bytes], form: str, data: st.DataObject) -> None:
    sent = whole(parts, form)
    reader = ResponseReader()
    reader.take(sent[: data.draw(st.integers(0, len(sent) - 1))])
    assert not reader.close()


@pytest.mark.parametrize("start", [b"SSH-2.0-OpenSSH_9.6", b"HTTP/2 200", b"HTTP/1.1 20", b"H" * 100_000])
def test_what_begins_as_no_response_is_refused(start: bytes) -> None:
    with pytest.raises(ProtocolError):
        ResponseReader().take(start + b"\r\n\r\n")


@pytest.mark.parametrize(
    "rest",
    [
        b"a b\r\n\r\n", b" folded: 1\r\n\r\n", b"content-length: -1\r\n\r\n", b"transfer-encoding: gzip\r\n\r\n",
        b"content-length: 1\r\ncontent-length: 2\r\n\r\n", b"transfer-encoding: chunked\r\n\r\nx\r\n",
        b"transfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
    ],
)  # fmt: skip
def test_what_goes_on_as_no_response_is_refused(rest: bytes) -> None:
    with pytest.raises(ProtocolError):
        ResponseReader().take(b"HTTP/1.1 200 OK\r\n" + rest)


@pytest.mark.parametrize(
    ("head", "persistent"),
    [
        (b"HTTP/1.1 200 OK\r\n", True), (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False), (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", True),
    ],
)  # fmt: skip
def test_a_connection_is_used_again_if_the_server_says_so(head: bytes, persistent: bool) -> None:
    reader = ResponseReader()
    reader.take(head + b"content-length: 0\r\n\r\n")
    assert reader.ended
    assert reader.head is not None
    assert reader.head.persistent == persistent
