"""What the pages of a Parquet file unpack to, by their own headers: its footer may say anything.

A header is a struct in Thrift's compact protocol, before each page:
https://parquet.apache.org/docs/file-format/data-pages/ and
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from typing import IO, Any

from dragoman.deadline import check

_LONGEST_HEADER = 1 << 24
"""Bytes of a header, as pyarrow has it."""
_MOST_FIELDS = 1000
_DEEPEST = 8
_VARINT_BYTES = 10
_UNPACKED, _PACKED = 2, 3
"""Fields of a header: the sizes of its page."""
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12
"""Types, but for those of lists and maps, which no header has."""
_I32 = 5


def measure_unpacked(file: IO[bytes], metadata: Any) -> list[int]:
    """For each row group of an open file, the bytes that its pages unpack to; its position is kept.

    Raises:
        ValueError: a page has no header where one has to be, or does not lie within the file.
    """
    before = file.tell()
    size = file.seek(0, 2)
    try:
        groups = (metadata.row_group(place) for place in range(metadata.num_row_groups))
        return [
            sum(_measure_column(file, group.column(column), size) for column in range(group.num_columns))
            for group in groups
        ]
    finally:
        file.seek(before)


def _measure_column(file: IO[bytes], chunk: Any, size: int) -> int:
    if not chunk.num_values:  # no page of it is read
        return 0
    position = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < position:  # some writers say 0
        position = chunk.dictionary_page_offset
    end = position + chunk.total_compressed_size
    if not 0 <= position <= end <= size:
        raise ValueError("a column does not lie within the file")
    unpacked = 0
    while position < end:
        check()
        file.seek(position)
        header = _Header(file)
        packed, page = header.sizes.get(_PACKED, -1), header.sizes.get(_UNPACKED, -1)
        if packed < 0 or page < 0:
            raise ValueError("a page does not say its size")
        unpacked += page
        position = file.tell() + packed
    return unpacked


class _Header:
    """A page's header, read from where a file is."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._end = file.tell() + _LONGEST_HEADER
        self._fields = 0
        self.sizes: dict[int, int] = {}
        self._read_struct(0)

    def _read_struct(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("a page's header is nested too deeply")
        field = 0
        while kind_and_step := self._take(1)[0]:
            self._fields += 1
            if self._fields > _MOST_FIELDS:
                raise ValueError("a page's header has too many fields")
            kind, step = kind_and_step & 15, kind_and_step >> 4
            field = field + step if step else self._read_integer()
            if depth == 0 and kind == _I32 and field in (_UNPACKED, _PACKED):
                self.sizes[field] = self._read_integer()
            else:
                self._skip(kind, depth)

    def _skip(self, kind: int, depth: int) -> None:
        if kind == _BYTE:
            self._pass(1)
        elif kind in _INTEGERS:
            self._read_varint()
        elif kind == _DOUBLE:
            self._pass(8)
        elif kind == _BINARY:
            self._pass(self._read_varint())
        elif kind == _STRUCT:
            self._read_struct(depth + 1)
        elif kind not in _BOOLEANS:  # these are their types
            raise ValueError("a page's header has what no page's header has")

    def _read_varint(self) -> int:
        whole = 0
        for place in range(_VARINT_BYTES):
            byte = self._take(1)[0]
            whole |= (byte & 127) << 7 * place
            if byte < 128:
                return whole
        raise ValueError("a page's header has a number that does not end")

    def _read_integer(self) -> int:
        whole = self._read_varint()
        return (whole >> 1) ^ -(whole & 1)

    def _take(self, count: int) -> bytes:
        taken = self._file.read(count)
        if len(taken) < count:
            raise ValueError("a page's header does not end")
        self._check()
        return taken

    def _pass(self, count: int) -> None:
        if count > self._end - self._file.tell():  # no system seeks as far as a header may say
            raise ValueError("a page's header is too long")
        self._file.seek(count, 1)

    def _check(self) -> None:
        if self._file.tell() > self._end:
            raise ValueError("a page's header is too long")
