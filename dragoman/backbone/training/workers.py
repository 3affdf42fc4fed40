"""The processes of one training: one, or as many as torchrun started, which share their gradients."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Mapping, Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor


class Workers:
    """This process's number among `count`, and its device."""

    def __init__(self, rank: int, count: int, device: torch.device) -> None:
        self.rank, self.count, self.device = rank, count, device

    @classmethod
    def join(cls, device: str | None = None) -> Workers:
        """Meet the processes that torchrun started, if any; without `device` (cpu or cuda) take the best there is."""
        count, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        if chosen == "cuda" and count > 1:
            chosen = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        if count > 1:
            if chosen.startswith("cuda"):
                torch.cuda.set_device(chosen)
            # the others wait for the first one to prepare the text, which may take hours
            dist.init_process_group("nccl" if chosen.startswith("cuda") else "gloo", timeout=timedelta(days=1))
        return cls(rank, count, torch.device(chosen))

    @property
    def first(self) -> bool:
        return self.rank == 0

    def wait(self) -> None:
        """Return once every process is here."""
        if self.count > 1:
            dist.barrier()

    def leave(self) -> None:
        if self.count > 1:
            dist.destroy_process_group()

    def share_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Replace each gradient by its mean over all processes; one missing somewhere counts as zero there.

        One missing everywhere stays missing: the optimizer must leave its parameter alone, as it does in one process.
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
        """Means over all processes of those `names` that any process has a (sum, count) of."""
        totals = torch.tensor([sums.get(name, (0.0, 0)) for name in names], dtype=torch.float64, device=self.device)
        if self.count > 1:
            dist.all_reduce(totals)
        return {name: float(total / count) for name, (total, count) in zip(names, totals, strict=True) if count > 0}


_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Have this process keep what it frees for its next allocation, where its C library is glibc.

    By default each large tensor is fresh from the system, page by page and zeroed: on a CPU that is a third of a
    training step with 8,000 subwords, and almost half of one with 24,000.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
