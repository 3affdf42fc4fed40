"""What the readers are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.lexicon.text.offsets import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class QaQuery:
    """A question or a statement, and where to look: a context, or collections; all of them where neither is given."""

    question: str | None = None
    statement: str | None = None
    context: str | None = None
    collections: Sequence[str] | None = None
    filter: Mapping[str, Any] | None = None
    question_language: str | None = None
    context_language: str | None = None
    reader_languages: Sequence[str] | None = None
    gloss: bool | None = None
    """None: answers in another language than the question have glosses, where tables have their words."""
    translate: bool = False
    """Whether the sentences of answers are translated into the question's language."""
    offsets: Unit = "codepoint"

    @property
    def asked(self) -> str:
        """The question or the statement."""
        return self.question or self.statement or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonQuery:
    """A question for the LLM, and the collections whose best documents are quoted to it."""

    question: str
    language: str | None = None
    collections: Sequence[str] | None = None
    filter: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    """None: the service's limit."""
    temperature: float = 0.0
    """0 takes the likeliest token; else tokens are drawn."""
    offsets: Unit = "codepoint"
