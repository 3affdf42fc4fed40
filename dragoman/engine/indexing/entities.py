"""The names in the documents of collections that ask for them: found in the background, kept with the documents."""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

from dragoman.engine.core.errors import ClientDisconnected, NotFound, TooManyRequests, Unavailable
from dragoman.engine.indexing.entity_names import Mention, MentionField
from dragoman.engine.indexing.feed import KeyFilter
from dragoman.engine.indexing.follower import FollowedIndex, Follower
from dragoman.engine.indexing.sources import EntitySource, SourceDocument
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.tagging import Tagging

logger = logging.getLogger("dragoman")

_DOCUMENTS_AT_ONCE = 16
_ATTEMPTS = 3
"""How often a document may take longer than it may, before it counts as failed: the worker may have been busy."""


@dataclass(slots=True)
class _Round:
    """How far a collection's documents have been read, and how many took too long."""

    last: int = 0
    late: int = 0


class _Late(Exception):
    """A document takes longer than it may."""


class Entities(FollowedIndex):
    """Reads documents for names. Every method may be called from any thread.

    What is read is stored at once, with the generation of its document; so nothing is lost in a crash, and nothing is
    to be saved or dropped.
    """

    def __init__(self, source: EntitySource, models: Models, seconds: float, keys: KeyFilter | None = None) -> None:
        """A document is read for names within ``seconds``, or tried again later; with ``keys``, only those."""
        self.source = source
        self._models = models
        self._seconds = seconds
        self._keys = keys
        self._rounds: dict[int, _Round] = {}
        self._late: Counter[tuple[int, int]] = Counter()
        """How often a generation of a document took longer than it may."""
        self.follower = Follower(self, "read for names")

    def start(self) -> None:
        """Read the documents that have not been read yet in the background, and those imported later."""
        self.follower.start(record.id for record in self.source.collections() if record.entities)

    def follow(self, collection: int) -> None:
        """A collection's documents have changed."""
        with suppress(NotFound):
            if self.follower.following and self.source.collection(collection).entities:
                self.follower.follow(collection)

    def open(self, collection: int) -> None:
        """Begin with the first document, or go on after the last that was read."""
        self._rounds.setdefault(collection, _Round())

    def apply(self, collection: int) -> bool:
        """Read the next documents that have not been read.

        Raises:
            TooManyRequests, Unavailable: they cannot be read now, or some took longer than they may.
            NotInstalled: there is no tagger.
        """
        progress = self._rounds.pop(collection)  # a fault begins a new round
        if not self.source.collection(collection).entities:  # turned off meanwhile
            return True
        documents = self.source.untagged_documents(collection, progress.last, _DOCUMENTS_AT_ONCE)
        if not documents:
            if progress.late:
                raise Unavailable(f"{progress.late} documents took longer than {self._seconds:g} seconds each")
            return True
        progress.last = documents[-1].key
        self._models.tagger("ner", lambda: self.follower.closing)  # loaded before the time of a document begins
        mentions: list[tuple[SourceDocument, list[Mention] | None]] = []
        for document in documents:
            if self._keys is not None and not self._keys(document.key):
                continue
            try:
                mentions.append((document, self._mentions(document)))
            except _Late:
                progress.late += 1
        self.source.put_mentions(
            collection, [document for document, _ in mentions], [in_document for _, in_document in mentions]
        )
        self._rounds[collection] = progress
        return False

    def _mentions(self, document: SourceDocument) -> list[Mention] | None:
        """The names in a document, None if the tagger cannot read it.

        Raises:
            TooManyRequests, Unavailable: it cannot be read now.
            ClientDisconnected: the service is stopping.
            _Late: it takes longer than it may, which has not happened often yet.
        """
        fields: dict[MentionField, str] = {"title": document.title or "", "text": document.text}
        started, place = time.monotonic(), (document.key, document.generation)
        try:
            tagging = Tagging(self._models.worker, "ner", list(fields.values()), background=True)
            gather(tagging.futures, self._seconds, lambda: self.follower.closing)
        except ClientDisconnected:
            raise
        except (TooManyRequests, Unavailable) as fault:
            if self.follower.closing or time.monotonic() - started < self._seconds:
                raise
            self._late[place] += 1
            if self._late[place] < _ATTEMPTS:
                raise _Late from None
            self._give_up(document, fault)
            return None
        except Exception as fault:
            self._give_up(document, fault)
            return None
        self._late.pop(place, None)
        return [
            Mention(name, tag.start, tag.end, tag.label, round(tag.score, 4))
            for name, tags in zip(fields, tagging.results(), strict=True)
            for tag in tags
        ]

    def _give_up(self, document: SourceDocument, fault: Exception) -> None:
        self._late.pop((document.key, document.generation), None)
        logger.warning("document with key %s cannot be read for names: %s", document.key, fault)
