from __future__ import annotations

import json
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import MalformedBody, TooLarge
from dragoman.engine.core.json import check_depth, check_text, check_value, count_values, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_valid_json_is_read_as_the_standard_library_does(value):
    assert parse(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), 64) is not ...
    assert parse(json.dumps(value).encode(), 64) == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "line 1 column 0"),
        (b'{"a": 1,\n "b": }', "line 2 column 7"),
        (b'{"a": 1} x', "line 1 column 10"),
        (b"{'a': 1}", "line 1 column 2"),
        (b'{"a": NaN}', "expected value at line 1 column 7"),
        (b"[-Infinity]", "invalid number at line 1 column 3"),
        (b'"\xff"', "not UTF-8: byte 1"),
        (b'"\xed\xa0\x80"', "not UTF-8: byte 1"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8: byte 0"),
        (b"[" * 100_000, "deeper than 64"),
        (b"[" * 65 + b"]" * 65, "deeper than 64"),
        (b'{"a":' * 66 + b"1" + b"}" * 66, "deeper than 64"),
        (b"[" * 200 + b"]" * 200, "deeper than 64"),
        (b"1" * 5000, "number out of range at line 1 column"),
        (b'{"a": "\\ud800", "b": }', "line 1 column 1[0-9]"),
        (b'["\\ud800", NaN]', "line 1 column"),
        (b'"\\ud800" "', "line 1 column"),
        (b'"\\ud8"', "line 1 column 6"),
        (b'["\\ud800", \xff]', "not UTF-8: byte 11"),
        (b'["\\ud800", ' + b"[" * 100_000, "line 1 column"),
        (b'["\\ud800", ' + b"[" * 65 + b"]" * 66, "deeper than 64"),
        (b'["\\ud800", ' + b"1" * 5000 + b"]", "line 1 column"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(body, message):
    with pytest.raises(MalformedBody, match=message):
        parse(body, 64)


@given(VALUES, st.lists(st.sampled_from(["\ud800", "a\udfffb"]), min_size=1, max_size=3), st.booleans())
def test_lone_surrogates_stay_for_validation_to_name_their_field(value, lone, first):
    value = [*lone, value] if first else [value, {"a": lone}]
    assert parse(json.dumps(value).encode(), 64) == value


def test_a_byte_order_mark_is_no_part_of_the_text():
    assert parse(b'\xef\xbb\xbf{"a": 1}', 64) == {"a": 1}
    assert parse(b'\xef\xbb\xbf{"a": "\\ud800"}', 64) == {"a": "\ud800"}
    with pytest.raises(MalformedBody, match="line 1 column 2"):
        parse(b"\xef\xbb\xbf{x", 64)


@given(st.integers(0, 30), st.integers(0, 30))
def test_depth_is_counted_in_nested_lists_and_objects(nested, allowed):
    value: object = 1
    for level in range(nested):
        value = [value, 0] if level % 2 else {"a": value}
    if nested > allowed:
        with pytest.raises(MalformedBody):
            check_depth(value, allowed)
    else:
        check_depth(value, allowed)


@given(st.text())
def test_text_that_can_be_encoded_is_returned_as_it_is(text):
    if "\0" not in text:
        assert check_text(text) == text


@pytest.mark.parametrize("bad", ["\0", "a\0b", "\ud800", "a\udfffb"])
def test_nul_and_lone_surrogates_are_refused_wherever_they_are(bad):
    with pytest.raises(ValueError, match="position"):
        check_text(bad)
    for value in ({"a": bad}, {bad: 1}, {"a": [{"b": ["x", bad]}]}):
        with pytest.raises(ValueError, match="holds a"):
            check_value(value)


def test_numbers_that_json_cannot_hold_are_refused():
    with pytest.raises(ValueError):
        check_value({"a": parse(b"[1e999]", 8)})


def test_a_backslash_before_u0000_is_not_a_nul():
    check_value({"a": "\\u0000"})


@given(VALUES)
def test_as_many_values_as_are_allowed_are_read(value):
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    assert parse(text, 64, values=4 * count_values(value) + 4) is not ...
    with pytest.raises(TooLarge):
        parse(json.dumps([value, *range(100)]).encode(), 64, values=100)


@given(st.text(alphabet='\\",:[]{}ab', max_size=30), st.integers(1, 40))
def test_what_strings_hold_is_not_counted(text, part):
    value = {text: [text, {text + "x": text}]}
    with mock.patch("dragoman.engine.core.json._PART_BYTES", part):
        assert parse(json.dumps(value).encode(), 64, values=14) == value


def test_the_field_of_too_many_values_is_named():
    with pytest.raises(TooLarge, match=r"^documents: "):
        parse(b'{"query": "' + b"a,b:c" * 100_000 + b'", "documents": [' + b"1," * 1_000 + b"1]}", 64, values=500)


@given(VALUES, st.text(), st.booleans())
def test_a_field_that_stands_twice_is_refused_wherever_it_stands(value, name, escaped):
    first = json.dumps(name, ensure_ascii=True)
    again = "".join(f"\\u{ord(one):04x}" for one in name) if escaped and name.isascii() else first[1:-1]
    body = f'{{"x{first[1:-1]}": [{{{first}: {json.dumps(value)}, "{again}": 1}}]}}'
    with pytest.raises(MalformedBody, match="occurs twice"):
        parse(body.encode(), 64)


@given(VALUES)
def test_values_are_counted_with_names(value):
    def count(value):
        if isinstance(value, dict):
            return 1 + len(value) + sum(map(count, value.values()))
        return 1 + sum(map(count, value)) if isinstance(value, list) else 1

    assert count_values(value) == count(value)
