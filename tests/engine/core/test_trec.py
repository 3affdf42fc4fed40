from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.trec import RunLine, one_collection, trec_run

_names = st.text("ab.-", min_size=1, max_size=3)
_documents = st.tuples(_names, st.text(max_size=8))


@pytest.mark.parametrize(
    ("collections", "alone"), [(None, False), ([], False), (["a"], True), (["a", "a"], True), (["a", "b"], False)]
)
def test_ids_are_enough_where_one_collection_is_named(collections: list[str] | None, alone: bool) -> None:
    assert one_collection(collections) is alone


@given(st.sets(_documents, min_size=1, max_size=8))
def test_a_document_has_one_name_whatever_is_found_beside_it(documents: set[tuple[str, str]]) -> None:
    lines = [RunLine(collection, id, 1.0) for collection, id in documents]
    together = [line.split()[2] for line in trec_run("q", lines, "t", alone=False).splitlines()]
    each = [trec_run("q", [line], "t", alone=False).split()[2] for line in lines]
    assert together == each
    assert len(set(each)) == len(documents)


def test_a_run_of_one_collection_has_ids_alone() -> None:
    assert trec_run("q 1", [RunLine("c", "a/b %", 0.5)], "t", alone=True) == "q%201 Q0 a/b%20%25 1 0.5 t\n"
