"""What documents are called in the TREC run of a job."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.service.jobs.line import run_names
from dragoman.service.qa.schemas import QaRequest
from dragoman.service.rerank.schemas import RerankV1
from dragoman.service.search.schemas import SearchRequest


def names(documents: list[Any]) -> list[str]:
    found = run_names(RerankV1.model_validate({"query": "q", "documents": documents}))
    assert found is not None
    return json.loads(found)


def test_a_document_is_called_by_its_id_or_else_by_its_place() -> None:
    documents = [{"id": "a", "text": "x"}, {"_id": 7, "text": "x"}, "x", {"id": None, "_id": "b", "text": "x"}]
    assert names([*documents, {"id": True, "text": "x"}, {"id": "", "text": "x"}]) == ["a", "7", "2", "b", "4", "5"]


def test_documents_of_one_id_are_told_apart_by_their_places() -> None:
    assert names([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}, {"id": "1b", "text": "z"}]) == [
        "0:a",
        "1:a",
        "1b",
    ]
    assert names(["x", {"id": "0", "text": "y"}]) == ["0:0", "1:0"]


@given(st.lists(st.one_of(st.none(), st.integers(0, 4), st.text("a01:", max_size=4)), min_size=1, max_size=8))
def test_names_of_one_request_differ(ids: list[str | int | None]) -> None:
    found = names([{"id": id, "text": "x"} for id in ids])
    assert len(set(found)) == len(ids)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (SearchRequest(query="q", collections=["a", "a"]), '{"collection":"a"}'),
        (SearchRequest(query="q", collections=["a", "b"]), '{"collection":null}'),
        (SearchRequest(query="q"), '{"collection":null}'),
        (QaRequest(question="q", collections=["a"]), '{"collection":"a"}'),
        (QaRequest(question="q", context="c"), None),
    ],
)
def test_a_search_is_known_by_the_one_collection_that_it_names(
    request_: SearchRequest | QaRequest, expected: str | None
) -> None:
    assert run_names(request_) == expected
