"""Records of answers as they come over HTTP or from a library, and as tables of pandas."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")


def read(kind: type[T], answer: Mapping[str, Any]) -> T:
    """The record of an answer. Fields that the record lacks are left out: a newer service may say more."""
    kinds: Any = kind
    types_of = _types(kinds)
    return kind(**{name: _read(types_of[name], content) for name, content in answer.items() if name in types_of})


@cache
def _types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(annotation: Any, content: Any) -> Any:
    if content is None:
        return None
    if get_origin(annotation) in (Union, types.UnionType):
        return _read(next(member for member in get_args(annotation) if member is not type(None)), content)
    if get_origin(annotation) is list and is_dataclass(get_args(annotation)[0]):
        return [read(get_args(annotation)[0], part) for part in content]
    if is_dataclass(annotation) and isinstance(annotation, type):
        return read(annotation, content)
    return content


def to_frame(records: Sequence[Any], columns: Sequence[str] | None = None) -> DataFrame:
    """A row a record, in columns named as its attributes.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    import pandas

    return pandas.DataFrame([asdict(record) for record in records], columns=columns)
