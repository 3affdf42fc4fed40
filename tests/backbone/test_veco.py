"""The properties of the VECO model, each against a plain computation."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from dragoman.backbone.veco import SelfAttention, Veco, VecoConfig, attend, attention_mask, causal_mask
from tests.backbone.samples import tiny

LENGTHS = (7, 3, 1)


def batch(lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Random ids, padded at the end, and their mask."""
    ids = torch.randint(5, 300, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(seed))
    mask = torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]
    return ids.masked_fill(~mask, 0), mask


def decoded(model: Veco, ids: Tensor, mask: Tensor) -> Tensor:
    source, source_mask = batch((5, 4, 2), seed=9)
    return model.decode(ids, mask, model.encode(source, source_mask)[-1], source_mask)


def test_attention_is_causal_including_the_diagonal() -> None:
    model, (ids, mask) = tiny(), batch((7, 7, 7))
    before = decoded(model, ids, mask)
    for place in range(7):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % 295 + 5
        after = decoded(model, changed, mask)
        torch.testing.assert_close(after[:, :place], before[:, :place], rtol=0, atol=1e-6)
        assert ((after - before)[:, place].abs().amax(-1) > 1e-3).all()


def gradients(model: Veco, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_no_gradient_flows_through_the_encoders_states() -> None:
    model, (ids, mask) = tiny(), batch()
    source, source_mask = batch((5, 4, 2), seed=9)
    states = model.encode(source, source_mask)[-1]
    states.retain_grad()
    attached = gradients(model, model.decode(ids, mask, states, source_mask).pow(2).sum())
    assert states.grad is None
    with torch.no_grad():
        alone = model.encode(source, source_mask)[-1]
    detached = gradients(model, model.decode(ids, mask, alone, source_mask).pow(2).sum())
    assert attached.keys() == detached.keys()
    for name, gradient in attached.items():
        torch.testing.assert_close(gradient, detached[name], rtol=1e-4, atol=1e-3, msg=name)
    only_in_source = sorted(set(source.flatten().tolist()) - set(ids.flatten().tolist()))
    assert not attached["tokens.weight"][only_in_source].any()


def test_both_paths_read_the_same_weights() -> None:
    model, (ids, mask) = tiny(), batch()
    used: list[dict[str, list[int]]] = []
    kinds = nn.Linear | nn.LayerNorm | nn.Embedding
    names = {module: name for name, module in model.named_modules() if isinstance(module, kinds)}
    for path in (lambda: model.encode(ids, mask), lambda: decoded(model, ids, mask)):
        seen: dict[str, list[int]] = {}

        def note(module: nn.Module, _: object, seen: dict[str, list[int]] = seen) -> None:
            seen[names[module]] = [p.data_ptr() for p in module.parameters()]

        hooks = [module.register_forward_pre_hook(note) for module in names]
        path()
        used.append(seen)
        for hook in hooks:
            hook.remove()
    encoder, decoder = used
    assert encoder == {name: decoder[name] for name in encoder}
    assert {name.split(".")[2] for name in set(decoder) - set(encoder)} == {"cross", "cross_norm"}
    assert len(encoder) == 3 + 2 * 6
    storages = [parameter.data_ptr() for parameter in model.parameters()]
    assert len(set(storages)) == len(storages)


def plain_encoder(model: Veco) -> list[nn.TransformerEncoderLayer]:
    """PyTorch's own layers with the model's weights."""
    config, layers = model.config, []
    for ours in model.layers:
        plain = nn.TransformerEncoderLayer(
            config.width, config.heads, config.feed_forward, 0.0, "gelu", config.norm_epsilon, batch_first=True
        )
        own = dict(ours.named_parameters())
        names = {
            "self_attn.in_proj_": "attention.in_projection.",
            "self_attn.out_proj.": "attention.out_projection.",
            "linear1.": "feed_forward.inner.",
            "linear2.": "feed_forward.outer.",
            "norm1.": "attention_norm.",
            "norm2.": "feed_forward_norm.",
        }
        known = {one + part: own[other + part] for one, other in names.items() for part in ("weight", "bias")}
        plain.load_state_dict(known)
        layers.append(plain.train())  # in evaluation it would take a path of its own
    return layers


@pytest.mark.parametrize("grad", [True, False])
def test_the_encoder_path_is_a_plain_encoder(grad: bool) -> None:
    model, (ids, mask) = tiny(), batch()
    with torch.set_grad_enabled(grad):
        states = model.encode(ids, mask)
        plain = model.embedding_norm(model.tokens.weight[ids] + model.positions.weight[: ids.shape[1]])
        torch.testing.assert_close(states[0], plain)
        for layer, ours in zip(plain_encoder(model), states[1:], strict=True):
            plain = layer(plain, src_key_padding_mask=~mask)
            torch.testing.assert_close(ours[mask], plain[mask], rtol=1e-4, atol=1e-4)


def written_out(query: Tensor, key: Tensor, value: Tensor, heads: int, see: Tensor) -> Tensor:
    """Attention of one row, (L, W), head by head; `see` (L, M) is true where a query may look."""
    size, mixed = query.shape[1] // heads, []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = query[:, part] @ key[:, part].T / math.sqrt(size)
        mixed.append(scores.masked_fill(~see, -torch.inf).softmax(-1) @ value[:, part])
    return torch.cat(mixed, dim=1)


def plain_decode(model: Veco, row: Tensor, memory: Tensor) -> Tensor:
    """The decoder path of one row of ids (L,) that reads states (M, W), as the paper's equations say."""
    heads, length = model.config.heads, len(row)
    y = model.embedding_norm(model.tokens.weight[row] + model.positions.weight[:length])
    lower = torch.tensor([[column <= line for column in range(length)] for line in range(length)])
    for layer in model.layers:
        query, key, value = (y @ layer.attention.in_projection.weight.T + layer.attention.in_projection.bias).chunk(
            3, dim=-1
        )
        y = layer.attention_norm(y + layer.attention.out_projection(written_out(query, key, value, heads, lower)))
        key, value = layer.cross.key_value(memory).chunk(2, dim=-1)
        everything = torch.ones(length, len(memory), dtype=torch.bool)
        z = written_out(layer.cross.query(y), key, value, heads, everything)
        y = layer.cross_norm(y + layer.cross.out_projection(z))
        inner = layer.feed_forward.inner(y)
        gelu = inner * (1 + torch.erf(inner / math.sqrt(2))) / 2
        y = layer.feed_forward_norm(y + layer.feed_forward.outer(gelu))
    return y


def test_the_decoder_path_is_the_equations() -> None:
    model, (ids, mask) = tiny(), batch()
    source, source_mask = batch((5, 4, 2), seed=9)
    memory = model.encode(source, source_mask)[-1]
    states = model.decode(ids, mask, memory, source_mask)
    for row in range(len(ids)):
        plain = plain_decode(model, ids[row][mask[row]], memory[row][source_mask[row]])
        torch.testing.assert_close(states[row][mask[row]], plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("grad", [True, False])
def test_padding_and_batch_change_nothing(grad: bool) -> None:
    model, (ids, mask) = tiny(), batch()
    with torch.set_grad_enabled(grad):
        together, decoder = model.encode(ids, mask)[-1], decoded(model, ids, mask)
        wide = torch.cat((ids, torch.zeros(3, 4, dtype=torch.long)), dim=1)
        wide_mask = torch.cat((mask, torch.zeros(3, 4, dtype=torch.bool)), dim=1)
        torch.testing.assert_close(model.encode(wide, wide_mask)[-1][:, :7][mask], together[mask], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(decoded(model, wide, wide_mask)[:, :7][mask], decoder[mask], rtol=1e-4, atol=1e-5)
        for row, length in enumerate(LENGTHS):
            alone = model.encode(ids[row : row + 1, :length], mask[row : row + 1, :length])[-1]
            torch.testing.assert_close(alone[0], together[row, :length], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("grad", "bf16"), list(product([True, False], [True, False])))
def test_rows_of_padding_alone_give_numbers(grad: bool, bf16: bool) -> None:
    model, (ids, mask) = tiny(), batch((4, 1, 0))
    with torch.set_grad_enabled(grad), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        states = model.encode(ids, mask)[-1]
        read = model.decode(ids, mask, states, mask)
    assert torch.isfinite(states).all()
    assert torch.isfinite(read).all()
    if grad:
        found = gradients(model, (states.float().sum() + read.float().sum()))
        assert all(torch.isfinite(gradient).all() for gradient in found.values())


@pytest.mark.parametrize("masked", [None, "padding", "causal"])
def test_attention_written_out_is_the_fused_kernel(masked: str | None) -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(3, 4, 7, 8, generator=generator) for _ in range(3))
    _, mask = batch()
    see = {None: None, "padding": attention_mask(mask), "causal": causal_mask(mask)}[masked]
    with torch.enable_grad():
        slow = attend(query, key, value, see)
    with torch.no_grad():
        fused = attend(query, key, value, see)
    torch.testing.assert_close(slow, fused, rtol=1e-5, atol=1e-5)


def test_steps_with_cached_keys_and_values_equal_full_decoding() -> None:
    attention = SelfAttention(VecoConfig(10, width=8, heads=2))
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    whole, _ = attention(x, torch.ones(5, 5, dtype=torch.bool).tril())
    past = None
    for place in range(5):
        out, past = attention(x[:, place : place + 1], None, past)
        torch.testing.assert_close(out[:, 0], whole[:, place])


def test_cross_attention_is_under_a_fifth_and_can_be_left_out() -> None:
    with torch.device("meta"):
        large = Veco(VecoConfig(250_002, width=1024, layers=24, heads=16, feed_forward=4096, max_length=512))
    cross = sum(p.numel() for name, p in large.named_parameters() if ".cross" in name)
    assert 0.1 < cross / sum(p.numel() for p in large.parameters()) < 0.2
    model, (ids, mask) = tiny(), batch()
    without = tiny(cross_attention=False)
    without.load_state_dict({name: p for name, p in model.state_dict().items() if ".cross" not in name})
    for one, other in zip(model.encode(ids, mask), without.encode(ids, mask), strict=True):
        assert torch.equal(one, other)
    with pytest.raises(ValueError, match="without cross-attention"):
        decoded(without, ids, mask)


def test_the_output_is_tied_to_the_embeddings() -> None:
    model, (ids, mask) = tiny(), batch()
    logits = model.predict(model.encode(ids, mask)[-1])
    assert logits.shape == (3, 7, 300)
    with torch.no_grad():
        model.tokens.weight[17] *= 2
        model.prediction_bias[17] = 0
    states = model.encode(ids.masked_fill(ids == 17, 18), mask)[-1]
    x = model.prediction_norm(torch.nn.functional.gelu(model.prediction(states)))
    torch.testing.assert_close(model.predict(states)[..., 17], x @ model.tokens.weight[17])


def test_positions() -> None:
    model, (ids, mask) = tiny(), batch()
    counted = torch.arange(7).expand(3, 7)
    assert torch.equal(model.encode(ids, mask, counted)[-1], model.encode(ids, mask)[-1])
    assert not torch.allclose(model.encode(ids, mask, counted.flip(1))[-1], model.encode(ids, mask)[-1])
    with pytest.raises(ValueError, match="33 tokens are more than this model's 32"):
        model.encode(torch.ones(1, 33, dtype=torch.long), torch.ones(1, 33, dtype=torch.bool))


def test_initialising_is_a_function_of_the_generator() -> None:
    models = [Veco(VecoConfig(50, width=8, heads=2)) for _ in range(3)]
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in models[0].parameters():  # as a training might have left it
            parameter.normal_()
    for model, seed in zip(models, (1, 1, 2), strict=True):
        model.initialise(torch.Generator().manual_seed(seed))
    first, second, third = (torch.cat([p.flatten() for p in model.parameters()]) for model in models)
    assert torch.equal(first, second)
    assert not torch.equal(first, third)
    assert float(models[0].tokens.weight.detach().std()) == pytest.approx(0.02, rel=0.15)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("heads", 0),
        ("heads", 5),
        ("width", "256"),
        ("width", 31.5),
        ("layers", True),
        ("max_length", 2),
        ("dropout", 1.0),
        ("dropout", "x"),
        ("norm_epsilon", 0),
        ("cross_attention", 1),
        ("position_offset", -1),
    ],
)
def test_impossible_sizes_are_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        VecoConfig(**{"vocabulary": 100, "width": 32, field: value})  # type: ignore[arg-type]
