"""The processes of a training: one, or those started by torchrun, which average their gradients."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")


class Workers:
    """The rank of this process among `count` processes, and its device."""

    def __init__(self, rank: int, count: int, device: torch.device) -> None:
        self.rank, self.count, self.device = rank, count, device

    @classmethod
    def join(cls, device: str | None = None) -> Workers:
        """Join the processes started by torchrun, if any; default `device`: cuda if available, else cpu."""
        count, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        if chosen == "cuda" and count > 1:
            chosen = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        if count > 1:
            if chosen.startswith("cuda"):
                torch.cuda.set_device(chosen)
            # the first process prepares the text, which may take hours
            dist.init_process_group("nccl" if chosen.startswith("cuda") else "gloo", timeout=timedelta(days=1))
        return cls(rank, count, torch.device(chosen))

    @property
    def first(self) -> bool:
        return self.rank == 0

    def wait(self) -> None:
        """Wait for all processes."""
        if self.count > 1:
            dist.barrier()

    def after_first(self, make: Callable[[], T]) -> T:
        """What `make` gives; the first process calls it before the others, which find what it wrote to disk."""
        if not self.first:
            self.wait()
        result = make()
        if self.first:
            self.wait()
        return result

    def leave(self) -> None:
        if self.count > 1:
            dist.destroy_process_group()

    def share_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Replace each gradient by its mean over all processes; a missing gradient counts as zero.

        A gradient that is missing everywhere stays missing: the optimizer must skip its parameter, as in one process.
        """
        if self.count == 1:
            return
        present = torch.tensor([float(p.grad is not None) for p in parameters], device=self.device)
        dist.all_reduce(present)
        parameters = [p for p, anywhere in zip(parameters, present.tolist(), strict=True) if anywhere]
        if not parameters:
            return
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])
        dist.all_reduce(flat)
        flat /= self.count
        for parameter, part in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
            parameter.grad = part.view_as(parameter)

    def means(self, names: Sequence[str], sums: Mapping[str, tuple[float, int]]) -> dict[str, float]:
        """Means over all processes of the `names` for which any process has a (sum, count)."""
        totals = torch.tensor([sums.get(name, (0.0, 0)) for name in names], dtype=torch.float64, device=self.device)
        if self.count > 1:
            dist.all_reduce(totals)
        return {name: float(total / count) for name, (total, count) in zip(names, totals, strict=True) if count > 0}


_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Make glibc keep freed memory for later allocations; no effect with other C libraries.

    By default each large tensor gets new zeroed pages from the system. On a CPU this takes a third of a training step
    with 8,000 subwords, and almost half of one with 24,000.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
