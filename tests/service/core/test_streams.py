from __future__ import annotations

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.service.core.errors import MalformedBody, TooLarge
from dragoman.service.core.streams import Line, lines, unpack

PARTS = st.lists(st.binary(max_size=30), max_size=12)


def _unpack(*parts: bytes, limit: int = 1 << 30, ratio: int = 200, gzip: bool = False) -> bytes:
    return b"".join(unpack(iter(parts), limit=limit, ratio=ratio, gzip=gzip))


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
    with pytest.raises(MalformedBody, match="ends early"):
        _unpack(packed[: min(cut, len(packed) - 1)])


def test_damaged_gzip_is_an_error():
    packed = bytearray(gzip.compress(b"some text to pack" * 10))
    packed[15] ^= 0xFF
    with pytest.raises(MalformedBody, match="damaged"):
        _unpack(bytes(packed))


def test_gzip_followed_by_something_else_is_an_error():
    with pytest.raises(MalformedBody, match="damaged"):
        _unpack(gzip.compress(b"text") + b"something else")


def test_a_body_that_was_said_to_be_gzip_has_to_be():
    with pytest.raises(MalformedBody, match="Content-Encoding"):
        _unpack(b"plain", gzip=True)


def test_a_gzip_bomb_is_refused_long_before_it_is_unpacked():
    bomb = gzip.compress(b"\0" * (64 << 20))
    produced = 0
    with pytest.raises(TooLarge, match="200 times"):
        for part in unpack(iter([bomb]), limit=1 << 40, ratio=200):
            produced += len(part)
    assert produced <= 17 << 20


def test_the_limit_holds_packed_and_plain():
    body = zlib.compress(b"", wbits=31)
    assert _unpack(body, limit=0) == b""
    for sent in (gzip.compress(b"x" * 1001), b"x" * 1001):
        with pytest.raises(TooLarge, match="1000 bytes"):
            _unpack(sent, limit=1000)


@given(PARTS, st.integers(0, 40))
def test_lines_are_those_of_a_plain_split(parts, longest):
    body = b"".join(parts)
    expected = []
    for number, raw in enumerate(body.split(b"\n"), 1):
        if len(raw) > longest:
            expected.append(Line(number, None))
            continue
        content = (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).strip(b" \t\r")
        if content:
            expected.append(Line(number, content))
    assert list(lines(iter(parts), longest)) == expected


@given(st.text(alphabet="ab\n\r\ufeff ", max_size=60), st.lists(st.integers(0, 200), max_size=6))
def test_lines_do_not_depend_on_how_the_body_is_cut(text, places):
    body = text.encode()
    assert list(lines(iter(_cut(body, places)), 20)) == list(lines(iter([body]), 20))
