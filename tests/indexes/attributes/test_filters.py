"""Filters as the index evaluates them, against what the contract says of them in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as chances
from hypothesis import strategies as st

from dragoman.indexes.attributes.filters import (
    MOST_CONDITIONS,
    MOST_LEVELS,
    MOST_OPERANDS,
    FilterFault,
    parse_filter,
)
from dragoman.indexes.attributes.values import LONGEST_OPERAND, LONGEST_PATH, encode_attributes
from dragoman.indexes.documents import IndexRow
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.indexes.lucene.sharded_index import ShardedIndex, open_index
from tests.support.filtering import FILTERS, LINES, LONG, Document, matches

pytestmark = pytest.mark.slow

AnyIndex = LuceneIndex | ShardedIndex
STEPS = st.one_of(
    st.tuples(st.just("write"), st.lists(st.tuples(st.integers(1, 9), LINES), min_size=1, max_size=6)),
    st.tuples(st.just("delete"), st.lists(st.integers(1, 9), min_size=1, max_size=3)),
    st.tuples(st.just("reopen"), st.none()),
)


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as opened:
        yield opened


def row(key: int, document: Document) -> IndexRow:
    line = encode_attributes(document["id"], document["language"], document["title"], document["metadata"])
    return IndexRow(key, document["language"], "", "", "", line)


def left(index: AnyIndex, filter: Any) -> list[int]:
    def named(_: object) -> list[int]:
        return []

    return list(map(int, index.select_keys(parse_filter(filter).program(named)).keys))


def check(index: AnyIndex, present: dict[int, Document], filters: list[dict[str, Any]]) -> None:
    index.refresh()
    for filter in filters:
        for _ in range(2):  # as it is computed, and as it is kept
            expected = sorted(key for key, document in present.items() if matches(document, filter))
            assert left(index, filter) == expected, filter


@chances(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(STEPS, min_size=1, max_size=5),
    filters=st.lists(FILTERS, min_size=6, max_size=12),
    shards=st.integers(1, 3),
)
def test_an_index_leaves_what_the_contract_says(
    tmp_path: Path, pool: ThreadPoolExecutor, steps: list[Any], filters: list[dict[str, Any]], shards: int
) -> None:
    folder = tmp_path / uuid4().hex
    folder.mkdir()
    present: dict[int, Document] = {}
    index = open_index(folder, pool, shards)
    try:
        for step, subject in steps:
            if step == "write":
                index.write([row(key, document) for key, document in dict(subject).items()])
                present |= dict(subject)
            elif step == "delete":
                index.delete(subject)
                present = {key: document for key, document in present.items() if key not in subject}
            else:
                index.commit(1)
                index.close()
                index = open_index(folder, pool, shards)
            check(index, present, filters[:3])
        check(index, present, filters)
    finally:
        index.close()


def test_fields_beyond_the_first_hundreds_are_filtered_alike(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    long = "é" * 500  # a name as long as it may be, in bytes with what is before it
    values: list[Any] = [1, -2.5, True, "ab", "2020-02-29", ["ab", 3], LONG, None, {"a": 1}]
    documents = {
        key: {
            "id": str(key),
            "language": "de",
            "title": None,
            "metadata": {f"f{place}{long if place == 599 else ''}": values[(place + key) % 9] for place in range(600)},
        }
        for key in range(1, 4)
    }
    names = ["f0", "f1", "f598", f"f599{long}", "f600"]
    conditions: list[Any] = [
        1,
        "ab",
        {"$lt": 2},
        {"$contains": "yy"},
        {"$endsWith": "b"},
        {"$in": [True, "2020-02-29T00:00"]},
    ]
    conditions += [{"$exists": False}, {"$contains": 3}, {"$gt": "a"}, {"$startsWith": "xx"}]
    with open_index(tmp_path, pool, 1) as index:
        index.write([row(key, document) for key, document in documents.items()])
        check(index, documents, [{name: condition} for name in names for condition in conditions])
        documents[2] = {**documents[2], "metadata": {"f1": "ab", "f599": "ab"}}
        index.write([row(2, documents[2])])
        check(index, documents, [{name: condition} for name in names for condition in conditions])


def test_a_path_that_is_too_long_is_not_indexed(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    metadata = {"a" * LONGEST_PATH: 1, "b" * (LONGEST_PATH + 1): 1, "c": {"d" * LONGEST_PATH: 1}}
    document = {"id": "1", "language": "de", "title": None, "metadata": metadata}
    with open_index(tmp_path, pool, 1) as index:
        index.write([row(1, document)])
        index.refresh()
        assert left(index, {"a" * LONGEST_PATH: 1}) == [1] and left(index, {"c": {"$exists": True}}) == [1]
    with pytest.raises(FilterFault, match=r"^filter\.b{100}\.\.\.: a name of 1001 characters"):
        parse_filter({"b" * (LONGEST_PATH + 1): 1})


WRONG: list[tuple[Any, str]] = [
    ([], "filter: must be an object"),
    ({"": 1}, "filter.: '' is no field"),
    ({"$nor": [{}]}, "filter.$nor: there is no operator"),
    ({"a": None}, "filter.a: null is no value"),
    ({"a": [1]}, "filter.a: must be a string, a number or a boolean, not a list"),
    ({"a": {}}, "filter.a: an object without an operator"),
    ({"a": {"b": 1}}, "filter.a.b: there is no operator 'b'"),
    ({"a": {"$in": 1}}, "filter.a.$in: must be a list"),
    ({"a": {"$in": [1, {}]}}, "filter.a.$in[1]: "),
    ({"a": {"$exists": 1}}, "filter.a.$exists: must be true or false"),
    ({"a": {"$startsWith": 1}}, "filter.a.$startsWith: must be a string"),
    ({"a": {"$contains": "x" * (LONGEST_OPERAND + 1)}}, "filter.a.$contains: 2001 characters"),
    ({"$and": []}, "filter.$and: must be a list of filters, at least one"),
    ({"$or": [{}, {"a": {"$gt": None}}]}, "filter.$or[1].a.$gt: null"),
    ({"$not": {"$and": [{"a": {"$not": 1}}]}}, "filter.$not.$and[0].a.$not: must be an object of operators"),
    ({"entities": {"$gt": "x"}}, "filter.entities.$gt: entities have"),
    ({"entities": 1}, "filter.entities: a name is a string"),
    ({"a": {"$in": list(range(MOST_OPERANDS + 1))}}, "filter.a.$in: more than 10000 values"),
    ({"a": {"$in": ["x" * 600_000, "y" * 600_000]}}, "filter.a.$in: the filter's texts have more than 1000000"),
    ({f"f{place}": 1 for place in range(MOST_CONDITIONS + 1)}, "filter.f1000: more than 1000 conditions"),
    ({"\n\x01" * 200: {}}, "filter."),
]


@pytest.mark.parametrize(("filter", "message"), WRONG, ids=lambda part: part[:40] if isinstance(part, str) else "")
def test_a_filter_that_is_none_names_its_path(filter: Any, message: str) -> None:
    with pytest.raises(FilterFault) as fault:
        parse_filter(filter)
    assert str(fault.value).startswith(message) and len(str(fault.value)) < 1_000


def test_a_filter_may_be_nested_so_deep_and_no_deeper() -> None:
    deep: Any = {"a": 1}
    for _ in range(MOST_LEVELS):
        deep = {"$not": deep}
    parse_filter(deep)
    with pytest.raises(FilterFault, match=r"filter(\.\$not)+: nested deeper than 32 levels"):
        parse_filter({"$not": deep})


OPERATORS = ["$and", "$or", "$not", "$in", "$gt", "$contains", "$exists", "$x", "a"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(OPERATORS) | st.text(max_size=3), inner, max_size=3)
    ),
)


@given(JSON)
def test_what_is_no_filter_is_told_by_its_path(content: Any) -> None:
    try:
        program = parse_filter(content).program(lambda names: [])
    except FilterFault as fault:
        assert str(fault).startswith("filter") and ": " in str(fault)
    else:
        assert program
