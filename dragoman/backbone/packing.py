"""Rows of tokens packed for inference, without padding between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from dragoman.backbone.encoder import Pair
from dragoman.backbone.post_norm import Tokens

_SMALL = 128
"""Tokens of a few queries at most."""


def padded_size(size: int) -> int:
    """The tokens of a batch on a CPU, whose kernels are rebuilt for each new size: some more, so that sizes are few.

    Those of queries are few by themselves, and so much padding would be a third of their work.
    """
    multiple = 4 if size <= _SMALL else 32
    return -(-size // multiple) * multiple


def pack_rows(pairs: Sequence[Pair], pad: int, device: torch.device) -> Tokens:
    """Rows packed without padding between them; a CPU batch is padded at its end, to limit the number of sizes."""
    lengths = [len(pair.ids) for pair in pairs]
    size = sum(lengths)
    if device.type == "cpu":
        size = padded_size(size)

    def concatenate(rows: Iterable[Iterable[int]], fill: int) -> Tensor:
        padded = np.full(size, fill)
        values = np.fromiter(chain.from_iterable(rows), np.int64)
        padded[: len(values)] = values
        return torch.from_numpy(padded).to(device)

    has_segments = pairs[0].segments is not None
    return Tokens(
        concatenate([pair.ids for pair in pairs], pad),
        concatenate([pair.positions or range(len(pair.ids)) for pair in pairs], 0),
        lengths,
        concatenate([pair.segments or () for pair in pairs], 0) if has_segments else None,
    )
