"""Masking, the four losses, each against a plain computation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.backbone.tokenizer import BOS, EOS, MASK, PAD
from dragoman_lab.backbone import objectives
from dragoman_lab.backbone.corpus import Pairs
from dragoman_lab.backbone.objectives import (
    BILINGUAL_RATE,
    MONOLINGUAL_RATE,
    TEMPERATURE,
    MaskedSide,
    Side,
    concatenate,
    crop_pairs,
    hide,
    losses,
    mean_pool,
    pad,
    parse_objectives,
    translation_ranking,
)
from tests.backbone.samples import random_pairs, rows_of_ids, tiny

CPU = torch.device("cpu")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_rows_are_framed_and_padded() -> None:
    rows = rows_of_ids([3, 1])
    side = pad(rows)
    assert side.ids.tolist() == [[BOS, *rows[0], EOS], [BOS, *rows[1], EOS, PAD, PAD]]
    assert side.mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=5),
    st.sampled_from([MONOLINGUAL_RATE, BILINGUAL_RATE]),
    st.integers(0, 1000),
)
def test_a_share_of_each_row_is_hidden(lengths: list[int], rate: float, seed: int) -> None:
    side = pad(rows_of_ids(lengths, seed=seed))
    hidden = hide(side, rate, 300, seeded(seed))
    assert hidden.chosen.sum(1).tolist() == [max(1, round(length * rate)) for length in lengths]
    assert not hidden.chosen[side.ids < 5].any()
    assert torch.equal(hidden.targets, side.ids[hidden.chosen])
    assert torch.equal(hidden.side.ids[~hidden.chosen], side.ids[~hidden.chosen])
    assert torch.equal(hidden.side.mask, side.mask)


def test_rates() -> None:
    assert (MONOLINGUAL_RATE, BILINGUAL_RATE) == (0.15, 0.25)
    side = pad(rows_of_ids([100] * 200))
    hidden = hide(side, 0.25, 300, seeded())
    now = hidden.side.ids[hidden.chosen]
    assert len(now) == 5000
    assert float((now == MASK).float().mean()) == pytest.approx(0.8, abs=0.02)
    assert float((now == hidden.targets).float().mean()) == pytest.approx(0.1, abs=0.02)
    replaced = now[(now != MASK) & (now != hidden.targets)]
    assert len(replaced) / len(now) == pytest.approx(0.1, abs=0.02)
    assert int(replaced.min()) >= 5
    assert len(replaced.unique()) > 200
    columns = hidden.chosen.float().mean(0)[1:-1]  # no place is preferred
    assert float(columns.std()) < 0.06


def test_special_tokens_within_a_row_are_never_hidden() -> None:
    side = Side(torch.tensor([[1, 4, 4, 9, 2], [1, 4, 4, 2, 0]]), torch.tensor([[True] * 5, [True] * 4 + [False]]))
    for seed in range(20):
        hidden = hide(side, 0.25, 300, seeded(seed))
        assert hidden.chosen.tolist() == [[False, False, False, True, False], [False] * 5]


def test_concatenation_restarts_positions() -> None:
    x, y = rows_of_ids([3, 1, 2]), rows_of_ids([1, 4, 2], seed=1)
    both = concatenate(pad(x), pad(y))
    assert both.positions is not None
    for row in range(3):
        length = len(x[row]) + len(y[row]) + 4
        assert both.ids[row, :length].tolist() == [BOS, *x[row], EOS, BOS, *y[row], EOS]
        assert both.positions[row, :length].tolist() == [*range(len(x[row]) + 2), *range(len(y[row]) + 2)]
        assert both.mask[row].tolist() == [True] * length + [False] * (both.ids.shape[1] - length)
        assert not both.ids[row, length:].any()
    assert int(both.positions.max()) < 6


def at_masked(logits: Tensor, masked: MaskedSide) -> Tensor:
    """Mean over the hidden tokens of -log p, one by one."""
    found = []
    targets = iter(masked.targets.tolist())
    for row, column in torch.nonzero(masked.chosen).tolist():
        found.append(-logits[row, column].log_softmax(-1)[next(targets)])
    return torch.stack(found).mean()


@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_a_cropped_side_is_a_span_of_the_whole_and_the_other_stays(lengths: list[int], share: float, seed: int) -> None:
    x = [np.arange(length, dtype=np.int32) for length in lengths]
    y = [np.arange(100, 101 + length, dtype=np.int32) for length in lengths]
    got = crop_pairs(Pairs(x, y, ("en", "de")), share, seeded(seed))
    assert got.languages == ("en", "de")
    cut = 0
    for whole, part in zip([*zip(x, y, strict=True)], [*zip(got.x, got.y, strict=True)], strict=True):
        same = [np.array_equal(one, other) for one, other in zip(whole, part, strict=True)]
        assert any(same)
        cut += not all(same)
        for one, other in zip(whole, part, strict=True):
            assert min(len(one), max(1, int(0.3 * len(one)))) <= len(other) <= len(one)
            assert not len(other) or np.array_equal(other, np.arange(other[0], other[0] + len(other)))
    assert share > 0 or not cut


def test_about_the_given_share_is_cropped() -> None:
    rows = [np.arange(50, dtype=np.int32)] * 2000
    got = crop_pairs(Pairs(rows, rows, ("en", "de")), 0.5, seeded(3))
    assert 900 < sum(len(x) + len(y) < 100 for x, y in zip(got.x, got.y, strict=True)) < 1100
    assert 400 < sum(len(x) < 50 for x in got.x) < 600


def test_each_loss_against_a_plain_one() -> None:
    model, pairs = tiny(), random_pairs()
    got = losses(model, pairs, ("is", "cs", "tlm", "contrastive"), seeded(3), CPU, sentence_layer=1)
    generator, sides = seeded(3), [pad(pairs.x), pad(pairs.y)]
    x, y = (hide(side, 0.25, 300, generator) for side in sides)
    both = hide(concatenate(*sides), 0.25, 300, generator)
    states_x, states_y = (model.encode(one.side.ids, one.side.mask) for one in (x, y))
    by_encoder = at_masked(model.predict(states_x[-1]), x) + at_masked(model.predict(states_y[-1]), y)
    y_given_x = model.decode(y.side.ids, y.side.mask, states_x[-1], x.side.mask)
    x_given_y = model.decode(x.side.ids, x.side.mask, states_y[-1], y.side.mask)
    by_decoder = at_masked(model.predict(y_given_x), y) + at_masked(model.predict(x_given_y), x)
    together = model.encode(both.side.ids, both.side.mask, both.side.positions)[-1]
    pooled = [
        [states[1][row][one.side.mask[row]].mean(0) for row in range(4)]
        for states, one in ((states_x, x), (states_y, y))
    ]
    torch.testing.assert_close(got["is"], by_encoder)
    torch.testing.assert_close(got["cs"], by_decoder)
    torch.testing.assert_close(got["tlm"], at_masked(model.predict(together), both))
    torch.testing.assert_close(got["contrastive"], ranked(*pooled))


def ranked(x: list[Tensor], y: list[Tensor]) -> Tensor:
    """LaBSE's ranking loss both ways, pair by pair."""
    total = torch.tensor(0.0)
    for queries, answers in ((x, y), (y, x)):
        for row, query in enumerate(queries):
            scores = [torch.cosine_similarity(query, answer, dim=0) / TEMPERATURE for answer in answers]
            total = total - torch.stack(scores).log_softmax(0)[row] / len(queries)
    return total


