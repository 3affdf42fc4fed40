from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.engine.core.errors import InvalidRequest, TooLarge, UnsupportedMedia
from dragoman.store.documents.formats.mapping import FieldMapping
from dragoman.store.documents.formats.parquet_pages import measure_unpacked
from dragoman.store.documents.formats.reader import TABLES, read_rows
from dragoman.store.documents.formats.rows import RowLimits
from dragoman.store.documents.line import parse_document
from dragoman.store.line import LineRejected

CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('",;\t|\n#'), min_size=1, max_size=30)


def read(
    body: bytes, format: str, map: str | None = None, *, encoding: str | None = None, **limits: Any
) -> list[tuple[int, Any]]:
    """Each row's line, and its document without what is None, or the reason why it is none."""
    mapping, read_documents = FieldMapping(map), []
    for row in read_rows(iter([body[:7], body[7:]]), format, mapping, RowLimits(**limits), encoding):
        try:
            if row.content is None:
                raise LineRejected(row.reason)
            document = parse_document(row.content, 64, mapping, format in TABLES)
            read_documents.append((row.line, document.model_dump(exclude_unset=True)))
        except LineRejected as fault:
            read_documents.append((row.line, str(fault)))
    return read_documents


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "id": CELLS.filter(lambda id: id.strip() and id not in (".", "..")),
                "text": CELLS.filter(str.strip),
                "Place, or so": CELLS.filter(str.strip),
            }
        ),
        max_size=5,
    ),
    st.sampled_from(",;\t|"),
)
def test_csv_is_read_as_it_was_written(rows, separator):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows([["id", "text", "Place, or so"]])
    writer.writerows([row["id"], row["text"], row["Place, or so"]] for row in rows)
    expected = [
        {"id": row["id"], "text": row["text"], "metadata": {"Place, or so": row["Place, or so"]}} for row in rows
    ]

    read_documents = [document for _, document in read("\ufeff".encode() + file.getvalue().encode(), "csv")]
    assert _without_white_lines(read_documents) == _without_white_lines(expected)


def _without_white_lines(documents):
    """White space alone on a line within a cell is read as an empty line."""
    return [re.sub(r"(?<=\\n)[^\S\n]+(?=\\n)", "", json.dumps(document, ensure_ascii=False)) for document in documents]


@given(st.binary(max_size=300), st.sampled_from(["csv", "tsv", "trec", "json", "ndjson"]))
@example(b"\x1c", "tsv")  # white space of text that is none of bytes
def test_any_bytes_are_read_or_refused(body, format):
    try:
        read(b"id,text\n" + body if format == "csv" else body, format)
    except (InvalidRequest, TooLarge) as fault:
        assert str(fault)
    except Exception as fault:
        assert type(fault).__name__ == "MalformedBody", fault


def test_columns_of_a_table():
    body = (
        b"ID,Text,Title,language,year,metadata.author.name,,\n1,one,T,de,1999,Ada,x,\n2,two,,,,,,\n3,three\n4,,,,,,,\n"
    )
    first, second, third, fourth = read(body, "csv")
    metadata = {"year": "1999", "author.name": "Ada", "column_7": "x"}
    assert first == (2, {"id": "1", "text": "one", "title": "T", "language": "de", "metadata": metadata})
    assert second == (3, {"id": "2", "text": "two", "metadata": {}})
    assert third == (4, "has 2 cells, and the header 8")
    assert fourth == (5, "text: Field required")


