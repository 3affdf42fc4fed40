"""How many hits a search without a rerank field has reranked: measured once, so that all its pages agree.

The measure is a sample of documents, scored when the reranker is first used. Longer documents count for several: those
that are reranked have no more characters than as many documents of the sample.
"""

from __future__ import annotations

from threading import Lock

from dragoman.engine.core.priority import in_background
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.rerank.reranking import Reranking

MOST = 50
"""The greatest depth of searches without a rerank field; that of background work, which nobody waits for."""
_SAMPLES, _ROUNDS = 8, 3
"""Documents that are scored at a time, and how often, to measure the speed; the fastest round counts."""
_SHARE = 0.5
"""Of the budget, for documents like those of the sample. The rest is for texts of more subwords, and a busy hour."""
_TEXT = """
In the year of the great flood the people of the valley moved their houses to the hills and built a wall of stone along
the river. The wall stood for two hundred years. Travellers who came through the mountains described its seven gates,
the market below the tower and the bridge with its eleven arches, which was repaired whenever the snow melted early.
Today a museum near the station shows what was left when the railway arrived: three of the gates, coins, letters and the
oldest map of the region, drawn by a monk who had never been there himself and asked the merchants for the names.
"""
SAMPLE_CHARS = len(_TEXT)
"""Characters of a document of the sample."""


class RerankDepth:
    """The depth that the latency budget allows. Safe from any thread."""

    def __init__(self, reranking: Reranking, budget_seconds: float) -> None:
        self._reranking = reranking
        self._budget = budget_seconds
        self._measured: int | None = None
        self._lock = Lock()

    @property
    def most(self) -> int:
        """The depth, or the greatest that may be measured."""
        return MOST if self._measured is None or in_background() else self._measured

    def measure(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> int:
        """The depth, measured now if it was not before, in about ``seconds``.

        Raises:
            ServiceError: the reranker cannot score the sample now.
        """
        if in_background():
            return MOST
        with self._lock:
            if self._measured is None:
                words = _TEXT.split()
                texts = [" ".join(words[start:] + words[:start]) for start in range(_SAMPLES)]
                spent = min(self._reranking.time(texts, cancelled, seconds) for _ in range(_ROUNDS))
                self._measured = max(1, min(MOST, int(_SHARE * self._budget * _SAMPLES / max(spent, 1e-9))))
            return self._measured
