"""Uploaded bytes: any chunking gives the same lines, and no hostile file is held in memory or passed over."""

import gzip
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.formats.detection.encodings import Encoding
from dragoman.lexicon.formats.items import Limits, Rejection, TableFormatError, TableTooLarge
from dragoman.lexicon.formats.streams import blocks, lines

LIMITS = Limits(line_bytes=64)
UTF8 = Encoding("utf-8", "utf-8")


def chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[i : i + size] for i in range(0, len(data), size))


def read(data: bytes, size: int = 1 << 16, limits: Limits = LIMITS) -> list[tuple[int, str] | Rejection]:
    return list(lines(blocks(chunks(data, size), limits), limits, UTF8))


def plain(data: bytes) -> list[tuple[int, str] | Rejection]:
    """The same, line by line over the whole file."""
    found: list[tuple[int, str] | Rejection] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n"), start=1):
        if len(line) > LIMITS.line_bytes:
            found.append(Rejection(number, "longer than 64 bytes"))
            continue
        try:
            text = line.decode().rstrip("\r")
        except UnicodeDecodeError:
            found.append(Rejection(number, "not valid UTF-8"))
            continue
        if text.strip():
            found.append((number, text))
    return found


pieces = st.sampled_from([b"a", b"\xc3\xbc", b"\xff", b"\n", b"\r\n", b"\t", b"x" * 40, b"\xef\xbb\xbf", "語".encode()])
files = st.lists(pieces, min_size=1, max_size=60).map(b"".join).map(lambda data: b"ok\n" + data)


@given(files, st.integers(1, 50))
def test_any_chunking_gives_the_lines_of_the_file(data: bytes, size: int) -> None:
    assert read(data, size) == plain(data)


@given(files, st.integers(1, 50))
def test_small_blocks_give_the_lines_of_the_file(data: bytes, size: int) -> None:
    assert list(lines(chunks(data, size), LIMITS, UTF8)) == plain(data)


@given(files, st.integers(1, 50), st.integers(0, 20), st.integers(0, 3))
def test_gzip_in_members_with_padding_is_the_same(data: bytes, size: int, cut: int, padding: int) -> None:
    packed = gzip.compress(data[:cut]) + gzip.compress(data[cut:]) + bytes(padding)
    assert read(packed, size) == plain(data)


def test_gzip_of_highly_compressible_text_is_complete() -> None:
    data = b"haus\thouse\n" * 500_000
    assert b"".join(blocks(chunks(gzip.compress(data), 7), Limits())) == data


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert read(b"\xef\xbb\xbfa\tb\n") == [(1, "a\tb")]


@given(st.integers(0, 200))
def test_truncated_gzip_is_refused(length: int) -> None:
    packed = gzip.compress(bytes(range(256)).hex().encode())
    cut = packed[: 2 + length % (len(packed) - 2)]
    with pytest.raises(TableFormatError, match="gzip stream ends early"):
        read(cut, 10)


def test_gzip_without_its_checksum_is_truncated() -> None:
    with pytest.raises(TableFormatError, match="ends early"):
        read(gzip.compress(b"a\tb\n")[:-1])


def test_damaged_gzip_is_refused() -> None:
    packed = bytearray(gzip.compress(b"a\tb\n"))
    packed[-6] ^= 1
    with pytest.raises(TableFormatError, match="gzip stream is damaged"):
        read(bytes(packed))
    with pytest.raises(TableFormatError, match="gzip stream is damaged"):
        read(gzip.compress(b"a\tb\n") + b"garbage after the end")


def test_a_gzip_bomb_stops_at_the_limit() -> None:
    limits = Limits(decompressed_bytes=1 << 20)
    seen = 0

    def bomb() -> Iterator[bytes]:
        nonlocal seen
        packer = zlib.compressobj(9, wbits=31)
        for _ in range(1000):
            packed = packer.compress(b"a\tb\n" * (1 << 18)) + packer.flush(zlib.Z_SYNC_FLUSH)
            seen += 1
            yield packed

    with pytest.raises(TableTooLarge, match="larger than 1048576 bytes when unpacked"):
        list(blocks(bomb(), limits))
    assert seen < 100


def test_a_compression_ratio_no_text_has_is_refused() -> None:
    data = gzip.compress(b"\n" * (17 << 20), 9)
    with pytest.raises(TableTooLarge, match="more than 200 times its size"):
        list(blocks([data], Limits()))


def test_plain_text_is_limited_as_well() -> None:
    with pytest.raises(TableTooLarge):
        read(b"a\tb\n" * 1000, limits=Limits(decompressed_bytes=3999))
    assert len(read(b"a\tb\n" * 1000, limits=Limits(decompressed_bytes=4000))) == 1000


def test_a_line_without_end_is_not_held_in_memory() -> None:
    def endless() -> Iterator[bytes]:
        yield b"first\n"
        for _ in range(200):
            yield b"x" * (1 << 16)
        yield b"\nlast\n"

    tracemalloc.start()
    try:
        numbered = list(lines(blocks(endless(), LIMITS), LIMITS, UTF8))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert numbered == [(1, "first"), Rejection(2, "longer than 64 bytes"), (3, "last")]
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"BZh91AY", "bzip2"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50), "save it as .xlsx"),
        (b"\xff\xd8x\n" * 30, "not UTF-8 text"),
    ],
)
def test_files_that_are_no_text_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(TableFormatError, match=message):
        read(data)


def test_some_lines_in_another_encoding_are_rejected_alone() -> None:
    data = b"".join([b"gut\tgood\n", "Tür\tdoor\n".encode("latin-1") * 40])
    assert read(data)[0] == (1, "gut\tgood")
    assert read(data)[1:] == [Rejection(n, "not valid UTF-8") for n in range(2, 42)]
