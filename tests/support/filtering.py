"""Filters over documents as the contract describes them, in plain Python, and generated documents and filters.

A path may go through keys with dots; a list's elements match for it, and its texts are searched for members alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]
"""As a line of an import, with a language."""

EXACT = 1 << 63
OWN = ("id", "language", "title")
_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(\.\d{1,9})?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
Leaf = tuple[Any, bool]
"""A value, and whether it is an element of a list."""


def instant(text: str) -> Fraction | None:
    """The seconds from 1970 to a date."""
    if (match := _DATE.fullmatch(text)) is None:
        return None
    date, time, second, fraction, zone = match.groups()
    zone = (zone or "Z") if len(zone or "") != 3 else f"{zone}:00"
    try:
        moment = datetime.fromisoformat(f"{date}T{time or '00:00'}:{second or '00'}{zone}")
    except ValueError:
        return None
    offset = moment.utcoffset()
    assert offset is not None
    passed = moment.replace(tzinfo=None) - datetime(1970, 1, 1)
    return passed.days * 86_400 + passed.seconds - Fraction(offset.total_seconds()) + Fraction(fraction or 0)


def matches(document: Document, filter: dict[str, Any]) -> bool:
    """Whether a filter leaves a document."""
    return all(_entry(document, name, content) for name, content in filter.items())


def _entry(document: Document, name: str, content: Any) -> bool:
    if name == "$and":
        return all(matches(document, part) for part in content)
    if name == "$or":
        return any(matches(document, part) for part in content)
    if name == "$not":
        return not matches(document, content)
    return _conditions(document, name, content if isinstance(content, dict) else {"$eq": content})


def _conditions(document: Document, field: str, conditions: dict[str, Any]) -> bool:
    return all(
        not _conditions(document, field, operand)
        if operator == "$not"
        else _condition(document, field, operator, operand)
        for operator, operand in conditions.items()
    )


def _condition(document: Document, field: str, operator: str, operand: Any) -> bool:
    nodes = list(_nodes(document, field))
    if operator == "$exists":
        return bool(nodes) is operand
    leaves = [leaf for node in nodes for leaf in _leaves(node)]
    if operator in ("$ne", "$nin"):
        return not _condition(document, field, {"$ne": "$eq", "$nin": "$in"}[operator], operand)
    if operator == "$in":
        return any(_equal(value, other) for value, _ in leaves for other in operand)
    if operator == "$contains":
        return any(
            _equal(value, operand) if element else _is_text(value, operand) and operand in value
            for value, element in leaves
        )
    return any(_TESTS[operator](value, operand) for value, _ in leaves)


def _nodes(document: Document, field: str) -> Iterator[Any]:
    """What a field's name leads to."""
    if field in OWN:
        if document.get(field) is not None:
            yield document[field]
        return
    yield from _below(document.get("metadata") or {}, field.removeprefix("metadata."))


def _below(node: Any, path: str) -> Iterator[Any]:
    if isinstance(node, list):
        for inner in node:
            yield from _below(inner, path)
    elif isinstance(node, dict):
        for name, inner in node.items():
            if name == path and inner is not None:
                yield inner
            if path.startswith(f"{name}."):
                yield from _below(inner, path[len(name) + 1 :])


def _leaves(node: Any, element: bool = False) -> Iterator[Leaf]:
    if isinstance(node, list):
        for inner in node:
            yield from _leaves(inner, True)
    elif node is not None and not isinstance(node, dict):
        yield node, element