def test_a_mapping_renames_types_and_leaves_out():
    map = "id=docid,text=body,metadata.year:number=year,metadata.open:boolean=open,-=row"
    body = b"row;docid;body;year;open;other\n0;a;one;1999;TRUE;x\n1;b;two;12.5;false;\n2;c;three;soon;;\n"
    first, second, third = read(body, "csv", map)
    assert first == (2, {"id": "a", "text": "one", "metadata": {"year": 1999, "open": True, "other": "x"}})
    assert second == (3, {"id": "b", "text": "two", "metadata": {"year": 12.5, "open": False}})
    assert third == (4, "year: 'soon' is no number such as 12 or -1.5")
    line = b'{"docid": 7, "body": "t", "year": 3, "open": true, "row": 1, "url": "u"}'
    assert read(line, "ndjson", map) == [(1, "url: Extra inputs are not permitted")]
    document = {"id": "7", "text": "t", "metadata": {"year": 3, "open": True, "url": "u"}}
    assert read(line, "ndjson", map + ",metadata=*") == [(1, document)]


@pytest.mark.parametrize(
    ("map", "reason"),
    [
        ("text", "'text' is not target=source"),
        ("body=text", "no field 'body'"),
        ("text=a,text=b", "named before"),
        ("text=a,title=a", "named before"),
        ("id:number=a", "no type of id"),
        ("metadata.x:date=a", "no type of metadata.x"),
        ("title=*", "metadata=\\* alone"),
        ("x" * 10_001, "longer than 10000"),
        ('"text=a', "map: "),
    ],
)
def test_a_mapping_that_is_none(map, reason):
    with pytest.raises(InvalidRequest, match=reason):
        FieldMapping(map)


def test_two_fields_for_one():
    assert read(b'{"id": "1", "text": "t", "body": "b"}', "ndjson", "text=body") == [
        (1, "text: 'text' and 'body' are both for it")
    ]


def test_lines_of_beir_and_miracl():
    assert read(b'{"_id": 12, "title": "T", "text": "t", "metadata": {"url": "u"}}', "ndjson") == [
        (1, {"id": "12", "title": "T", "text": "t", "metadata": {"url": "u"}})
    ]
    assert read(b'{"docid": "12#0", "title": "T", "text": "t"}', "ndjson")[0][1]["id"] == "12#0"
    assert read(b'{"id": "1", "_id": "2", "text": "t"}', "ndjson") == [(1, "_id: Extra inputs are not permitted")]


def test_quotes_spread_over_lines_and_never_end():
    body = 'id\ttext\n1\t"a ""b""\n\nc"\n2\t5" disks\n'.encode("utf-16")
    assert read(body, "tsv") == [(2, {"id": "1", "text": 'a "b"\n\nc'}), (5, {"id": "2", "text": '5" disks'})]
    assert read(b'id,text\n1,"never\n2,two\n', "csv") == [
        (2, "not CSV: unexpected end of data"),
        (3, {"id": "2", "text": "two"}),
    ]


def test_a_quote_of_tsv_takes_in_no_whole_rows():
    reason = "a quote begins a cell that would take in further rows"
    assert read(b'id\ttext\n1\t"a\n2"\t\n3\tb\n', "tsv") == [(2, reason), (4, {"id": "3", "text": "b"})]
    assert read(b'id\ttext\n1\t"a\n2\tb"\n', "tsv") == [(2, reason)]
    written = b'id\ttext\ttitle\n1\t"a\nb"\tT\n'
    assert read(written, "tsv") == [(2, {"id": "1", "text": "a\nb", "title": "T"})]


@given(st.sampled_from(["utf-16", "utf-16-be", "latin-1", "windows-1252", "shift_jis", "gb18030", "iso-2022-jp"]))
def test_the_encoding_that_is_named(encoding):
    text = "日本語" if encoding in ("shift_jis", "gb18030", "iso-2022-jp") else "Größe"
    body = f"id,text\n1,{text}\n".encode(encoding)
    assert read(body, "csv", encoding=encoding) == [(2, {"id": "1", "text": text})]


