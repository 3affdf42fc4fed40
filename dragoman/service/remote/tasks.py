"""What a worker is asked for beside the tasks of its models, and how its answers come."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.engine.core.errors import (
    Conflict,
    InternalError,
    InvalidRequest,
    NotInstalled,
    ServiceError,
    TooLarge,
    TooManyRequests,
    Unavailable,
)
from dragoman.engine.models.generation import Generate
from dragoman.engine.models.tagging import TagTexts, tagger_model
from dragoman.engine.models.tasks import Embed, EmbedText, Encode, Score
from dragoman.engine.models.translating import Translate

MESSAGE_TYPE = "application/octet-stream"
MESSAGE_BYTES = 384 * 1024**2
"""Largest message, of a request or a result."""
_ERRORS = {
    kind.__name__: kind for kind in (Conflict, InternalError, InvalidRequest, NotInstalled, TooLarge, Unavailable)
}
_OWN = (InvalidRequest, TooLarge)
"""Errors of whoever asks, whose messages name a field."""


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """The task of reading texts, each item a :class:`FindAnswers` or a :class:`JudgeStatement`."""

    model: str
    """The reader: `reader` or `statement_reader`."""


@dataclass(frozen=True, slots=True)
class FindWindow:
    """The task of finding the part of a text that is quoted to the LLM, each item a :class:`Window`."""


@dataclass(frozen=True, slots=True)
class Window:
    """A text and where its part begins that has so many tokens; see :meth:`Reasoner.window`."""

    text: str
    start: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a worker: a task, its items, how long whoever asks waits, and on whose behalf.

    ``expected`` is the mark of the model's description as the asker has it, None where it has none.
    """

    task: Any
    contents: list[Any]
    seconds: float | None = None
    background: bool = False
    caller: Hashable = None
    expected: str | None = None


def model_of(task: Any) -> str | None:
    """The model that a task needs; None for that of loading one."""
    if isinstance(task, Encode | Embed | EmbedText):
        return "encoder"
    if isinstance(task, TagTexts):
        return tagger_model(task.task)
    if isinstance(task, Generate | ReadTexts):
        return task.model
    if isinstance(task, Score):
        return "reranker"
    if isinstance(task, Translate):
        return "translator"
    return "reasoner" if isinstance(task, FindWindow) else None


@dataclass(frozen=True, slots=True)
class Described:
    """A loaded model's description, and a mark of it that another model's does not have."""

    info: Any
    mark: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text that is being generated, by the index of its item."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an item."""

    index: int
    content: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item has no result."""

    index: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, index: int, fault: BaseException) -> Failure:
        """The failure of an item; a fault that is no error of the service stays in the worker's log."""
        if not isinstance(fault, ServiceError):
            return cls(index, "InternalError", "the model failed on this text; the worker's log has the cause")
        return cls(index, type(fault).__name__, str(fault), dict(fault.headers))

    def error(self) -> ServiceError:
        """The error for whoever asked."""
        return error_of(self.kind, self.message, self.headers.get("Retry-After", ""))


def error_of(kind: str, message: str, retry_after: str) -> ServiceError:
    """A worker's error as the service's own."""
    if kind == TooManyRequests.__name__:
        return TooManyRequests(f"worker: {message}", int(retry_after) if retry_after.isdecimal() else 1)
    error = _ERRORS.get(kind, Unavailable)
    return error(message if error in _OWN or error is InternalError else f"worker: {message}")
