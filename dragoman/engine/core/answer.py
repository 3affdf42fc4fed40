"""What answers are made of: plain dataclasses, whose fields that were not asked for are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Self


class _LeftOut(Enum):
    """The type of :data:`LEFT_OUT`, which is false, and stays the one that it is when an answer is copied."""

    LEFT_OUT = "left out"

    def __bool__(self) -> bool:
        return False


LEFT_OUT: Any = _LeftOut.LEFT_OUT
"""A field of an answer that was not asked for; null, that there is nothing to say in it, is something else."""


def left_out() -> Any:
    """The default of a field that is left out of the answer unless it is set."""
    return LEFT_OUT


class Answer:
    """The base of all parts of answers: the docstrings of their fields describe them to clients too."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"use_attribute_docstrings": True}


@dataclass
class Degraded(Answer):
    """A stage that did less than requested, and why."""

    stage: str
    reason: str
    collection: str = field(default_factory=left_out)
    """The collection that it is about, where it is about one."""
    missing_share: float = field(default_factory=left_out)
    """The share of the collection's documents that the stage did without, about."""

    cause = "other"
    """The kind of the reason, for counting; clients do not see it."""

    @classmethod
    def of(
        cls, stage: str, reason: str, cause: str, collection: str = LEFT_OUT, missing_share: float = LEFT_OUT
    ) -> Self:
        """A degraded stage; ``cause`` is the kind of the reason, an ``error_type`` or another constant."""
        degraded = cls(stage, reason, collection, missing_share)
        degraded.cause = cause
        return degraded


def fields_of(answer: Any) -> Any:
    """An answer as JSON is made of: dictionaries, without the fields that are left out, lists, texts and numbers."""
    kind: Any = type(answer)
    if kind in _PLAIN:
        return answer
    if kind is list or kind is tuple:
        return [content if type(content) in _PLAIN else fields_of(content) for content in answer]
    if kind is dict:
        return {name: fields_of(content) for name, content in answer.items()}
    if (named := _named_fields(kind)) is not None:
        present: dict[str, Any] = {}
        names, contents_of = named
        for name, content in zip(names, contents_of(answer), strict=True):  # an answer has hundreds of parts
            if type(content) in _PLAIN:
                present[name] = content
            elif content is not LEFT_OUT:
                present[name] = fields_of(content)
        return present
    return answer.isoformat().replace("+00:00", "Z") if isinstance(answer, datetime) else answer


_PLAIN = frozenset({str, int, float, bool, type(None)})


@cache
def _named_fields(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]] | None:
    """The fields of a dataclass, and what reads all of them at once; None for anything else."""
    if not is_dataclass(kind):
        return None
    names = tuple(part.name for part in fields(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda answer: tuple(getattr(answer, name) for name in names)


def as_json(answer: Any) -> bytes:
    """An answer as JSON, without white space; a number that is none, or infinite, is null."""
    from pydantic_core import to_json  # no part of the base, where answers are not sent

    return to_json(fields_of(answer), inf_nan_mode="null")


def significant(probability: float) -> float:
    """A probability rounded for display; tables store about seven digits."""
    return float(f"{probability:.6g}")
