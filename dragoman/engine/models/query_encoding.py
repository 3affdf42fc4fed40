"""Encoded queries: those asked lately from memory, the others from the worker.

An encoder and a text make a query's vector and states, and nothing else does: no table, and no document. So what is
remembered goes by the encoder's identity, which has a checksum of its weights, and the exact text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock

import regex

from dragoman.engine.core.errors import ServiceError
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.encoding import EncodedQuery, EncoderInfo
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.ahead import taken_ahead
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.settings import Settings

_ENTRY_BYTES = 1_000
"""About what an entry takes beside its arrays and its text."""
MOST_SYMBOLS = 100
"""What is neither letter, digit nor space is encoded so often in a query, and once more for each :data:`WORDY` other
characters: emoji are several rare subwords each, and ten thousand of them would take seconds."""
WORDY = 2
_SYMBOL = regex.compile(r"[^\p{L}\p{M}\p{N}\s]\p{M}*|(?<![\p{L}\p{M}\p{N}])\p{M}+")


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
        return taken_ahead(text) or self.begin_all([text])[0]

    def begin_all(self, texts: Sequence[str]) -> list[Future[EncodedQuery] | None]:
        """Start to encode queries together, as :meth:`begin` does one."""
        encoder: EncoderInfo | None = self._models.description("encoder")
        begun: list[Future[EncodedQuery] | None] = [None] * len(texts)
        unknown = [place for place, text in enumerate(texts) if encoder and self._recall(encoder, text) is None]
        with suppress(ServiceError):
            futures = self._models.begin_encodings([without_symbols(texts[place]) for place in unknown])
            for place, future in zip(unknown, futures, strict=True):
                begun[place] = future
        return begun

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
            future = self._models.begin_encoding(without_symbols(text)) if begun is None else begun
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


def without_symbols(text: str) -> str:
    """A query with spaces in place of the symbols after the first ones that are encoded, so that places stay."""
    left_out = _symbols_left_out(text)
    if not left_out:
        return text
    start = left_out[0].start()
    rest: str = _SYMBOL.sub(lambda symbol: " " * len(symbol[0]), text[start:])
    return text[:start] + rest


def describe_left_out(text: str) -> str | None:
    """What of a query is not encoded; None where all of it is."""
    left_out = _symbols_left_out(text)
    if not left_out:
        return None
    return f"the last {len(left_out)} symbols of the query, such as {left_out[0][0]!r}, are not read"


def _symbols_left_out(text: str) -> list[regex.Match[str]]:
    if len(text) <= MOST_SYMBOLS:
        return []
    symbols = list(_SYMBOL.finditer(text))
    most = MOST_SYMBOLS + (len(text) - sum(len(symbol[0]) for symbol in symbols)) // WORDY
    return symbols[most:]


def _size(text: str, query: EncodedQuery) -> int:
    """About the bytes that an encoded query takes."""
    arrays = query.vector.nbytes + query.states.nbytes + query.weights.nbytes
    return _ENTRY_BYTES + 4 * len(text) + arrays + 100 * len(query.offsets)
