"""Updates of low rank of an encoder's layers: what they compute, how they are stored, merged and restored."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.deltas.base import base_of, check_base, encoder_checksum, layers_in
from dragoman.backbone.deltas.layers import apply_layer_deltas, keep_layers, layer_deltas, layers_of, let_learn
from dragoman.backbone.deltas.low_rank import LowRank
from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from tests.backbone.pretrained.hub_samples import write_checkpoints
from tests.backbone.samples import tiny


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_checkpoints(tmp_path_factory.mktemp("hub"))


def encoder_of(kind: str, hub: dict[str, Path], subwords: Subwords) -> Encoder:
    if kind == "veco":
        return VecoEncoder(tiny(len(subwords), layers=2), subwords, "tiny", 1).eval()
    return load_encoder(str(hub[kind]))


def learning(encoder: Encoder, rank: int, first_layer: int = 0, seed: int = 1) -> Encoder:
    """An encoder with updates that matter, each value the same in bfloat16."""
    encoder.requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    let_learn(layers_of(encoder)[first_layer:], rank, generator)
    with torch.no_grad():
        for parameter in encoder.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn(parameter.shape, generator=generator).mul(0.1).bfloat16())
    return encoder


def states(encoder: Encoder) -> torch.Tensor:
    ids = torch.tensor([[5, 9, 7, 8]])
    with torch.no_grad():
        found: list[torch.Tensor] = encoder(ids, torch.ones_like(ids).bool())
    return found[-1]


def test_an_update_is_0_at_first_and_its_weight_is_the_sum() -> None:
    own = nn.Linear(6, 5)
    layer = LowRank(own, 3, torch.Generator().manual_seed(1))
    x = torch.randn(4, 6)
    assert torch.equal(layer(x), own(x)) and torch.equal(layer.weight, own.weight)
    nn.init.normal_(layer.up)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer.weight.dtype == torch.float32
    torch.testing.assert_close(nn.functional.linear(x, layer.weight, layer.bias), layer(x))


@pytest.mark.parametrize("kind", ["veco", "bert", "xlm-roberta"])
def test_merged_or_restored_deltas_compute_what_was_trained(
    kind: str, hub: dict[str, Path], subwords: Subwords
) -> None:
    plain = encoder_of(kind, hub, subwords)
    trained = learning(encoder_of(kind, hub, subwords), 3, first_layer=1)
    deltas = layer_deltas(layers_of(trained))
    assert {name.partition(".")[0] for name in deltas} == {"1"} and not any("cross" in name for name in deltas)
    assert {value.dtype for name, value in deltas.items() if name.endswith("up")} == {torch.bfloat16}
    assert not torch.allclose(states(plain), states(trained), atol=1e-2)
    restored = learning(encoder_of(kind, hub, subwords), 3, first_layer=1, seed=2)
    apply_layer_deltas(layers_of(restored), deltas)
    assert torch.equal(states(restored), states(trained))
    apply_layer_deltas(layers_of(plain), deltas)
    torch.testing.assert_close(states(plain), states(trained), rtol=1e-4, atol=1e-5)


def test_deltas_that_do_not_fit_are_refused(hub: dict[str, Path], subwords: Subwords) -> None:
    deltas = layer_deltas(layers_of(learning(encoder_of("veco", hub, subwords), 3)))
    other = learning(encoder_of("veco", hub, subwords), 2)
    with pytest.raises(CheckpointError, match=r"\(96, 3\) by \(3, 32\) does not fit one of \(96, 2\) by \(2, 32\)"):
        apply_layer_deltas(layers_of(other), deltas)
    name = next(name for name in deltas if name.endswith(".up"))
    with pytest.raises(CheckpointError, match="up is missing"):
        apply_layer_deltas(
            layers_of(encoder_of("veco", hub, subwords)), {**deltas} | {name[:-2] + "x.down": deltas[name]}
        )
    with pytest.raises(CheckpointError):
        apply_layer_deltas(layers_of(encoder_of("bert", hub, subwords)), deltas)


@pytest.mark.parametrize("kind", ["veco", "bert", "xlm-roberta"])
def test_the_first_layers_alone_compute_their_states(kind: str, hub: dict[str, Path], subwords: Subwords) -> None:
    whole, part = encoder_of(kind, hub, subwords), encoder_of(kind, hub, subwords)
    assert len(keep_layers(part, 1)) == part.layers == 1
    ids = torch.tensor([[5, 9, 7, 8]])
    for ours, theirs in zip(part(ids, ids > 0), whole(ids, ids > 0)[:2], strict=True):
        assert torch.equal(ours, theirs)
    for count in (0, 2):
        with pytest.raises(CheckpointError, match=f"has 1 layers, not {count}"):
            keep_layers(part, count)
    with pytest.raises(CheckpointError, match="are not BERT's"):
        layers_of(load_encoder(str(hub["mt5-encoder"])))


def test_deltas_name_their_encoder(tmp_path: Path, hub: dict[str, Path], subwords: Subwords) -> None:
    encoder = encoder_of("veco", hub, subwords)
    base = base_of(encoder, encoder_checksum(encoder))
    assert base["layers"] == 2 and layers_in(tmp_path, base, encoder) == layers_in(tmp_path, {}, encoder) == 2
    check_base(tmp_path, base, base_of(encoder, encoder_checksum(encoder)))
    with torch.no_grad():
        layers_of(encoder)[1].feed_forward.outer.bias += 1
    with pytest.raises(CheckpointError, match=r"config\.json: was trained with another tiny: encoder_checksum differs"):
        check_base(tmp_path, base, base_of(encoder, encoder_checksum(encoder)))
    with pytest.raises(CheckpointError, match=r"config\.json: layers is 'two'"):
        layers_in(tmp_path, {"layers": "two"}, encoder)
