"""Batches of as many subwords as memory holds, and the decimals of scores."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

T = TypeVar("T")

TOKENS_AT_ONCE = 1_024
"""Padded tokens per batch: more would not fit into CPU caches and run at half the speed."""
TOKENS_AT_ONCE_ON_GPU = 32_768
LEAST_TOKENS_AT_ONCE = 128
DECIMALS = 5
"""Decimals of scores: further ones depend on the rest of the batch, so equal documents would differ."""

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "could not create a primitive")
"""Error messages of the GPU and CPU allocators, and of oneDNN."""

logger = logging.getLogger("dragoman")


def while_memory_lasts(compute: Callable[[int], T], tokens: int) -> T:
    """`compute` in batches of `tokens` subwords, or of half as many, and so on, where memory runs out."""
    while True:
        try:
            return compute(tokens)
        except (RuntimeError, MemoryError) as fault:
            if not _out_of_memory(fault) or tokens <= LEAST_TOKENS_AT_ONCE:
                raise
        tokens //= 2
        logger.warning("out of memory: retrying with batches of %d subwords", tokens)
        _release_cached_memory()


def _out_of_memory(fault: Exception) -> bool:
    """NumPy's and Python's own allocations, and PyTorch's where C++ finds no memory, raise `MemoryError`."""
    return isinstance(fault, MemoryError) or any(message in str(fault) for message in _OUT_OF_MEMORY)


def _release_cached_memory() -> None:
    """Free the memory that the GPU allocator caches, after a batch that did not fit."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
