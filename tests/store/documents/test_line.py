from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.store.documents.line import DocumentLine, parse_document
from dragoman.store.line import LineRejected

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


@given(
    TEXT.filter(lambda id: id not in (".", "..")),
    TEXT.filter(str.strip),
    st.none() | TEXT,
    st.sampled_from([None, "de", "zh", "bem"]),
)
def test_a_document_is_read_as_it_was_written(id, text, title, language):
    value = {"id": id, "text": text, "title": title, "language": language, "metadata": {"a": [1, id]}}
    for line in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        read = parse_document(line.encode(), 64)
        assert read == DocumentLine(id=id, text=text, title=title, language=language, metadata={"a": [1, id]})


def test_only_id_and_text_are_needed():
    assert parse_document(b'{"id": "1", "text": "t"}', 64) == DocumentLine(id="1", text="t")


def test_an_empty_title_is_none():
    assert parse_document(b'{"id": "1", "text": "t", "title": ""}', 64).title is None


@pytest.mark.parametrize(
    ("line", "id", "reason"),
    [
        ("{", None, "the line is not valid JSON: .* line 1 column 1"),
        ("[]", None, "the line is not a JSON object"),
        ("12", None, "the line is not a JSON object"),
        ("null", None, "the line is not a JSON object"),
        ('"x"', None, "the line is not a JSON object"),
        ("{}", None, "id: Field required; text: Field required"),
        ('{"id": "a"}', "a", "text: Field required"),
        ('{"id": 7.5, "text": "t"}', None, "id: .* valid string"),
        ('{"id": true, "text": "t"}', None, "id: .* valid string"),
        ('{"id": "", "text": "t"}', None, "id: String should have at least 1 character"),
        ('{"id": "' + "x" * 513 + '", "text": "t"}', None, "id: longer than 512 characters"),
        ('{"id": "..", "text": "t"}', None, "id: '..' cannot be part of an address"),
        ('{"id": "a\\u0000", "text": "t"}', None, "id: holds a NUL"),
        ('{"id": "\\ud800", "text": "t"}', None, "id: holds a lone surrogate"),
        ('{"id": "a", "text": null}', "a", "text: .* valid string"),
        ('{"id": "a", "text": "  \\n"}', "a", "text: must not be blank"),
        ('{"id": "a", "text": "x\\udc00"}', "a", "text: holds a lone surrogate at position 1"),
        ('{"id": "a", "text": "t", "title": 3}', "a", "title: .* valid string"),
        ('{"id": "a", "text": "t", "language": "klingon"}', "a", "language: unknown language"),
        ('{"id": "a", "text": "t", "language": ["de"]}', "a", "language: .* valid string"),
        ('{"id": "a", "text": "t", "metadata": []}', "a", "metadata: .* valid dictionary"),
        ('{"id": "a", "text": "t", "title": "' + "x" * 10_001 + '"}', "a", "title: longer than 10000"),
        ('{"id": "a", "text": "t", "title": "\\udfff"}', "a", "title: holds a lone surrogate at position 0"),
        ('{"id": "a", "text": "t", "language": "\\ud800"}', "a", "language: "),
        ('{"id": "a", "text": "t", "metadata": {"\\ud800": 1}}', "a", "metadata: holds a lone surrogate"),
        ('{"id": "a", "text": "t", "metadata": {"x": ["\\ud800"]}}', "a", "metadata: holds a lone surrogate"),
        ('{"id": "a", "text": "t", "\\ud800": 1}', "a", "body: .*valid string"),
        ('{"id": "a", "text": "t", "language": "", "title": 1}', "a", "title: .*; language: unknown"),
        ('{"id": "a", "text": "t", "metadata": {"x": "\\u0000"}}', "a", "metadata: holds a NUL"),
        ('{"id": "a", "text": "t", "metadata": {"x": 1e999}}', "a", "metadata: "),
        ('{"id": "a", "text": "t", "titel": "x"}', "a", "titel: Extra inputs"),
        ('{"id": "a", "text": "t", "metadata": ' + '{"a":' * 70 + "1" + "}" * 71, None, "deeper than 64"),
    ],
)
def test_what_is_no_document_is_rejected_with_its_field(line, id, reason):
    with pytest.raises(LineRejected, match=reason) as caught:
        parse_document(line.encode(), 64)
    assert caught.value.id == id