def test_what_is_not_of_the_encoding_that_is_named():
    assert read(b"id,text\n1,a\n2,\x81\xff\n", "csv", encoding="shift_jis") == [
        (2, {"id": "1", "text": "a"}),
        (3, "not valid shift_jis"),
    ]
    assert read('{"id": "1", "text": "ö"}'.encode("latin-1"), "ndjson", encoding="iso-8859-1")[0][1]["text"] == "ö"
    for name in ("rot13", "utf-9"):
        with pytest.raises(UnsupportedMedia, match=f"charset: '{name}' is not known"):
            read(b"id,text\n", "csv", encoding=name)


def test_a_format_that_is_not_there():
    with pytest.raises(
        InvalidRequest, match="format: there is no 'xls'; there are ndjson, json, csv, tsv, parquet, trec"
    ):
        read(b'{"id": "1", "text": "a"}', "xls")


def test_long_cells_and_too_many_columns():
    text = "wort " * 60_000
    assert read(f'id,text\n1,"{text}"\n'.encode(), "csv")[0][1]["text"] == text
    assert read(b"id,text\n1," + b"x" * 2000, "csv", row_bytes=1000) == [(2, "longer than 1,000 bytes")]
    with pytest.raises(InvalidRequest, match="1002 columns"):
        read(f"id,text{',x' * 1000}\n".encode(), "csv")
    with pytest.raises(InvalidRequest, match="'x' twice"):
        read(b"id,text,x,x\n", "csv")
    with pytest.raises(InvalidRequest, match=r"no column 'text'.*'id', 'body'.*map=text=COLUMN"):
        read(b"id,body\n1,a\n", "csv")
    with pytest.raises(InvalidRequest, match="no column 'corps'"):
        read(b"id,text\n1,a\n", "csv", "title=corps")


def test_arrays():
    assert read(b'[{"id": 1, "text": "a"}, 7]', "json") == [
        (1, {"id": "1", "text": "a"}),
        (2, "the element is not a JSON object"),
    ]
    with pytest.raises(InvalidRequest, match="not a JSON array"):
        read(b'{"id": 1, "text": "a"}', "json")
    with pytest.raises(TooLarge, match="10000 documents"):
        read(json.dumps([{}] * 10_001).encode(), "json")
    with pytest.raises(TooLarge, match="more than 20 bytes"):
        read(b'[{"id": 1, "text": "a"}]', "json", body_bytes=20)


def test_trec():
    body = b"""<DOC>
<DOCNO> LA-1 </DOCNO>
<HEADLINE><P>A &amp; B</P></HEADLINE>
<DATE>1989</DATE>
<TEXT>
<P>One <b>and</b> two.</P>
<P>Three.</P></TEXT>
<TEXT>Four.</TEXT>
</DOC><DOC><DOCNO>LA-2</DOCNO>Bare text.</DOC>
stray
<doc><docno>3</docno><text>\xff</text></doc>
<DOC><DOCNO>4</DOCNO>
"""
    assert read(body, "trec") == [
        (1, {"id": "LA-1", "title": "A & B", "metadata": {"date": "1989"}, "text": "One and two.\n\nThree.\n\nFour."}),
        (9, {"id": "LA-2", "text": "Bare text."}),
        (10, "stands outside of <DOC>"),
        (11, "not valid UTF-8"),
        (12, "the document has no </DOC>"),
    ]


