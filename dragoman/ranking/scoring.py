"""Scores of documents for a query: passages, batches by a budget of tokens, and MART's mean over a document's passages.

A document is read up to its first 800 subwords, in equal passages as long as the model reads beside the query; what
is left out is said, never hidden. Passages of all documents are sorted by length and batched by their padded tokens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches
from dragoman.ranking.about import DEFAULT, MartAbout
from dragoman.ranking.attention import Links
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.inference import for_inference
from dragoman.ranking.mart import Mart, Rows
from dragoman.ranking.matching import LateInteraction, load_late_interaction
from dragoman.ranking.mixing import Mixing
from dragoman.ranking.passages import Passage, Read, passages, truncated
from dragoman.ranking.structured import share

TOKENS_AT_ONCE = 1_024
"""Padded tokens of a batch: as many as stay in a processor's caches, beyond which it is half as fast."""
TOKENS_AT_ONCE_ON_GPU = 32_768
LEAST_TOKENS_AT_ONCE = 128
DECIMALS = 5
"""Of scores: beyond, what else is computed beside a document shows, and equal documents would differ."""

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory")
"""What a GPU's allocator says, and the processor's."""

logger = logging.getLogger("dragoman")


@dataclass(frozen=True)
class Score:
    """A document's score, and whether it was read only up to its first subwords."""

    value: float
    truncated: bool


class Scorer:
    """Scores documents with a model in evaluation mode, in the thread that calls; reading texts is any thread's."""

    def __init__(
        self,
        model: Mart,
        tokens_at_once: int | None = None,
        dtype: torch.dtype = torch.float32,
        match: LateInteraction | None = None,
    ) -> None:
        """`dtype` is that of the computation, where the encoder's layers are BERT's; `match` joins the score."""
        self.model, self.encoder, self._match = model.eval(), model.encoder, match
        self._states = for_inference(model, dtype) or partial(padded_states, model)
        self._surprisals = model.encoder.surprisals()
        self._device = next(model.parameters()).device.type
        on_gpu = self._device != "cpu"
        self._tokens = tokens_at_once or (TOKENS_AT_ONCE_ON_GPU if on_gpu else TOKENS_AT_ONCE)

    def rows(self, query: Read, documents: Sequence[Read], links: Sequence[Links]) -> list[list[Passage]]:
        """Each document's passages, and with its links to the query.

        Raises:
            QueryTooLong: there is no room for a passage beside the query.
        """
        found: list[list[Passage]] = [[] for _ in documents]
        for passage in passages(self.encoder, query, documents, links):
            found[passage.document].append(passage)
        return found

    def shares(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """What a structured query of each document by itself says of them, given as their passages."""
        return [round(share(document, self._surprisals), DECIMALS) for document in documents]

    def values(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """The scores of documents given as their passages, of any queries."""
        if not documents:
            return []
        tokens = self._tokens
        while (values := self._values(documents, tokens)) is None:
            tokens //= 2
            logger.warning("out of memory: the next batch is of %d subwords", tokens)
            self._forget_cached_memory()
        return [round(value, DECIMALS) for value in values]

    def _values(self, documents: Sequence[Sequence[Passage]], tokens: int) -> list[float] | None:
        """The scores; None where the memory was not enough and smaller batches may be."""
        rows = [passage for document in documents for passage in document]
        owner = [number for number, document in enumerate(documents) for _ in document]
        try:
            # Training measures under autocast: 16 bits are not what is served, and packed weights don't take them.
            with torch.inference_mode(), torch.autocast(self._device, enabled=False):
                values: list[float] = self.model(pooled(self._states, rows, tokens), owner).tolist()
                if self._match is None:
                    return values
                return [value + more for value, more in zip(values, self._match.added(documents, tokens), strict=True)]
        except RuntimeError as fault:
            if not any(sign in str(fault) for sign in _OUT_OF_MEMORY) or tokens <= LEAST_TOKENS_AT_ONCE:
                raise
            return None

    def score(self, query: Read, documents: Sequence[Read], links: Sequence[Links]) -> list[Score]:
        """A score for each document; it is the same, but for rounding, whatever else is scored beside it.

        Raises:
            QueryTooLong: there is no room for a passage beside the query.
        """
        values = self.values(self.rows(query, documents, links))
        return [Score(value, truncated(document)) for value, document in zip(values, documents, strict=True)]

    def _forget_cached_memory(self) -> None:
        """Give back what a GPU's allocator keeps, after a batch that did not fit."""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def load_scorer(
    name_or_path: str = DEFAULT, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> tuple[Scorer, MartAbout]:
    """A model ready to score, with what joins its scores, and how it is to be used; `mart` is the one shipped.

    Raises:
        CheckpointError: no such model, pickled weights, damaged or ill-fitting files.
    """
    model, about = load_mart(name_or_path, device)
    return Scorer(model, dtype=dtype, match=load_late_interaction(about, model.encoder, device)), about


def rows_of(encoder: Encoder, passages: Sequence[Passage], device: torch.device) -> Rows:
    """Passages that are read together, padded."""
    pairs = [one.pair for one in passages]
    length = max(len(pair.ids) for pair in pairs)
    positions = [pair.positions for pair in pairs if pair.positions is not None]
    segments = [pair.segments for pair in pairs if pair.segments is not None]
    return Rows(
        _padded([pair.ids for pair in pairs], length, encoder.pad, device),
        _padded([[1] * len(pair.ids) for pair in pairs], length, 0, device).bool(),
        Mixing.of([one.row for one in passages], length, device),
        _padded([[0] * pair.second for pair in pairs], length, 1, device),
        _padded(positions, length, 0, device) if positions else None,
        _padded(segments, length, 0, device) if segments else None,
    )


States = Callable[[Sequence[Passage]], Tensor]
"""Pooled states (B, W) of passages that are read together."""


def padded_states(model: Mart, passages: Sequence[Passage]) -> Tensor:
    """Pooled states by the model itself, which learns from them or has layers that are not BERT's."""
    return model.pooled(rows_of(model.encoder, passages, next(model.parameters()).device))


def pooled(states: States, passages: Sequence[Passage], tokens: int) -> Tensor:
    """The pooled states (passages, width) of passages, read in batches of like length of so many tokens."""
    order: list[int] = []
    parts = []
    for batch in batches([len(one.pair.ids) for one in passages], tokens):
        order += batch
        parts.append(states([passages[one] for one in batch]))
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return torch.cat(parts)[back.to(parts[0].device)]


def _padded(rows: Sequence[Sequence[int]], length: int, fill: int, device: torch.device) -> Tensor:
    return torch.tensor([[*row, *[fill] * (length - len(row))] for row in rows], device=device)
