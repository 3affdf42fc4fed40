"""What the worker computes with a reader: the spans of texts that answer questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.service.core.errors import InternalError, NotInstalled
from dragoman.service.core.settings import Settings

if TYPE_CHECKING:
    from dragoman.reasoning.inference import SpanScorer
    from dragoman.reasoning.reading import Part
    from dragoman.reasoning.spans import Span

NO_READER = "there is no reader: set DRAGOMAN_READER to the folder of a model that `dragoman train qa` made"


@dataclass(frozen=True, slots=True)
class Read:
    """The task of reading windows of texts, each a :class:`Part`; a result is the list of its best spans."""


def reader_place(settings: Settings) -> str:
    """The folder of the reader.

    Raises:
        NotInstalled: none is configured; none comes with the package yet.
    """
    if settings.reader is None:
        raise NotInstalled(NO_READER)
    return settings.reader


def load_reader(settings: Settings) -> SpanScorer:
    """The configured reader.

    Raises:
        NotInstalled: none is configured.
        CheckpointError: it cannot be loaded.
    """
    place = reader_place(settings)
    from dragoman.reasoning.inference import SpanScorer

    return SpanScorer(Path(place), settings.device)


def spans(scorer: SpanScorer, parts: Sequence[Part]) -> list[list[Span] | Exception]:
    """The best spans of each part."""
    from dragoman.reasoning.reading import spans_of

    fault = InternalError("the reader's score of a text is not a number")
    found = spans_of(scorer, parts)
    return [own if all(math.isfinite(one.score) for one in own) else fault for own in found]
