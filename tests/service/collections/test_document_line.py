from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.service.collections.document_line import DocumentLine, LineRejected, parse_document

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


@given(TEXT, TEXT.filter(str.strip), st.none() | TEXT, st.sampled_from([None, "de", "zh", "bem"]))
def test_a_document_is_read_as_it_was_written(id, text, title, language):
    value = {"id": id, "text": text, "title": title, "language": language, "metadata": {"a": [1, id]}}
    for line in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        read = parse_document(line.encode(), 64)
        assert read == DocumentLine(id, text, title, language, {"a": [1, id]})


def test_only_id_and_text_are_needed():
    assert parse_document(b'{"id": "1", "text": "t"}', 64) == DocumentLine("1", "t", None, None, None)


@pytest.mark.parametrize(
    ("line", "id", "reason"),
    [
        ("{", None, "the line is not valid JSON: .* column 2"),
        ("[]", None, "a list, not an object"),
        ("12", None, "a number, not an object"),
        ("null", None, "null, not an object"),
        ('"x"', None, "a string, not an object"),
        ("{}", None, "id: missing"),
        ('{"id": "a"}', "a", "text: missing"),
        ('{"id": 7, "text": "t"}', None, "id: must be a string, not a number"),
        ('{"id": true, "text": "t"}', None, "id: must be a string, not a boolean"),
        ('{"id": "", "text": "t"}', None, "id: must not be empty"),
        ('{"id": "' + "x" * 513 + '", "text": "t"}', None, "id: longer than 512"),
        ('{"id": "..", "text": "t"}', None, "id: '..' cannot be part of an address"),
        ('{"id": "a\\u0000", "text": "t"}', None, "id: holds a NUL"),
        ('{"id": "\\ud800", "text": "t"}', None, "id: holds a lone surrogate"),
        ('{"id": "a", "text": null}', "a", "text: must be a string, not null"),
        ('{"id": "a", "text": "  \\n"}', "a", "text: must not be empty"),
        ('{"id": "a", "text": "x\\udc00"}', "a", "text: holds a lone surrogate at position 1"),
        ('{"id": "a", "text": "t", "title": 3}', "a", "title: must be a string"),
        ('{"id": "a", "text": "t", "language": "klingon"}', "a", "language: unknown language"),
        ('{"id": "a", "text": "t", "language": ["de"]}', "a", "language: must be a string"),
        ('{"id": "a", "text": "t", "metadata": []}', "a", "metadata: must be an object"),
        ('{"id": "a", "text": "t", "metadata": {"x": "\\u0000"}}', "a", "metadata: holds a NUL"),
        ('{"id": "a", "text": "t", "metadata": {"x": 1e999}}', "a", "metadata: "),
        ('{"id": "a", "text": "t", "titel": "x"}', "a", "unknown field 'titel'"),
        ('{"id": "a", "text": "t", "metadata": ' + '{"a":' * 70 + "1" + "}" * 71, None, "deeper than 64"),
    ],
)
def test_what_is_no_document_is_rejected_with_its_field(line, id, reason):
    with pytest.raises(LineRejected, match=reason) as caught:
        parse_document(line.encode(), 64)
    assert caught.value.id == id
