"""What is answered to what is typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dragoman.engine.core.answer import Answer, left_out


@dataclass(slots=True)
class Completion(Answer):
    """What could be meant: the title of a document, or the query with a term of a table."""

    text: str
    kind: Literal["title", "term"]
    translation: str = field(default_factory=left_out)
    """The most probable translation of the term into a language of the documents. Titles have none, and terms that are
    in a language of the documents themselves may have none."""


@dataclass(slots=True)
class Correction(Answer):
    """Another spelling of a word that no table has."""

    text: str
    """The whole query with it."""
    word: str
    """The word as it was typed."""
    correction: str
    """The term of a table, as it is written there."""


@dataclass(slots=True)
class SuggestResponse(Answer):
    """Completions, at most ten, and other spellings."""

    request_id: str
    completions: list[Completion]
    spelling: list[Correction]
    """For words that no table has, the last one apart where a term begins with it; the nearest first."""