def test_parquet_needs_a_package_or_keeps_types(tmp_path: Path):
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        with pytest.raises(UnsupportedMedia, match=r"Parquet needs pyarrow.*pip install.*\[parquet\]"):
            read(b"PAR1", "parquet")
        return
    from datetime import datetime
    from decimal import Decimal

    rows = {
        "docid": [7, 8],
        "text": ["one", "two"],
        "year": [1999, None],
        "ratio": [0.5, float("nan")],
        "at": [datetime(2024, 5, 1, 12), None],
        "price": [Decimal("1.50"), None],
        "tags": [["a", "b"], []],
        "author": [{"name": "Ada"}, None],
    }
    parquet.write_table(pa.table(rows), tmp_path / "file.parquet")
    body = (tmp_path / "file.parquet").read_bytes()
    metadata = {
        "year": 1999,
        "ratio": 0.5,
        "at": "2024-05-01T12:00:00",
        "price": 1.5,
        "tags": ["a", "b"],
        "author": {"name": "Ada"},
    }
    assert read(body, "parquet") == [
        (1, {"id": "7", "text": "one", "metadata": metadata}),
        (2, {"id": "8", "text": "two", "metadata": {"tags": []}}),
    ]
    for cut in (0, 3, 50, len(body) // 2, len(body) - 1):
        if cut:
            with pytest.raises(InvalidRequest, match="cannot be read as Parquet"):
                read(body[:cut], "parquet")


def written(rows: dict[str, Any], **options: Any) -> bytes:
    """The bytes of a Parquet file with these columns, and an id and a text for each row."""
    import pyarrow as pa
    from pyarrow import parquet

    count = len(next(iter(rows.values())))
    file = io.BytesIO()
    columns = {"id": [str(row) for row in range(count)], "text": ["t"] * count, **rows}
    parquet.write_table(pa.table(columns), file, **options)
    return file.getvalue()


def test_values_of_parquet_that_cannot_be_converted_reject_their_rows():
    pa = pytest.importorskip("pyarrow")
    pairs = pa.map_(pa.string(), pa.float32())
    columns = {
        "at": pa.array([1, 10**18, 1, 1], pa.timestamp("us")),
        "on": pa.array([1, 1, 10**7, 1], pa.date32()),
        "pairs": pa.array([[("a", 0.1)], [], [], [("a", 1), ("a", 2)]], pairs),
    }
    metadata = {"at": "1970-01-01T00:00:00.000001", "on": "1970-01-02", "pairs": {"a": 0.1}}
    assert read(written(columns), "parquet") == [
        (1, {"id": "0", "text": "t", "metadata": metadata}),
        (2, "at: is no time of the years 1 to 9999"),
        (3, "on: is no time of the years 1 to 9999"),
        (4, "pairs: a map has a key twice"),
    ]
    assert [line for line, _ in read(written(columns), "parquet", "-=at,-=on,-=pairs")] == [1, 2, 3, 4]
    assert all(isinstance(row, dict) for _, row in read(written(columns), "parquet", "-=at,-=on,-=pairs"))
    zoned = written({"at": pa.array([1], pa.timestamp("us", "Mars/Base"))})
    with pytest.raises(InvalidRequest, match="column 'at' has times of the zone 'Mars/Base', which is unknown"):
        read(zoned, "parquet")
    assert read(zoned, "parquet", "-=at") == [(1, {"id": "0", "text": "t"})]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=3))
def test_numbers_of_32_bits_are_the_shortest_that_are_the_same(numbers):
    pa = pytest.importorskip("pyarrow")
    import numpy as np

    (row,) = read(written({"n": pa.array([numbers], pa.list_(pa.float32()))}), "parquet")
    stored = row[1]["metadata"]["n"]
    assert [np.float32(number) for number in stored] == [np.float32(number) for number in numbers]
    assert [repr(number) for number in stored] == [repr(float(str(np.float32(number)))) for number in numbers]


def test_a_parquet_file_with_a_changed_byte_is_damaged():
    pytest.importorskip("pyarrow")
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False, "write_page_checksum": True}
    body = written({"word": ["abcdefgh"]}, **plain)
    place = body.index(b"abcdefgh")
    with pytest.raises(InvalidRequest, match="damaged"):
        read(body[:place] + b"X" + body[place + 1 :], "parquet")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_pages_of_parquet_are_measured_however_they_are_written(version: str, compression: str):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import ParquetFile

    columns = {"n": list(range(2_000)), "none": [None] * 2_000, "parts": [[{"a": "x" * (n % 7)}] for n in range(2_000)]}
    options = {"data_page_version": version, "compression": compression, "data_page_size": 500, "row_group_size": 700}
    for checked in (False, True):
        body = written(columns, **options, write_page_checksum=checked, write_statistics=checked)
        metadata = ParquetFile(io.BytesIO(body)).metadata
        groups = [metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups)]
        measured = measure_unpacked(io.BytesIO(body), metadata)  # without the headers, which the footer counts
        assert all(0.6 * size < pages < size for pages, size in zip(measured, groups, strict=True))
        assert len(read(body, "parquet")) == 2_000
    assert read(written({"n": pa.array([], pa.int64())}, **options), "parquet") == []


