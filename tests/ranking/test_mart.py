"""MART against its equations and against the encoder that it starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.lexicon.table.table import Table
from dragoman.ranking.attention import NO_LINKS, TranslationReference, word_of_pieces
from dragoman.ranking.mart import Mart, MartConfig, Rows, TranslationHead
from dragoman.ranking.mixed_attention import Mixing, PassageRow
from dragoman_lab.backbone.objectives import concatenate, pad
from tests.backbone.samples import tiny
from tests.ranking.samples import split

CPU = torch.device("cpu")
TABLE = Table.from_entries(
    "en", "de", [("bee", "biene", 0.9, 0.7), ("honey", "honig", 0.8, 0.8), ("ash", "asche", 1, 1)]
)
PAIRS = [
    ("the bee", "die Biene"),
    ("honey and ash", "graue Asche, Honig"),
    ("salt", "ein Schiff sieht den alten Hafen"),
]


def batch(encoder: Encoder, pairs: list[tuple[str, str]], *, placebo: bool = False, padding: int = 0) -> Rows:
    """What the model is called with for one passage a document."""
    made, rows = [], []
    for query, passage in pairs:
        (q, d), (left, right) = encoder.subwords([query, passage]), (split(query, "en"), split(passage, "de"))
        pair = encoder.pair(q.ids, d.ids)
        links = NO_LINKS if placebo else TranslationReference(left, TABLE).links(right)
        made.append(pair)
        rows.append(
            PassageRow(
                pair.first,
                word_of_pieces(left.spans, q.offsets),
                pair.second,
                word_of_pieces(right.spans, d.offsets),
                links,
            )
        )
    length = max(len(pair.ids) for pair in made) + padding

    def padded(values: list[list[int]], fill: int = 0) -> Tensor:
        return torch.tensor([[*row, *[fill] * (length - len(row))] for row in values])

    own: dict[str, Any] = {
        name: padded([getattr(pair, name) for pair in made])
        for name in ("positions", "segments")
        if getattr(made[0], name) is not None
    }
    return Rows(
        padded([pair.ids for pair in made], encoder.pad),
        padded([[1] * len(pair.ids) for pair in made]).bool(),
        Mixing.of(rows, length, CPU),
        padded([[0] * pair.second for pair in made], 1),
        **own,
    )


def bare(encoder: Encoder, given: Rows) -> list[Tensor]:
    states: list[Tensor] = encoder(given.ids, given.mask, positions=given.positions, segments=given.segments)
    return states


def test_a_start_of_zero_gamma_is_exactly_the_encoder(encoder: Encoder) -> None:
    model = Mart(encoder, MartConfig(mat_layers=[0, -1])).eval()
    given = batch(encoder, PAIRS)
    assert len(given.mixing.left) > 4
    for ours, theirs in zip(model.states(given), bare(encoder, given), strict=True):
        assert torch.equal(ours, theirs)


def test_an_official_start_differs_from_the_encoder_and_from_the_placebo(encoder: Encoder) -> None:
    model = Mart(encoder, MartConfig(mat_layers=[0, 1], start="official")).eval()
    given, placebo = batch(encoder, PAIRS), batch(encoder, PAIRS, placebo=True)
    ours, theirs = model.states(given), bare(encoder, given)
    assert torch.equal(ours[0], theirs[0])
    assert not torch.allclose(ours[-1], theirs[-1], atol=1e-3)
    assert not torch.allclose(ours[-1], model.states(placebo)[-1], atol=1e-5)


def test_only_the_layers_named_mix(encoder: Encoder) -> None:
    model = Mart(encoder, MartConfig(mat_layers=[-1], start="official")).eval()
    given = batch(encoder, PAIRS)
    ours, theirs = model.states(given), bare(encoder, given)
    for number in range(encoder.layers):
        assert torch.equal(ours[number], theirs[number])
    assert not torch.allclose(ours[-1], theirs[-1], atol=1e-3)
    assert MartConfig().layer_indices(12) == [9, 10]


def test_links_of_the_last_layer_reach_no_score(encoder: Encoder) -> None:
    given, placebo = batch(encoder, PAIRS), batch(encoder, PAIRS, placebo=True)
    for layer, same in ((-1, True), (-2, False)):
        model = Mart(encoder, MartConfig(mat_layers=[layer], start="official")).eval()
        assert torch.allclose(model.pool_rows(given), model.pool_rows(placebo), atol=1e-6) is same


@pytest.mark.parametrize("mat_layers", [[2, 2], [3], [-4], [2, -1]])
def test_missing_layers_are_refused(mat_layers: list[int]) -> None:
    with pytest.raises(ValueError, match="mat_layers"):
        MartConfig(mat_layers=mat_layers).layer_indices(3)


def test_a_layer_is_its_equation(subwords: Subwords) -> None:
    veco = tiny(len(subwords), layers=1)
    encoder = VecoEncoder(veco, subwords, "tiny", 1).eval()
    model = Mart(encoder, MartConfig(mat_layers=[0], start="official")).eval()
    head = model.heads["0"]
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_(std=0.3, generator=torch.Generator().manual_seed(3))
    given = batch(encoder, PAIRS[:1])
    before, after = model.states(given)
    layer = veco.layers[0]
    h = before[0]
    attended, _ = layer.attention(before, None)
    a = F.layer_norm(h + attended[0], (32,), layer.attention_norm.weight, layer.attention_norm.bias, 1e-5)
    matrix = given.mixing(torch.eye(len(h))[None])[0]
    th = head.out(matrix @ head.value(h))
    b = F.layer_norm(h + th, (32,), head.norm.weight, head.norm.bias, 1e-12)
    mixed = a + b
    expected = F.layer_norm(
        mixed + layer.feed_forward(mixed), (32,), layer.feed_forward_norm.weight, layer.feed_forward_norm.bias, 1e-5
    )
    torch.testing.assert_close(after[0], expected, rtol=1e-4, atol=1e-4)


def test_the_folded_product_of_evaluation_is_that_of_training(encoder: Encoder) -> None:
    head = TranslationHead(encoder.width, MartConfig(dropout=0.0))
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_(std=0.3, generator=torch.Generator().manual_seed(4))
    given = batch(encoder, PAIRS)
    mixing, length = given.mixing, given.ids.shape[1]
    h = torch.randn(len(PAIRS), length, encoder.width, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(head.eval()(h, mixing), head.train()(h, mixing), rtol=1e-4, atol=1e-4)


def test_a_score_does_not_depend_on_its_neighbours_or_on_padding(encoder: Encoder) -> None:
    model = Mart(encoder, MartConfig(mat_layers=[0, -1], start="official")).eval()
    with torch.no_grad():
        model.score.weight.normal_(std=1.0, generator=torch.Generator().manual_seed(6))
        together = model(model.pool_rows(batch(encoder, PAIRS, padding=2)), [0, 1, 1])
        first = model(model.pool_rows(batch(encoder, PAIRS[:1])), [0])
        rest = model(model.pool_rows(batch(encoder, PAIRS[1:])), [0, 0])
        shuffled = model(model.pool_rows(batch(encoder, [PAIRS[2], PAIRS[0], PAIRS[1]])), [1, 0, 1])
    torch.testing.assert_close(together, torch.cat((first, rest)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(shuffled, together, rtol=1e-4, atol=1e-5)


def test_gradients_reach_every_weight_of_the_heads(encoder: Encoder) -> None:
    model = Mart(encoder, MartConfig(mat_layers=[0, -1], start="official", dropout=0.0)).train()
    model(model.pool_rows(batch(encoder, PAIRS)), [0, 1, 2]).sum().backward()
    for name, parameter in [*model.heads.named_parameters(), *model.pool.named_parameters()]:
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or name.endswith("value.bias"), name


def test_a_model_of_other_layers_is_refused(hub: dict[str, Path]) -> None:
    encoder = load_encoder(str(hub["mt5-encoder"]))
    model = Mart(encoder, MartConfig(mat_layers=[0]))
    ids = torch.tensor([[0, 5, 2]])
    mixing = Mixing.of([PassageRow(1, np.zeros(1, np.int64), 2, np.zeros(0, np.int64), NO_LINKS)], 3, CPU)
    with pytest.raises(CheckpointError, match="are not BERT's"):
        model.states(Rows(ids, torch.ones_like(ids).bool(), mixing, torch.zeros_like(ids)))


def test_pairs_for_the_backbone_are_framed_as_in_tlm(subwords: Subwords) -> None:
    encoder = VecoEncoder(tiny(len(subwords)), subwords, "tiny", 1)
    pair = encoder.pair([7, 8], [9, 10, 11])
    rows = [np.asarray(row, dtype=np.int32) for row in ([7, 8], [9, 10, 11])]
    side = concatenate(pad(rows[:1]), pad(rows[1:]))
    assert (pair.ids, pair.positions) == (side.ids[0].tolist(), side.positions[0].tolist())
    assert (pair.ids[pair.first], pair.ids[pair.second]) == (7, 9)
