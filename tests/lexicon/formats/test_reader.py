"""Every format, its faults with their lines and what was expected instead."""

import gzip
import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.formats.reader import (
    FORMATS,
    Choices,
    Detected,
    Header,
    Limits,
    Notice,
    RawEntry,
    ReadEvent,
    Rejection,
    TableFormatError,
    TableTooLarge,
    read,
)


def entries(text: str | bytes, format: str = "tsv", **limits: int) -> list[ReadEvent]:
    data = text.encode() if isinstance(text, str) else text
    return of_entries(read([data], format, Limits(**limits)))


def of_entries(items: Iterable[ReadEvent]) -> list[ReadEvent]:
    """The items without what was detected and noticed."""
    return [item for item in items if not isinstance(item, Detected | Notice)]


def reason(text: str, format: str = "tsv", **limits: int) -> str:
    """Why the second line of a file whose first is right is rejected."""
    first = {"jsonl": '{"source": "a", "target": "b"}', "csv": "a,b,1,1", "giza": "a b 1", "muse": "a b"}
    tsv = "a\tb\t1\t1"
    found = entries(f"{first.get(format, tsv)}\n{text}\n", format, **limits)
    assert len(found) == 2
    assert isinstance(found[0], RawEntry)
    assert isinstance(found[1], Rejection)
    assert found[1].line == 2
    return found[1].reason


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("tsv", "\ufeffhouse\tHaus\n\nhouse\t Gebäude \t0.25\nbig house\tHaus\t1e-1\t1\r\nx\ty\t\t.5"),
        ("csv", '\ufeffhouse,Haus\n\nhouse," Gebäude ",0.25\nbig house,"Haus",1e-1,1\r\nx,y,,.5'),
        (
            "jsonl",
            '{"source": "house", "target": "Haus"}\n\n'
            '{"source": "house", "target": "Geb\\u00e4ude", "probability": 0.25}\n'
            '{"source": "big house", "target": "Haus", "probability": 0.1, "inverse_probability": 1}\n'
            '{"target": "y", "source": "x", "probability": null, "inverse_probability": 0.5}',
        ),
    ],
)
def test_the_same_entries_in_every_tabular_format(format: str, text: str) -> None:
    expected = [
        RawEntry(1, "house", "Haus", None, None),
        RawEntry(3, "house", "Gebäude", 0.25, None),
        RawEntry(4, "big house", "Haus", 0.1, 1.0),
        RawEntry(5, "x", "y", None, 0.5),
    ]
    assert entries(text, format) == expected
    assert entries(gzip.compress(text.encode()), format) == expected


def test_giza_and_muse() -> None:
    assert entries("house Haus 0.5\nx  y\t1e-07\n", "giza") == [
        RawEntry(1, "house", "Haus", 0.5, None),
        RawEntry(2, "x", "y", 1e-07, None),
    ]
    assert entries("house Haus\nhouse\tGebäude\n", "muse") == [
        RawEntry(1, "house", "Haus", None, None),
        RawEntry(2, "house", "Gebäude", None, None),
    ]


def test_csv_quotes() -> None:
    assert entries('"a, b","say ""hi""",0.5\n', "csv") == [RawEntry(1, "a, b", 'say "hi"', 0.5, None)]


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_a_header_is_no_entry(format: str) -> None:
    separator = "\t" if format == "tsv" else ","
    text = separator.join(["Source", "target", "p_target_given_source"]) + "\n" + separator.join("ab") + "\n"
    assert entries(text, format) == [
        Header(("Source", "target", "p_target_given_source")),
        RawEntry(2, "a", "b", None, None),
    ]


@pytest.mark.parametrize(
    ("format", "first", "columns"),
    [
        ("tsv", "src\ttgt", ("src", "tgt")),
        ("tsv", "EN\tde\t\tx", ("EN", "de", "x")),
        ("csv", '"English", German ,probability', ("English", "German", "probability")),
        ("giza", "source target probability", ("source", "target", "probability")),
        ("muse", "source target", ("source", "target")),
    ],
)
def test_a_header_of_any_columns_is_told(format: str, first: str, columns: tuple[str, ...]) -> None:
    rest = {"tsv": "a\tb", "csv": "a,b", "giza": "a b 1", "muse": "a b"}[format]
    header, entry = of_entries(read([f"{first}\n{rest}\n".encode()], format, languages=("en", "de")))
    assert header == Header(columns)
    assert isinstance(entry, RawEntry)


def test_only_the_first_line_is_a_header_and_only_in_these_languages() -> None:
    assert entries("a\tb\nsource\ttarget\n")[1] == RawEntry(2, "source", "target", None, None)
    found = of_entries(read([b"it\tes\n"], "tsv", languages=("en", "de")))
    assert found == [RawEntry(1, "it", "es", None, None)]