def test_ranking_prefers_the_translation() -> None:
    eye = torch.eye(4)
    assert float(translation_ranking(eye, eye)) < 1e-6 < 10 < float(translation_ranking(eye, eye.roll(1, 0)))
    states = torch.randn(2, 3, 4, generator=seeded())
    pooled = mean_pool(states, torch.tensor([[True, True, False], [True, False, False]]))
    torch.testing.assert_close(pooled[0], torch.nn.functional.normalize(states[0, :2].mean(0), dim=0))
    torch.testing.assert_close(pooled[1], torch.nn.functional.normalize(states[1, 0], dim=0))


def test_raw_text_has_no_parallel_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    plain = objectives.hide
    monkeypatch.setattr(objectives, "hide", lambda side, rate, *rest: rates.append(rate) or plain(side, rate, *rest))
    pairs = random_pairs()
    names = parse_objectives(["is", "cs", "tlm", "contrastive"])
    raw = losses(tiny(), Pairs(pairs.x, pairs.y, ("en",)), names, seeded(), CPU)
    assert set(raw) == {"is", "cs"}
    assert rates == [MONOLINGUAL_RATE] * 2
    assert set(losses(tiny(), pairs, names, seeded(), CPU)) == set(names)
    assert rates[2:] == [BILINGUAL_RATE] * 3


def test_only_hidden_tokens_count() -> None:
    """The loss's gradient reaches the output bias through the places of hidden tokens alone."""
    model, pairs = tiny(), random_pairs()
    loss = losses(model, pairs, ("is",), seeded(3), CPU)["is"]
    gradient = torch.autograd.grad(loss, model.prediction_bias)[0]
    generator = seeded(3)
    wanted = torch.cat([hide(pad(side), 0.25, 300, generator).targets for side in (pairs.x, pairs.y)])
    assert set(torch.nonzero(gradient < 0).flatten().tolist()) <= set(wanted.tolist())
    assert float(gradient.sum()) == pytest.approx(0, abs=1e-5)


def test_a_batch_without_a_token_to_hide_has_a_loss() -> None:
    unknown = [np.asarray([4, 4], dtype=np.int32)]
    found = losses(tiny(), Pairs(unknown, unknown, ("en", "de")), ("is", "cs", "tlm"), seeded(), CPU)
    assert all(float(loss.detach()) == 0 for loss in found.values())


@pytest.mark.parametrize("names", [[], ["mlm"], ["is", "xlm"]])
def test_unknown_objectives_are_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="objectives must be some of is, cs, tlm, contrastive"):
        parse_objectives(names)
