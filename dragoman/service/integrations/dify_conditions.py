"""Dify's conditions on metadata as filters of the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from dragoman.engine.core.errors import InvalidRequest
from dragoman.indexes.attributes.values import LONGEST_OPERAND, LONGEST_PATH
from dragoman.store.validation import CONDITIONS, AtFirstFault, Text, TolerantBody

_VALUES = 1_000
_Text = Annotated[Text, Field(max_length=LONGEST_OPERAND)]
_Scalar = StrictBool | StrictInt | StrictFloat | _Text
_Filter = dict[str, Any]


_Name = Annotated[Text, Field(min_length=1, max_length=LONGEST_PATH + 1)]


class Condition(TolerantBody):
    """A condition on one field, or on any of several: Dify's page has a list of names, its program sends one."""

    name: _Name | Annotated[list[_Name], Field(min_length=1, max_length=CONDITIONS), AtFirstFault]
    comparison_operator: Annotated[Text, Field(max_length=100)]
    operand: _Scalar | Annotated[list[_Scalar], Field(max_length=_VALUES), AtFirstFault] | None = Field(
        default=None, alias="value"
    )


class MetadataCondition(TolerantBody):
    """Conditions, of which all or one have to hold."""

    logical_operator: Literal["and", "or"] | None = "and"
    conditions: Annotated[list[Condition], Field(max_length=CONDITIONS), AtFirstFault] | None = None


def read_conditions(condition: MetadataCondition) -> _Filter | None:
    """The filter that says the same; None where there are no conditions.

    Raises:
        InvalidRequest: an operator has no counterpart, or lacks its value; the message names it.
    """
    filters = [
        _read(each, f"metadata_condition.conditions[{place}]") for place, each in enumerate(condition.conditions or ())
    ]
    if not filters:
        return None
    return {"$or" if condition.logical_operator == "or" else "$and": filters}


def _read(condition: Condition, place: str) -> _Filter:
    operator = condition.comparison_operator.strip().lower()
    names = [condition.name] if isinstance(condition.name, str) else condition.name
    filters = [_read_one(name, operator, condition, place) for name in names]
    if len(filters) == 1:
        return filters[0]
    return {"$and" if operator in _NEGATIVE else "$or": filters}


def _read_one(name: str, operator: str, condition: Condition, place: str) -> _Filter:
    if operator in _PRESENCE:
        return _PRESENCE[operator](name)
    if operator not in _COMPARISONS:
        there = ", ".join([*_COMPARISONS, *_PRESENCE])
        raise InvalidRequest(f"{place}.comparison_operator: there is no {operator[:40]!r} here; there are {there}")
    if condition.operand is None:
        raise InvalidRequest(f"{place}.value: is missing, which {operator!r} compares with")
    if isinstance(condition.operand, list) and operator not in _OF_LISTS:
        raise InvalidRequest(f"{place}.value: is a list, which only {' and '.join(_OF_LISTS)} compare with")
    if operator == "not contains":
        return {"$not": {name: {"$contains": condition.operand}}}
    return {name: _COMPARISONS[operator](condition.operand)}


def _empty(name: str) -> _Filter:
    return {"$or": [{name: {"$exists": False}}, {name: {"$eq": ""}}]}


def _not_empty(name: str) -> _Filter:
    return {"$and": [{name: {"$exists": True}}, {"$not": {name: {"$eq": ""}}}]}


def _to_number(operand: Any) -> Any:
    """A text that is a number as one: Dify's forms send texts alone."""
    if not isinstance(operand, str):
        return operand
    for kind in (int, float):
        try:
            return kind(operand)
        except ValueError:
            continue
    return operand


def _either(operand: Any) -> list[Any]:
    """A number, written as a text as well."""
    as_number = _to_number(operand)
    return [as_number] if as_number is operand else [as_number, operand]


def _several(operand: Any) -> list[Any]:
    """The values of a list, which Dify may send as one text with commas."""
    if isinstance(operand, list):
        return operand
    return [part.strip() for part in operand.split(",") if part.strip()] if isinstance(operand, str) else [operand]


_Comparison = Callable[[Any], Mapping[str, Any]]
_COMPARISONS: dict[str, _Comparison] = {
    "contains": lambda operand: {"$contains": operand},
    "not contains": lambda operand: {"$contains": operand},  # negated as a whole
    "start with": lambda operand: {"$startsWith": operand},
    "end with": lambda operand: {"$endsWith": operand},
    "is": lambda operand: {"$eq": operand},
    "is not": lambda operand: {"$ne": operand},
    "in": lambda operand: {"$in": _several(operand)},
    "not in": lambda operand: {"$nin": _several(operand)},
    "=": lambda operand: {"$in": _either(operand)},
    "≠": lambda operand: {"$nin": _either(operand)},
    ">": lambda operand: {"$gt": _to_number(operand)},
    "<": lambda operand: {"$lt": _to_number(operand)},
    "≥": lambda operand: {"$gte": _to_number(operand)},
    "≤": lambda operand: {"$lte": _to_number(operand)},
    "before": lambda operand: {"$lt": _to_number(operand)},
    "after": lambda operand: {"$gt": _to_number(operand)},
}
_PRESENCE: dict[str, Callable[[str], _Filter]] = {
    "empty": _empty,
    "not empty": _not_empty,
    "null": lambda name: {name: {"$exists": False}},
    "not null": lambda name: {name: {"$exists": True}},
}
_OF_LISTS = ("in", "not in")
_NEGATIVE = ("not contains", "is not", "not in", "≠", "empty", "null")
"""Operators that have to hold of all names of a list; of the others one is enough."""