@pytest.mark.parametrize(
    ("format", "line", "expected"),
    [
        ("tsv", "house", "expected 2 to 4 columns separated by tabs (source, target, P(target|source), "),
        ("tsv", "house\tHaus\twiktionary", "P(target|source) must be a number between 0 and 1, not 'wiktionary'"),
        ("tsv", "house\tHaus\t1_0", "must be a number"),
        ("tsv", "house\tHaus\t０.５", "must be a number"),
        ("tsv", "house\t", "the target is empty"),
        ("tsv", "\u3000\tHaus", "the source is empty"),
        ("tsv", "a\tb\tNaN", "P(target|source) is NaN"),
        ("tsv", "a\tb\t0.5\t-inf", "P(source|target) is -inf"),
        ("tsv", "a\tb\t1e999", "P(target|source) is inf"),
        ("tsv", "a\tb\t-0.25", "P(target|source) is negative: '-0.25'"),
        ("tsv", "a\tb\t0.5\t1.01", "P(source|target) is over 1: '1.01'"),
        ("tsv", "a\x07\tb", "the source holds the control character U+0007"),
        ("tsv", "a\tb\u2028c", "the target holds the control character U+2028"),
        ("tsv", "a\tb\x00", "the target holds the control character U+0000"),
        ("csv", '"a,b', "not CSV: unexpected end of data"),
        ("csv", '"a"b,c', "not CSV: ',' expected after '\"'"),
        ("csv", "a b", "expected 2 to 4 columns separated by commas"),
        ("giza", "a b", "expected 3 columns separated by spaces (source, target, P(target|source)), found 2"),
        ("giza", "NULL b 0.1", "NULL stands for no word"),
        ("muse", "new york b", "expected 2 columns separated by a space (source, target), found 3"),
        ("jsonl", "{", "not JSON"),
        ("jsonl", "[" * 30_000, "not JSON"),
        ("jsonl", "[1]", "not a JSON object"),
        ("jsonl", '{"source": "a"}', "the field target is missing"),
        ("jsonl", '{"source": "a", "target": 1}', "target must be a string"),
        ("jsonl", '{"source": "a", "source": "b", "target": "c"}', "given twice"),
        ("jsonl", '{"source": "a", "target": "c", "probability": NaN}', "NaN is not a number between 0 and 1"),
        ("jsonl", '{"source": "a", "target": "c", "probability": -Infinity}', "-Infinity is not a number"),
        ("jsonl", '{"source": "a", "target": "c", "probability": true}', "probability must be a number"),
        ("jsonl", '{"source": "a", "target": "c", "probability": "1"}', "probability must be a number"),
        ("jsonl", '{"source": "a", "target": "c", "probability": 1' + "0" * 400 + "}", "is inf"),
        ("jsonl", '{"source": "a", "target": "c", "inverse_probability": 2}', "P(source|target) is over 1"),
        ("jsonl", '{"source": "a\\ud800", "target": "c"}', "the source holds the lone surrogate U+D800"),
        ("jsonl", '{"source": "a", "target": "c\\u0000"}', "the target holds the control character U+0000"),
    ],
)
def test_faulty_lines_are_rejected_with_the_reason(format: str, line: str, expected: str) -> None:
    assert expected in reason(line, format)


def test_long_lines_and_terms_are_rejected() -> None:
    assert reason("a\t" + "b" * 100, line_bytes=100) == "longer than 100 bytes"
    assert reason("a\t" + "ü" * 21, term_characters=20) == "the target is longer than 20 characters"
    assert entries("a\t" + "ü" * 20, term_characters=20) == [RawEntry(1, "a", "ü" * 20, None, None)]


def test_a_reason_never_repeats_a_long_value() -> None:
    assert len(reason("a\tb\t" + "x" * 10_000)) < 200


def test_invalid_utf8_is_rejected_with_its_line() -> None:
    assert entries("ä\tößü\n".encode() + b"\xc3\x28\tc\nd\te\n") == [
        RawEntry(1, "ä", "ößü", None, None),
        Rejection(2, "not valid UTF-8"),
        RawEntry(3, "d", "e", None, None),
    ]


def test_a_file_without_an_entry_is_refused_with_its_first_faults() -> None:
    with pytest.raises(
        TableFormatError, match=r"no line of the file is an entry: line 3: expected.*; line 4: expected"
    ):
        entries("\n\nnothing\nelse\n")
    with pytest.raises(TableFormatError, match=r"line 5: expected 2 to 4 .* found 1; and 3 more$"):
        entries("nothing\n" * 8)
    with pytest.raises(TableFormatError, match="holds no entry"):
        entries("\n \n")


def test_too_many_entries_are_refused() -> None:
    with pytest.raises(TableTooLarge, match="line 3: the file holds more than 2 entries"):
        entries("a\tb\nc\td\ne\tf\n", entries=2)


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown table format 'xls': choose one of auto, tsv, csv, giza"):
        entries("a\tb", "xls")


values = st.none() | st.floats(0, 1)
terms = st.text(st.characters(categories=["L"]), min_size=1)


@given(st.lists(st.tuples(terms, terms, values, values), min_size=1, max_size=5))
def test_what_is_written_is_read(rows: list[tuple[str, str, float | None, float | None]]) -> None:
    expected = [RawEntry(i, *row) for i, row in enumerate(rows, start=1)]
    tsv = "".join("\t".join("" if v is None else str(v) for v in row) + "\n" for row in rows)
    keys = ("source", "target", "probability", "inverse_probability")
    choices = Choices(columns=keys, header=False)  # by itself a column of one word alone may be parts of speech
    assert of_entries(read([tsv.encode()], "tsv", choices=choices)) == expected
    jsonl = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)
    assert entries(jsonl, "jsonl") == expected


@given(st.sampled_from(FORMATS), st.binary(max_size=200))
def test_no_bytes_whatever_raise_anything_else(format: str, data: bytes) -> None:
    try:
        found = entries(data, format)
    except TableFormatError:
        return
    assert any(isinstance(item, RawEntry) for item in found)


@given(st.sampled_from(FORMATS), st.text(st.sampled_from('a,"\t {}:[]\\u0d8<>/&;é1.e-\n'), max_size=80))
def test_no_text_whatever_raises_anything_else(format: str, text: str) -> None:
    try:
        found = entries(text, format)
    except TableFormatError:
        return
    assert any(isinstance(item, RawEntry) for item in found)
