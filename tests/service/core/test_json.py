from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.service.core.errors import MalformedBody
from dragoman.service.core.json import check_depth, check_text, check_value, parse

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