@pytest.mark.parametrize(
    "header",
    [b"\x18" + b"\x80" * 6 + b"\x01", b"\x15\x02" * 1_001, b"\x1c" * 20, b"\xff" * 20],
    ids=["a field that is longer than any file", "fields without an end", "structs in structs", "of no type"],
)
def test_a_page_whose_header_is_none_is_damaged(header: bytes):
    pytest.importorskip("pyarrow")
    from pyarrow.parquet import ParquetFile

    body = written({"word": [f"word {number}" for number in range(900)]}, compression="none", use_dictionary=False)
    start = ParquetFile(io.BytesIO(body)).metadata.row_group(0).column(2).data_page_offset
    with pytest.raises(InvalidRequest, match="damaged"):
        read(body[:start] + header + body[start + len(header) :], "parquet")


def lying(body: bytes, count: int, claimed: int) -> bytes:
    """A file whose footer claims another number in each place of one."""

    def varint(number: int, length: int = 0) -> bytes:
        groups = [number * 2 >> 7 * place & 127 for place in range(max(length, ((number * 2).bit_length() + 6) // 7))]
        return bytes(group | 128 for group in groups[:-1]) + bytes(groups[-1:])

    start = len(body) - 8 - int.from_bytes(body[-8:-4], "little")
    footer, true = body[start:-8], varint(count)
    assert true in footer
    footer = footer.replace(true, varint(claimed, len(true)))
    return body[:start] + footer + len(footer).to_bytes(4, "little") + body[-4:]


def test_the_footer_of_a_parquet_file_is_not_believed():
    """Sizes are those of the pages, and rows those that there are."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import ParquetFile

    text = pa.DictionaryArray.from_arrays(pa.array([0] * 50, pa.int32()), ["x" * 60_000_000])
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, "store_schema": False}
    body = written({"long": text}, **options)
    group = ParquetFile(io.BytesIO(body)).metadata.row_group(0)
    for true in (group.total_byte_size, group.column(2).total_uncompressed_size):
        body = lying(body, true, 1_000)
    assert ParquetFile(io.BytesIO(body)).metadata.row_group(0).total_byte_size == 1_000
    with pytest.raises(InvalidRequest, match="more than 200 times its size"):
        read(body, "parquet")
    rows = written({"word": ["a"] * 5_000})
    packed = ParquetFile(io.BytesIO(rows)).metadata.row_group(0).column(2).total_compressed_size
    for claimed in (1_000_000_000, 5_001):
        with pytest.raises(InvalidRequest, match="damaged"):
            read(lying(rows, 5_000, claimed), "parquet")
    with pytest.raises(InvalidRequest, match="damaged: a column does not lie within the file"):
        read(lying(rows, packed, packed + 2_000_000_000), "parquet")


def test_a_small_parquet_file_does_not_become_large():
    pa = pytest.importorskip("pyarrow")
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 50, pa.int32()), ["x" * 1_000_000])
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, "store_schema": False}
    rows = read(written({"long": text}, **options), "parquet", row_bytes=100_000)
    assert rows == [(line, "the row is longer than 100000 bytes") for line in range(1, 51)]
    many = written({f"c{place}": text for place in range(20)}, **options)
    with pytest.raises(InvalidRequest, match="more than 200 times its size"):
        read(many, "parquet")
