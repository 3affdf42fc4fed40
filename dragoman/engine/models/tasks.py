"""What the models are asked for, beside the tasks that each model's own module defines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Encode:
    """The task of encoding queries; a result is an :class:`EncodedQuery`."""

    long: bool = False
    """Whether they take so long that short ones should not wait for them."""


@dataclass(frozen=True, slots=True)
class Embed:
    """The task of encoding passages, each a :class:`PassageText`; a result is an :class:`Embedding`."""

    states: bool = False
    """Whether the states of their subwords are wanted too, quantised."""


@dataclass(frozen=True, slots=True)
class EmbedText:
    """The task of encoding texts for whoever asks for their vectors; a result is an :class:`EmbeddedText`."""

    kind: str
    """`query` or `passage`."""


@dataclass(frozen=True, slots=True)
class Score:
    """The task of scoring documents, each given as its passages paired with the query; a result is a score."""


@dataclass(frozen=True, slots=True)
class Load:
    """The task of loading a model, one of ``LOADERS``; the result describes it."""

    model: str
