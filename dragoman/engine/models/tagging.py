"""What the worker computes with taggers: names in texts, and parts of speech."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from dragoman.backbone.pretrained.packages import E5_SMALL
from dragoman.deadline import check_each
from dragoman.engine.core.errors import InternalError, InvalidRequest, NotInstalled
from dragoman.engine.models.readers import OFF
from dragoman.engine.settings import Settings
from dragoman.lexicon.text.offsets import Utf16
from dragoman.lexicon.text.passages import passages
from dragoman.tagging.shipped import find_shipped

if TYPE_CHECKING:
    from dragoman.tagging.tag import Tag
    from dragoman.tagging.tagger import Tagger

TaggerTask = Literal["ner", "pos"]

SHORT_QUERY = 1_000
"""Characters of a query from which on others should not wait until it is computed."""


@dataclass(frozen=True, slots=True)
class TagTexts:
    """The task of tagging texts; a result is the list of a text's tags."""

    task: TaggerTask
    query: bool = False
    """Whether a search waits for it, with a query that is not long."""


@dataclass(frozen=True, slots=True)
class TaggerInfo:
    """A tagger's name, and the languages of the texts that it learned from; none if it does not say."""

    name: str
    languages: frozenset[str] = frozenset()


class Submits(Protocol):
    """Takes the passages of a request; see :meth:`Worker.submit`."""

    def submit(self, task: TagTexts, contents: Sequence[str], background: bool = False) -> list[Future[Any]]: ...


class Tagging:
    """Texts that the worker tags passage by passage.

    So a long text takes time in proportion to its length, lets other requests in between, and is never longer than a
    tagger reads.
    """

    def __init__(
        self, worker: Submits, task: TaggerTask, texts: Sequence[str], *, background: bool = False, query: bool = False
    ) -> None:
        """Queue the passages of all texts.

        Raises:
            TooManyRequests: the queue is full.
            Unavailable: the worker is closed.
        """
        self._spans = [passages(text) for text in texts]
        parts = [text[start:end] for text, spans in zip(texts, self._spans, strict=True) for start, end in spans]
        work = TagTexts(task, query and sum(map(len, texts)) <= SHORT_QUERY)
        self.futures: list[Future[list[Tag]]] = worker.submit(work, parts, background=background)

    def results(self) -> list[list[Tag]]:
        """The tags of each text at their places in it, once all futures are done.

        Raises:
            Exception: that of the first future that failed.
        """
        done = iter(self.futures)
        return [
            [
                replace(tag, start=start + tag.start, end=start + tag.end)
                for start, _ in spans
                for tag in next(done).result()
            ]
            for spans in self._spans
        ]


def tagger_model(task: TaggerTask) -> str:
    """What the worker calls the tagger of a task."""
    return f"{task}_tagger"


def tagger_place(settings: Settings, task: TaggerTask) -> Path:
    """The folder of a tagger: the configured one, or that of the package.

    Raises:
        NotInstalled: it is off, or none is configured and none comes with this installation.
    """
    configured = settings.models.ner_tagger if task == "ner" else settings.models.pos_tagger
    variable = f"DRAGOMAN_{task.upper()}_TAGGER"
    if configured == OFF:
        raise NotInstalled(f"task: the tagger {task} is off: {variable} can name the folder of one")
    if configured is not None:
        return Path(configured)
    package_folder = find_shipped(task)
    if package_folder is None or E5_SMALL.find([settings.store.models_dir]) is None:
        raise NotInstalled(
            f"task: there is no tagger {task}: {E5_SMALL.install}, or set {variable} to the folder of a"
            " tagger that `dragoman train tagger` made"
        )
    return package_folder


def check_texts(texts: Sequence[str], settings: Settings) -> None:
    """
    Raises:
        InvalidRequest: the texts exceed the limits of one request.
    """
    if len(texts) > settings.tagging.tag_texts:
        raise InvalidRequest(f"texts: {len(texts)} of them; at most {settings.tagging.tag_texts} are allowed")
    if (chars := sum(map(len, texts))) > settings.tagging.tag_chars:
        raise InvalidRequest(
            f"texts: {chars} characters together; at most {settings.tagging.tag_chars} are allowed in a request"
        )


def load_tagger(settings: Settings, task: TaggerTask, shared: Callable[[str], tuple[Any, Any]]) -> Tagger:
    """The tagger of a task, above the encoder that searches use if it is the same.

    Raises:
        NotInstalled: there is none.
        CheckpointError: it cannot be loaded.
    """
    place = tagger_place(settings, task)
    from dragoman.backbone.checkpoints import CONFIG, read_json
    from dragoman.tagging import tagger

    encoder = str(read_json(place / CONFIG).get("encoder"))
    return tagger.load_tagger(place, shared(encoder)[0], settings.models.device or "cpu")


def count_in_utf16(texts: Sequence[str], results: Sequence[Sequence[Tag]]) -> list[list[Tag]]:
    """The tags of each text with their places counted in code units."""
    return [
        [replace(tag, start=counted.of(tag.start), end=counted.of(tag.end)) for tag in check_each(text_tags, 100)]
        for counted, text_tags in zip(map(Utf16, texts), results, strict=True)
    ]


def tags(tagger: Tagger, texts: Sequence[str]) -> list[list[Tag] | Exception]:
    """The tags of each text."""
    fault = InternalError("the tagger's score of a word is not a number")
    return [
        text_tags if all(math.isfinite(tag.score) for tag in text_tags) else fault for text_tags in tagger.tag(texts)
    ]