def _is_text(*values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _kind(value: Any) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


def _number(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > EXACT:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value


def _pair(value: Any, operand: Any) -> tuple[Any, Any] | None:
    """A value and what it is compared with, or None where they are of two types."""
    if _kind(value) is not _kind(operand):
        return None
    if not _is_text(value):
        return _number(value), _number(operand)
    if instant(operand) is None:
        return value.encode(), operand.encode()
    return None if instant(value) is None else (instant(value), instant(operand))


def _equal(value: Any, operand: Any) -> bool:
    pair = _pair(value, operand)
    return pair is not None and pair[0] == pair[1]


def _compared(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(value: Any, operand: Any) -> bool:
        pair = _pair(value, operand)
        return pair is not None and test(*pair)

    return compare


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$gt": _compared(lambda value, operand: value > operand),
    "$gte": _compared(lambda value, operand: value >= operand),
    "$lt": _compared(lambda value, operand: value < operand),
    "$lte": _compared(lambda value, operand: value <= operand),
    "$startsWith": lambda value, operand: _is_text(value) and value.startswith(operand),
    "$endsWith": lambda value, operand: _is_text(value) and value.endswith(operand),
}

NAMES = st.sampled_from(["a", "b", "é", "a.b", "id", "title", "metadata", "", "日"])
INTEGERS = st.sampled_from(
    [0, 1, -1, EXACT, EXACT - 1, EXACT + 1, 2 * EXACT, -EXACT, 1 - EXACT, 10**400, 2**53, 2**53 + 1]
)
FLOATS = st.sampled_from([0.0, -0.0, 0.5, 1.0, float(EXACT), float(2**53), 1e300, -1e300, 5e-324])
DATES = st.sampled_from(
    ["2020-02-29", "2020-02-29T00:00Z", "2020-02-29 01:00:00+01", "2020-02-28T23:59:59.999999999Z", "0001-01-01",
     "2020-02-28T19:00:00-0500", "2020-02-29T00:00:00.5", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59.5Z",
     "2020-02-30", "2020-2-29", "2020-02-29T24:00", "2020-02-29Z", "2020-02-29T00:00+23:59"]
)  # fmt: skip
LONG = "x" * 27_999 + "日" + "y" * 20_000
_LONG_TEXTS = [LONG, LONG + "z", LONG[:28_000]]
LONG_TEXTS = st.integers(0, 2).map(lambda place: _LONG_TEXTS[place])
TEXTS = st.sampled_from(["", "a", "ab", "b", "A", "é", "日本", "x", "y", "1", "true"]) | LONG_TEXTS
SCALARS = st.one_of(st.booleans(), INTEGERS, FLOATS, DATES, TEXTS)
VALUES = st.recursive(
    st.none() | SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
METADATA = st.none() | st.dictionaries(NAMES, VALUES, max_size=4)
LINES = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b", "2020-02-29", "日"]),
        "language": st.sampled_from(["de", "ru"]),
        "title": st.none() | TEXTS | DATES,
        "metadata": METADATA,
    }
)
FIELDS = st.one_of(
    st.sampled_from(
        ["id", "language", "title", "metadata.id", "metadata.title", "metadata.", "metadata.metadata", "b.a"]
    ),
    NAMES.filter(bool),
    st.builds("{}.{}".format, NAMES, NAMES).filter(lambda name: name not in ("metadata.", ".")),
)
_SHORT = st.sampled_from(["", "a", "b", "x日", "日y", "yz", "2020", "Z", "xy"]) | st.just(2_000).map("y".__mul__)
_WITHIN = st.sampled_from(["$contains", "$startsWith", "$endsWith"])
_AMONG, _JOINING = st.sampled_from(["$in", "$nin"]), st.sampled_from(["$and", "$or"])
CONDITIONS = st.one_of(
    SCALARS,
    st.fixed_dictionaries({}, optional=dict.fromkeys(("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"), SCALARS))
    .filter(bool),
    st.builds(lambda operator, text: {operator: text}, _WITHIN, _SHORT),
    st.builds(lambda value: {"$contains": value}, SCALARS.filter(lambda value: value not in _LONG_TEXTS)),
    st.builds(lambda operator, values: {operator: values}, _AMONG, st.lists(SCALARS, max_size=4)),
    st.builds(lambda present: {"$exists": present}, st.booleans()),
)  # fmt: skip
FILTERS = st.recursive(
    st.dictionaries(FIELDS, CONDITIONS | st.builds(lambda inner: {"$not": inner}, CONDITIONS.filter(
        lambda inner: isinstance(inner, dict))), max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda operator, parts: {operator: parts}, _JOINING, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=4,
)  # fmt: skip
