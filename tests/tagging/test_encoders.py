"""Encoders of words: what each knows of order, and that rows do not see their neighbours in a batch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.tagging.encoders import FARTHEST, KINDS, POSITION_SIZE, Attention, EncoderConfig, WordEncoder, sinusoids

WIDTH = 16
LENGTHS = [5, 2, 7]


def encoder(kind: str, **changes: Any) -> WordEncoder:
    torch.manual_seed(3)
    config = EncoderConfig(kind, **({"heads": 2, "width": WIDTH, "layers": 2} | changes))
    return WordEncoder(6, config, torch.randn(9, WIDTH)).double().eval()


def batch() -> tuple[Tensor, Tensor]:
    noise = torch.Generator().manual_seed(1)
    states = torch.randn(len(LENGTHS), max(LENGTHS), 6, generator=noise, dtype=torch.float64)
    return states, torch.arange(max(LENGTHS))[None] < torch.tensor(LENGTHS)[:, None]


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_the_same_alone_and_whatever_stands_in_its_padding(kind: str) -> None:
    model = encoder(kind)
    states, mask = batch()
    found = model(states, mask)
    other = model(torch.where(mask[..., None], states, 9.0), mask)
    for row, length in enumerate(LENGTHS):
        alone = model(states[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(found[row, :length], alone[0])
        torch.testing.assert_close(other[row, :length], alone[0])


@pytest.mark.parametrize(("kind", "kernel", "knows"), [
    ("oit", 1, False), ("oit", 3, True), ("transformer", 1, True), ("relative", 1, True), ("copied", 1, True),
    ("lstm", 1, True),
])  # fmt: skip
def test_without_positions_and_neighbours_no_order_is_known(kind: str, kernel: int, knows: bool) -> None:
    model = encoder(kind, kernel=kernel)
    states, mask = batch()
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    found, moved = model(states[2:], mask[2:]), model(states[2:, order], mask[2:])
    assert torch.allclose(found[:, order], moved) != knows


def test_of_order_oit_sees_neighbours_alone() -> None:
    model = encoder("oit", layers=1)
    states = torch.randn(1, 30, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    mask = torch.ones(1, 30, dtype=torch.bool)
    order = torch.cat([torch.arange(20), torch.arange(20, 30).flip(0)])
    found, moved = model(states, mask), model(states[:, order], mask)
    torch.testing.assert_close(found[:, :18], moved[:, :18])  # two convolutions over three words see two to each side
    assert not torch.allclose(found[:, 18:20], moved[:, 18:20])


def test_relative_attention_equals_one_that_goes_word_by_word() -> None:
    torch.manual_seed(2)
    model = Attention(EncoderConfig("relative", heads=2, width=WIDTH)).double().eval()
    length = FARTHEST + 4
    x = torch.randn(1, length, WIDTH, dtype=torch.float64)
    found = model(x, torch.ones(1, length, dtype=torch.bool))[0]
    read = model.read(x[0]).view(length, 3, 2, WIDTH // 2)
    assert model.distances is not None
    for place in range(length):
        heads = []
        for head in range(2):
            apart = [max(-FARTHEST, min(FARTHEST, other - place)) + FARTHEST for other in range(length)]
            keys = read[:, 1, head] + model.distances[0, apart]
            values = read[:, 2, head] + model.distances[1, apart]
            shares = (keys @ read[place, 0, head] / math.sqrt(WIDTH // 2)).softmax(0)
            heads.append(shares @ values)
        torch.testing.assert_close(found[place], model.out(torch.cat(heads)))


def test_sinusoids_are_those_of_the_paper() -> None:
    found = sinusoids(5, 6)
    for place in range(5):
        for column in range(6):
            angle = place / 10_000 ** ((column - column % 2) / 6)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert float(found[place, column]) == pytest.approx(expected, abs=1e-6)


def test_normed_words_and_positions_have_known_sizes() -> None:
    def size(x: Tensor) -> float:
        return float(x.detach().square().mean().sqrt())

    model = encoder("copied", normed=True)
    states = torch.randn(1, 9, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    assert size(model.norm(model.project(states * 50))) == pytest.approx(1, rel=1e-3)
    assert size(model.positions) == pytest.approx(POSITION_SIZE) == pytest.approx(size(sinusoids(9, WIDTH)))
    assert "norm.weight" not in encoder("copied").state_dict()  # a tagger without the field is as it was


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
def test_any_kernel_keeps_the_length(kernel: int) -> None:
    states, mask = batch()
    assert encoder("oit", kernel=kernel)(states, mask).shape == (3, 7, WIDTH)


def test_copied_positions_do_not_learn_and_have_an_end() -> None:
    model = encoder("copied")
    assert not model.positions.requires_grad
    with pytest.raises(ValueError, match=r"10 words are more than the table of positions has, 9"):
        model(torch.zeros(1, 10, 6, dtype=torch.float64), torch.ones(1, 10, dtype=torch.bool))
    with pytest.raises(ValueError, match="needs a table of positions of width 16"):
        WordEncoder(6, EncoderConfig("copied", heads=2, width=WIDTH))


@pytest.mark.parametrize(("given", "said"), [
    ({"kind": "deep"}, "kind must be one of"), ({"layers": -1}, "layers"), ({"kind": "lstm", "layers": 0}, "layers"),
    ({"heads": 5}, "multiple of twice the heads"),
    ({"kernel": 0}, "kernel"), ({"dropout": 1.0}, "dropout"), ({"width": 0}, "width"),
])  # fmt: skip
def test_what_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        EncoderConfig(**given)
