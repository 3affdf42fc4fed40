"""A linear-chain conditional random field (Lafferty et al. 2001), exact, batched, and masked.

Shapes: B rows, L positions, K labels. A row's positions are the first of it, and each row has one at least.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Crf(nn.Module):
    """Scores label sequences by their emissions, the transitions between neighbours, and those at both ends."""

    def __init__(self, labels: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(labels, labels).uniform_(-0.1, 0.1))
        """(K, K), from a label to the next."""
        self.first = nn.Parameter(torch.empty(labels).uniform_(-0.1, 0.1))
        self.last = nn.Parameter(torch.empty(labels).uniform_(-0.1, 0.1))

    def log_likelihood(self, emissions: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """log p of the labels (B, L) of each row, (B,), given emissions (B, L, K) and a mask (B, L)."""
        return self._score(emissions, labels, mask) - self.log_partition(emissions, mask)

    def log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The logarithm of the sum over all label sequences, (B,)."""
        last = _at(self._forward(emissions, mask), mask.sum(1) - 1)
        return torch.logsumexp(last + self.last, dim=1)

    def _score(self, emissions: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        labels = labels.masked_fill(~mask, 0)
        emitted = emissions.gather(2, labels[..., None])[..., 0]
        between = self.transitions[labels[:, :-1], labels[:, 1:]]
        ends = self.first[labels[:, 0]] + self.last[_at(labels, mask.sum(1) - 1)]
        return (emitted * mask).sum(1) + (between * mask[:, 1:]).sum(1) + ends

    def _forward(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """alpha (B, L, K): of all beginnings that end in a label."""
        state = self.first + emissions[:, 0]
        states = [state]
        for place in range(1, emissions.shape[1]):
            after = torch.logsumexp(state[:, :, None] + self.transitions, dim=1) + emissions[:, place]
            state = torch.where(mask[:, place, None], after, state)
            states.append(state)
        return torch.stack(states, dim=1)

    def marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The probability of each label at each position, (B, L, K), 0 at padding: forward and backward sums.

        They are summed in float64: in float32 the sums over a long text are too coarse to tell probabilities.
        """
        dtype, emissions = emissions.dtype, emissions.double()
        forward = self._forward(emissions, mask)
        state = self.last.double().expand(emissions.shape[0], -1)
        states = [state]
        for place in range(emissions.shape[1] - 1, 0, -1):
            before = torch.logsumexp(self.transitions + (emissions[:, place] + state)[:, None, :], dim=2)
            state = torch.where(mask[:, place, None], before, state)
            states.append(state)
        backward = torch.stack(states[::-1], dim=1)
        total = self.log_partition(emissions, mask)
        return ((forward + backward - total[:, None, None]).exp().clamp(max=1.0) * mask[..., None]).to(dtype)

    def best(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The likeliest labels (B, L) by Viterbi; 0 at padding."""
        state = self.first + emissions[:, 0]
        pointers = []
        labels = torch.arange(emissions.shape[2], device=emissions.device).expand_as(state)
        for place in range(1, emissions.shape[1]):
            score, pointer = (state[:, :, None] + self.transitions).max(dim=1)
            here = mask[:, place, None]
            state = torch.where(here, score + emissions[:, place], state)
            pointers.append(torch.where(here, pointer, labels))  # at padding a label stands for itself
        label = (state + self.last).argmax(dim=1)
        path = [label]
        for pointer in reversed(pointers):
            label = pointer.gather(1, label[:, None])[:, 0]
            path.append(label)
        return torch.stack(path[::-1], dim=1) * mask


def _at(values: Tensor, places: Tensor) -> Tensor:
    """values[b, places[b]] of each row."""
    return values[torch.arange(len(values), device=values.device), places]
