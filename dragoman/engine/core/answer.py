"""What answers are made of: plain dataclasses, whose fields that were not asked for are left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any, ClassVar, Self


class _LeftOut:
    """The type of :data:`LEFT_OUT`, which is false."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "LEFT_OUT"


LEFT_OUT: Any = _LeftOut()
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

    cause = "other"
    """The kind of the reason, for counting; clients do not see it."""

    @classmethod
    def of(cls, stage: str, reason: str, cause: str) -> Self:
        """A degraded stage; ``cause`` is the kind of the reason, an ``error_type`` or another constant."""
        degraded = cls(stage, reason)
        degraded.cause = cause
        return degraded


def fields_of(answer: Any) -> Any:
    """An answer as JSON is made of: dictionaries, without the fields that are left out, lists, texts and numbers."""
    if is_dataclass(answer):
        present = ((part.name, getattr(answer, part.name)) for part in fields(answer))
        return {name: fields_of(content) for name, content in present if content is not LEFT_OUT}
    if isinstance(answer, list | tuple):
        return [fields_of(content) for content in answer]
    if isinstance(answer, Mapping):
        return {name: fields_of(content) for name, content in answer.items()}
    return answer.isoformat().replace("+00:00", "Z") if isinstance(answer, datetime) else answer


def as_json(answer: Any) -> str:
    """An answer as JSON, without white space."""
    return json.dumps(fields_of(answer), ensure_ascii=False, separators=(",", ":"))
