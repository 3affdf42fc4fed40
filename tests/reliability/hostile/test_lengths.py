"""Bodies whose length is faulty or said in two ways, and bodies that are no HTTP."""

from __future__ import annotations

import re
import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.connections import CHUNKED, HEALTHZ, LARGE, POST, answered, connected, error_of, faults_in
from tests.support.serving import Server

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "request_of_two_lengths",
    [
        POST % (b"/v1/search", b"application/json", b"Content-Length: 5\r\n" + CHUNKED) + b"0\r\n\r\n" + HEALTHZ,
        POST % (b"/v1/search", b"application/json", CHUNKED + b"Content-Length: 0\r\n") + b"0\r\n\r\n" + HEALTHZ,
        POST % (b"/v1/search", b"application/json", b"Content-Length: 5\r\nContent-Length: 6\r\n") + HEALTHZ,
        b"POST /v1/search HTTP/1.0\r\nContent-Type: application/json\r\n" + CHUNKED + b"\r\n0\r\n\r\n" + HEALTHZ,
    ],
)
def test_a_body_of_two_lengths_ends_the_connection(opened: Server, request_of_two_lengths: bytes) -> None:
    assert error_of(answered(opened, request_of_two_lengths)) == (400, "malformed_body")


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 2\r\n" + CHUNKED,
        CHUNKED + b"content-length: 4000000\r\n",
        CHUNKED + b"Content-Length: 2\r\nExpect: 100-continue\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding:\r\n chunked\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Content-Length : 2\r\n",
        b"Transfer-Encoding : chunked\r\n",
        CHUNKED + CHUNKED,
        *(
            b"Transfer-Encoding: %s\r\n" % coding
            for coding in (
                b"gzip, chunked",
                b"chunked, identity",
                b"identity",
                b"xchunked",
                b"chunked;q=1",
                b'"chunked"',
                b"",
            )
        ),
        CHUNKED + b"\r\n2 2\r\n",
        CHUNKED + b"Expect: 100-continue\r\n\r\n-2\r\n",
    ],
)
def test_a_faulty_length_is_answered_without_a_reset(opened: Server, lengths: bytes) -> None:
    """However large the body; nothing of it, nor what follows it, is taken for a request."""
    with connected(opened) as connection:
        assert error_of(read_to_the_end(connection, lengths)) == (400, "malformed_body")
    assert not faults_in(opened), faults_in(opened)


@given(length=st.text("0123456789+-., \tabcxe_", max_size=6).filter(lambda text: len(lengths_in(text)) != 1))
@settings(max_examples=40, deadline=None)
def test_a_length_that_is_no_number_is_answered_without_a_reset(opened: Server, length: str) -> None:
    with connected(opened) as connection:
        answer = read_to_the_end(connection, b"Content-Length: %s\r\n" % length.encode())
    assert error_of(answer) == (400, "malformed_body")


def lengths_in(text: str) -> set[str]:
    """The numbers of a field; RFC 9112 allows that one stands there several times. Empty where something else does."""
    numbers = {part.strip(" \t") for part in text.split(",")}
    return numbers if all(re.fullmatch("[0-9]+", number) for number in numbers) else set()


def read_to_the_end(connection: socket.socket, lengths: bytes) -> bytes:
    """All that comes back to a request with a large body and another one behind it; a reset raises."""
    connection.sendall(POST % (b"/v1/search", b"application/json", lengths) + LARGE + HEALTHZ)
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_a_faulty_body_that_is_reset_holds_up_no_other(opened: Server) -> None:
    """Reading is paused while many lines wait for their turn, so that nothing shows the reset."""
    many = b"1\r\n \r\n" * 2_000
    with connected(opened) as connection:
        connection.sendall(POST % (b"/v1/nothing", b"application/json", CHUNKED))
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 404")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(many + b"zz\r\n")
    few = b"1\r\n \r\n" * 200  # enough to wait for a turn, also where other processes take the time of parsing
    body = b'd\r\n{"query":"x"}\r\n' + few + b"0\r\n\r\n"
    with connected(opened) as connection:
        connection.sendall(POST % (b"/v1/search", b"application/json", CHUNKED) + body)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
    assert not faults_in(opened), faults_in(opened)


def test_a_request_with_a_faulty_body_is_not_carried_out(opened: Server) -> None:
    """Also where the endpoint reads no body."""
    opened.client.post("/v1/collections", json={"name": "kept", "language": "sw"}).raise_for_status()
    faulty = b"DELETE /v1/collections/kept HTTP/1.1\r\nHost: localhost\r\n" + CHUNKED + b"\r\nzz\r\n"
    assert error_of(answered(opened, faulty)) == (400, "malformed_body")
    assert opened.client.delete("/v1/collections/kept").is_success


def test_what_is_no_request_is_not_read_for_ever(opened: Server) -> None:
    with connected(opened) as connection:
        connection.sendall(POST % (b"/v1/search", b"application/json", b"Content-Length: 2\r\n" + CHUNKED))
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 400")
        with pytest.raises(ConnectionError):
            for _ in range(64):
                connection.sendall(LARGE)
