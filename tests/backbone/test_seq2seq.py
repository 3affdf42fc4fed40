"""Generation: untied copies, decoding step by step, and beam search against plain searches."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.backbone.padding import pad_rows
from dragoman.backbone.seq2seq import Seq2Seq, beam_search, translation_loss
from dragoman.backbone.tokenizer import BOS, EOS, PAD
from dragoman.backbone.veco import attention_mask
from tests.backbone.samples import tiny

CPU = torch.device("cpu")
START = 5


def model(vocabulary: int = 40, layers: int = 2, seed: int = 0, width: int = 32) -> Seq2Seq:
    return Seq2Seq(tiny(vocabulary, seed, layers=layers, width=width), 1).eval()


def sources(*rows: list[int]) -> tuple[Tensor, Tensor]:
    return pad_rows([[BOS, *row, EOS] for row in rows], CPU)


def logits_after(seq: Seq2Seq, ids: Tensor, mask: Tensor, written: list[int]) -> Tensor:
    target = torch.tensor([written])
    return seq(ids, mask, target, torch.ones_like(target, dtype=torch.bool))[0, -1].log_softmax(-1)


def test_training_does_not_change_the_source() -> None:
    source = tiny(40)
    before = {name: value.clone() for name, value in source.state_dict().items()}
    seq = Seq2Seq(source, 2)
    storages = {p.data_ptr() for p in source.parameters()}
    mine = [p.data_ptr() for p in seq.parameters()]
    assert not storages & set(mine)
    assert len(set(mine)) == len(mine)
    optimizer = torch.optim.SGD(seq.parameters(), lr=0.1)
    translation_loss(seq, sources([9, 10]), sources([11]), 0.1).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert all(torch.equal(value, before[name]) for name, value in source.state_dict().items())
    assert any(not torch.equal(p, before[n]) for n, p in seq.encoder.state_dict().items())


@pytest.mark.parametrize(("which", "chosen"), [("last", [2, 3]), ("first", [0, 1])])
def test_the_decoder_is_the_last_or_the_first_layers(which: str, chosen: list[int]) -> None:
    source = tiny(40, layers=4)
    seq = Seq2Seq(source, 2, which, dropout=0.3)  # type: ignore[arg-type]
    for layer, number in zip(seq.decoder, chosen, strict=True):
        for (name, mine), (_, known) in zip(
            layer.named_parameters(), source.layers[number].named_parameters(), strict=True
        ):
            assert torch.equal(mine, known), name
    assert not any(".cross" in name for name, _ in seq.encoder.named_parameters())
    assert {module.p for module in seq.modules() if isinstance(module, torch.nn.Dropout)} == {0.3}


def test_invalid_decoder_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="between 1 and 2"):
        Seq2Seq(tiny(40), 3)
    with pytest.raises(ValueError, match="without cross-attention"):
        Seq2Seq(tiny(40, cross_attention=False), 1)


def test_incremental_decoding_equals_full_decoding() -> None:
    seq, (ids, mask) = model(), sources([7, 8, 9], [10])
    target = torch.tensor([[START, 11, 12, 13], [START, 14, 15, 16]])
    whole = seq(ids, mask, target, torch.ones_like(target, dtype=torch.bool)).log_softmax(-1)
    memories, past = seq.memories(seq.encode(ids, mask)), []
    for place in range(4):
        found, past = seq.step(target[:, place], place, memories, attention_mask(mask), past)
        torch.testing.assert_close(found, whole[:, place], rtol=1e-4, atol=1e-4)


def test_the_loss_counts_the_targets_tokens_alone() -> None:
    seq, source = model(), sources([7, 8, 9], [10])
    target = pad_rows([[START, 11, 12, EOS], [START, 13, EOS]], CPU)
    wanted = [[11, 12, EOS], [13, EOS]]
    found = []
    for row, tokens in enumerate(wanted):
        for place, token in enumerate(tokens):
            ids, mask = (part[row : row + 1] for part in source)
            logs = logits_after(seq, ids, mask, [START, *tokens[:place]])
            found.append(-0.8 * logs[token] - 0.2 * logs.mean())
    torch.testing.assert_close(translation_loss(seq, source, target, 0.2), torch.stack(found).mean())


@torch.no_grad()
def test_a_beam_of_one_is_greedy() -> None:
    for seed in range(5):
        seq, (ids, mask) = model(seed=seed), sources([7, 8, 9])
        written: list[int] = []
        while len(written) < 6:
            logs = logits_after(seq, ids, mask, [START, *written])
            logs[[PAD, BOS, 3, 4, START]] = -torch.inf
            token = int(logs.argmax())
            if token == EOS:
                break
            written.append(token)
        special = [0, 1, 2, 3, 4, START]
        assert beam_search(seq, ids, mask, START, beam=1, limit=6, special=special) == [(written, len(written) < 6)]


def score(seq: Seq2Seq, ids: Tensor, mask: Tensor, written: list[int]) -> float:
    """Log-probability over length, </s> included."""
    total = 0.0
    for place, token in enumerate([*written, EOS]):
        total += float(logits_after(seq, ids, mask, [START, *written[:place]])[token])
    return total / (len(written) + 1)


@torch.no_grad()
@pytest.mark.parametrize(("vocabulary", "beam"), [(8, 5), (9, 16)])
def test_a_wide_beam_finds_the_best_of_all(vocabulary: int, beam: int) -> None:
    for seed in range(4):
        seq, (ids, mask) = model(vocabulary, seed=seed), sources([6, 7])
        with torch.no_grad():
            seq.encoder.prediction_bias[EOS] += 2  # so that sentences end
        words = range(6, vocabulary)
        every = [list(one) for length in range(3) for one in product(words, repeat=length)]
        best = max(score(seq, ids, mask, one) for one in every)
        found = beam_search(seq, ids, mask, START, beam=beam, limit=3, special=range(6))[0].tokens
        assert score(seq, ids, mask, found) == pytest.approx(best, abs=1e-4)


def test_translations_do_not_depend_on_the_batch() -> None:
    rows = [[7, 8, 9], [10], [11, 12, 13, 14, 15, 16, 17], [18, 19]]
    for seed in range(3):
        seq = model(seed=seed)
        together = beam_search(seq, *sources(*rows), START, beam=4, limit=8)
        assert together == [beam_search(seq, *sources(row), START, beam=4, limit=8)[0] for row in rows]
        limits = [3, 8, 1, 5]
        each = beam_search(seq, *sources(*rows), START, beam=4, limit=limits)
        alone = [
            beam_search(seq, *sources(row), START, beam=4, limit=n)[0] for row, n in zip(rows, limits, strict=True)
        ]
        assert each == alone


def test_special_tokens_are_never_generated() -> None:
    seq = model(12)
    with torch.no_grad():
        seq.encoder.prediction_bias[[0, 1, 3, 4, 5, 6]] += 50
    for row, _ in beam_search(seq, *sources([8, 9], [10]), START, beam=3, limit=8, special=range(7)):
        assert all(token >= 7 for token in row)
        assert len(row) <= 8


@pytest.mark.slow
def test_it_learns_a_cipher() -> None:
    torch.manual_seed(0)
    random, source = np.random.default_rng(0), tiny(26, width=64)
    source.initialise(torch.Generator().manual_seed(0))
    rows = [random.integers(6, 26, random.integers(2, 6)).tolist() for _ in range(230)]
    cipher = dict(zip(range(6, 26), (random.permutation(20) + 6).tolist(), strict=True))
    seq = Seq2Seq(source, 2)
    optimizer = torch.optim.AdamW(seq.parameters(), lr=3e-3)
    for step in range(300):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, (step + 1) / 50) * (1 - step / 320)
        chosen = [rows[number] for number in random.integers(0, 200, 40)]
        written = pad_rows([[START, *(cipher[one] for one in row), EOS] for row in chosen], CPU)
        loss = translation_loss(seq, sources(*chosen), written, 0.0)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(seq.parameters(), 1.0)
        optimizer.step()
    found = beam_search(seq.eval(), *sources(*rows), START, beam=2, limit=8, special=range(6))
    right = [one.tokens == [cipher[token] for token in row] for one, row in zip(found, rows, strict=True)]
    assert sum(right[:200]) > 180
    assert math.isfinite(float(loss.detach()))
