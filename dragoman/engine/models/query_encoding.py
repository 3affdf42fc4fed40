"""Encoded queries: those asked lately from memory, the others from the worker.

An encoder and a text make a query's vector and states, and nothing else does: no table, and no document. So what is
remembered goes by the encoder's identity, which has a checksum of its weights, and the exact text.
"""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock

from dragoman.engine.core.errors import ServiceError
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.encoding import EncodedQuery, EncoderInfo
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.settings import Settings

_ENTRY_BYTES = 1_000
"""About what an entry takes beside its arrays and its text."""


class QueryEncoding:
    """Encodes queries. Safe from any thread."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._seconds = settings.worker.worker_seconds
        self._most_bytes = settings.search.query_cache_bytes
        self._bytes = 0
        self._remembered: OrderedDict[tuple[str, str], EncodedQuery] = OrderedDict()
        """The last ones asked for come last."""
        self._lock = Lock()

    def begin(self, text: str) -> Future[EncodedQuery] | None:
        """Start to encode a query that will be asked for, while other work is done; whoever drops it cancels it.

        None where that is not possible: :meth:`encode` says why.
        """
        encoder: EncoderInfo | None = self._models.description("encoder")
        if encoder is None or self._recall(encoder, text) is not None:
            return None
        with suppress(ServiceError):
            return self._models.begin_encoding(text)
        return None

    def encode(
        self, encoder: EncoderInfo, text: str, begun: Future[EncodedQuery] | None, cancelled: Cancelled | None = None
    ) -> EncodedQuery:
        """A query's vector and states by the loaded ``encoder``, of what was ``begun`` if there is that.

        Raises:
            TooManyRequests: the worker's queue is full.
            Unavailable: it took too long.
        """
        query = self._recall(encoder, text) if begun is None else None
        if query is None:
            future = self._models.begin_encoding(text) if begun is None else begun
            query = gather([future], wait_limit(self._seconds), cancelled)[0]
            self._remember(encoder, text, query)
        return query

    def _recall(self, encoder: EncoderInfo, text: str) -> EncodedQuery | None:
        with self._lock:
            query = self._remembered.get((encoder.identity, text))
            if query is not None:
                self._remembered.move_to_end((encoder.identity, text))
            return query

    def _remember(self, encoder: EncoderInfo, text: str, query: EncodedQuery) -> None:
        with self._lock:
            if self._remembered.setdefault((encoder.identity, text), query) is not query:
                return
            self._bytes += _size(text, query)
            while self._bytes > self._most_bytes:
                (_, oldest_text), oldest = self._remembered.popitem(last=False)
                self._bytes -= _size(oldest_text, oldest)


def _size(text: str, query: EncodedQuery) -> int:
    """About the bytes that an encoded query takes."""
    arrays = query.vector.nbytes + query.states.nbytes + query.weights.nbytes
    return _ENTRY_BYTES + 4 * len(text) + arrays + 100 * len(query.offsets)
