"""The CRF against sums over all label sequences."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.tagging.crf import Crf

rows = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def made(labels: int, lengths: list[int], seed: int) -> tuple[Crf, torch.Tensor, torch.Tensor]:
    noise = torch.Generator().manual_seed(seed)
    crf = Crf(labels).double()
    with torch.no_grad():
        for one in crf.parameters():
            one.copy_(torch.randn(one.shape, generator=noise, dtype=torch.float64))
    emissions = torch.randn(len(lengths), max(lengths), labels, generator=noise, dtype=torch.float64)
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return crf, emissions, mask


def scores(crf: Crf, emissions: torch.Tensor) -> dict[tuple[int, ...], float]:
    """The score of each sequence of labels of one row without padding."""
    found = {}
    for labels in product(range(emissions.shape[1]), repeat=len(emissions)):
        score = float((crf.first[labels[0]] + crf.last[labels[-1]]).detach())
        score += sum(float(emissions[place, label]) for place, label in enumerate(labels))
        score += sum(float(crf.transitions[a, b].detach()) for a, b in pairwise(labels))
        found[labels] = score
    return found


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 3), rows, st.integers(0, 10_000))
def test_it_equals_sums_over_all_sequences(labels: int, lengths: list[int], seed: int) -> None:
    crf, emissions, mask = made(labels, lengths, seed)
    gold = torch.randint(labels, mask.shape, generator=torch.Generator().manual_seed(seed))
    likelihood = crf.log_likelihood(emissions, gold, mask).detach()
    best, marginals = crf.best(emissions, mask), crf.marginals(emissions, mask).detach()
    for row, length in enumerate(lengths):
        known = scores(crf, emissions[row, :length])
        total = torch.logsumexp(torch.tensor(list(known.values()), dtype=torch.float64), 0)
        own = tuple(gold[row, :length].tolist())
        assert float(likelihood[row]) == pytest.approx(known[own] - float(total))
        assert known[tuple(best[row, :length].tolist())] == pytest.approx(max(known.values()))
        for place in range(length):
            for label in range(labels):
                share = sum(
                    float(torch.exp(torch.tensor(score, dtype=torch.float64) - total))
                    for sequence, score in known.items()
                    if sequence[place] == label
                )
                assert float(marginals[row, place, label]) == pytest.approx(share)
    assert not best[~mask].any() and not marginals[~mask].any()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), rows, st.integers(0, 10_000))
def test_padding_and_other_rows_change_nothing(labels: int, lengths: list[int], seed: int) -> None:
    crf, emissions, mask = made(labels, lengths, seed)
    gold = torch.randint(labels, mask.shape, generator=torch.Generator().manual_seed(seed))
    noise = torch.randn(emissions.shape, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64) * 100
    changed = torch.where(mask[..., None], emissions, noise)
    torch.testing.assert_close(crf.log_likelihood(changed, gold, mask), crf.log_likelihood(emissions, gold, mask))
    assert torch.equal(crf.best(changed, mask), crf.best(emissions, mask))
    torch.testing.assert_close(crf.marginals(changed, mask), crf.marginals(emissions, mask))
    for row, length in enumerate(lengths):
        alone = emissions[row : row + 1, :length], mask[row : row + 1, :length]
        assert torch.equal(crf.best(*alone)[0], crf.best(emissions, mask)[row, :length])


def test_gradients_are_those_of_expected_counts() -> None:
    crf, emissions, mask = made(3, [4, 2], 5)
    emissions.requires_grad_(True)
    crf.log_partition(emissions, mask).sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(emissions.grad, crf.marginals(emissions, mask).detach())


def test_probabilities_of_a_long_text_are_probabilities() -> None:
    crf, emissions, mask = made(3, [5_000], 6)
    exact = crf.marginals(emissions, mask).detach()
    found = crf.float().marginals(emissions.float() * 10, mask).detach()
    assert found.dtype == torch.float32 and float(found.max()) <= 1
    torch.testing.assert_close(found.sum(-1), torch.ones(1, 5_000))
    rounded = crf.marginals(emissions.float(), mask).detach()
    torch.testing.assert_close(rounded.double(), exact, rtol=1e-4, atol=1e-5)
