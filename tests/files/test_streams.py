from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.files.streams import Line, NotGzip, StreamFault, StreamTooLarge, file_parts, lines, unpack

PARTS = st.lists(st.binary(max_size=30), max_size=12)


def _unpack(*parts: bytes, limit: int | None = 1 << 30, ratio: int | None = 200, gzip: bool = False) -> bytes:
    return b"".join(unpack(parts, limit=limit, ratio=ratio, gzip=gzip))


def _cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


@given(st.binary(max_size=2000), st.lists(st.integers(0, 10_000), max_size=8), st.integers(1, 3))
def test_gzip_is_unpacked_however_it_is_cut_and_in_however_many_members(body, places, members):
    step = len(body) // members + 1
    packed = b"".join(gzip.compress(body[start : start + step]) for start in range(0, step * members, step))
    assert _unpack(*_cut(packed, places)) == body
    assert _unpack(*_cut(packed + b"\0" * 7, places)) == body


@given(PARTS)
def test_what_is_not_gzip_passes_as_it_is(parts):
    body = b"x" + b"".join(parts)
    assert _unpack(b"x", *parts) == body


def test_a_large_body_is_unpacked_whole():
    body = bytes(range(256)) * 40_000
    assert _unpack(gzip.compress(body)) == body


@given(st.binary(min_size=1, max_size=500), st.integers(2, 10_000))
def test_gzip_that_ends_early_is_an_error(body, cut):
    packed = gzip.compress(body)
    with pytest.raises(StreamFault, match="ends early"):
        _unpack(packed[: min(cut, len(packed) - 1)])


def test_damaged_gzip_is_an_error():
    packed = bytearray(gzip.compress(b"some text to pack" * 10))
    packed[15] ^= 0xFF
    with pytest.raises(StreamFault, match="damaged"):
        _unpack(bytes(packed))


def test_gzip_followed_by_something_else_is_an_error():
    with pytest.raises(StreamFault, match="damaged"):
        _unpack(gzip.compress(b"text") + b"something else")


def test_a_body_that_was_said_to_be_gzip_has_to_be():
    with pytest.raises(NotGzip, match="not gzip"):
        _unpack(b"plain", gzip=True)


def test_a_gzip_bomb_is_refused_long_before_it_is_unpacked():
    bomb = gzip.compress(b"\0" * (64 << 20))
    produced = 0
    with pytest.raises(StreamTooLarge, match="200 times"):
        for part in unpack([bomb], limit=1 << 40, ratio=200):
            produced += len(part)
    assert produced <= 17 << 20


def test_the_limit_holds_packed_and_plain():
    body = zlib.compress(b"", wbits=31)
    assert _unpack(body, limit=0) == b""
    for sent in (gzip.compress(b"x" * 1001), b"x" * 1001):
        with pytest.raises(StreamTooLarge, match="1000 bytes"):
            _unpack(sent, limit=1000)


def test_without_limits_everything_is_unpacked():
    body = b"\0" * (20 << 20)
    assert _unpack(gzip.compress(body), limit=None, ratio=None) == body


def test_what_came_before_a_fault_is_there_already():
    def parts():
        yield gzip.compress(b"one\ntwo\nthr")
        raise ConnectionError

    found = lines(unpack(parts()), 10)
    assert [next(found), next(found)] == [(1, b"one"), (2, b"two")]
    with pytest.raises(ConnectionError):
        next(found)


def test_a_file_is_read_in_parts(tmp_path):
    path = tmp_path / "file"
    for content in (b"", b"a\n", random.Random(0).randbytes(700_000)):
        path.write_bytes(content)
        assert b"".join(file_parts(path)) == content


def _plain(body: bytes, longest: int, blank: bool) -> list[Line]:
    """The lines, by a split of the whole body."""
    found = []
    for number, raw in enumerate(body.removesuffix(b"\n").split(b"\n") if body else [], 1):
        content = (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).rstrip(b"\r")
        if len(raw) > longest:
            found.append(Line(number, None))
        elif blank or content.strip():
            found.append(Line(number, content))
    return found


PIECES = st.sampled_from(
    [b"a", b"\xff", b"\n", b"\r\n", b"\r", b"\t", b" ", b"\n\n\n", b"x" * 40, b"\xef\xbb\xbf", "語".encode()]
)


@given(st.lists(PIECES, max_size=40).map(b"".join), st.lists(st.integers(0, 200), max_size=8), st.integers(0, 50))
def test_lines_are_those_of_a_plain_split_however_the_stream_is_cut(body, places, longest):
    for blank in (False, True):
        assert list(lines(_cut(body, places), longest, blank)) == _plain(body, longest, blank)


@given(PARTS, st.integers(0, 40), st.booleans())
def test_any_bytes_are_cut_as_a_plain_split_cuts_them(parts, longest, blank):
    assert list(lines(parts, longest, blank)) == _plain(b"".join(parts), longest, blank)


def test_tabs_at_the_ends_of_a_line_stay():
    assert list(lines([b"\ta\t\r\n \t \n"], 10)) == [(1, b"\ta\t")]


def test_a_line_without_end_is_not_held_in_memory():
    def endless():
        yield b"first\n"
        for _ in range(200):
            yield b"x" * (1 << 16)
        yield b"\nlast\n"

    tracemalloc.start()
    try:
        found = list(lines(endless(), 1 << 17))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == [(1, b"first"), (2, None), (3, b"last")]
    assert peak < 1 << 20
