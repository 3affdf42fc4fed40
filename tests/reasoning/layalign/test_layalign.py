"""LayAlign against plain references: the LLM with a soft prompt, and attention written out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.reasoning.layalign.model import Bridge, EncoderStates, LayAlign, LayAlignConfig, Prompt
from tests.reasoning.layalign.tiny import KINDS, LAYERS, WIDTH, joined, llm, read

PROMPTS = [Prompt([1], [5, 6, 7], [8, 9, 2]), Prompt([1], [10], [11, 2]), Prompt([1], [], [12, 13, 14, 2])]
LENGTHS = [4, 1, 6]


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def softly(model: LayAlign, found: EncoderStates, prompts: list[Prompt], **options: Any) -> list[list[int]]:
    """What the LLM alone generates after the soft prompt, one text at a time."""
    ours, embed, made = model.llm.model, model.llm.model.get_input_embeddings(), []
    for number, prompt in enumerate(prompts):
        soft = model.bridge.soft_prompt(found)[number][found.mask[number]]
        parts = [embed(torch.tensor(prompt.before)), soft, model.bridge.separator[None]]
        parts += [embed(torch.tensor(prompt.after))] if prompt.after else []
        rows = ours.generate(inputs_embeds=torch.cat(parts)[None], pad_token_id=2, **{"do_sample": False} | options)
        ids = rows[0].tolist()
        made.append(ids[: ids.index(2)] if 2 in ids else ids)
    return made


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True, "temperature": 1.5}])
def test_with_gates_at_0_it_generates_what_the_llm_with_the_soft_prompt_does(
    kind: str, options: dict[str, Any]
) -> None:
    model, found = joined(llm(kind)), read(LENGTHS)
    for number, prompt in enumerate(PROMPTS):
        alone = read([LENGTHS[number]])
        torch.manual_seed(1)
        ours = model.generate(alone, [prompt], max_new_tokens=12, **options)
        torch.manual_seed(1)
        assert ours == softly(model, alone, [prompt], max_new_tokens=12, **options)
    if not options.get("do_sample"):
        assert model.generate(found, PROMPTS, max_new_tokens=12, **options) == softly(
            model, found, PROMPTS, max_new_tokens=12, **options
        )


def plain_logits(model: LayAlign, found: EncoderStates, prompt: Prompt) -> Tensor:
    """The logits (T, V) of one text by the formulas: SA(T) + g CA(T, H^K, H^V) in each layer, nothing batched."""
    ours, bridge, compat = model.llm.model, model.bridge, model.bridge.config.compat
    embed = ours.get_input_embeddings()
    soft = bridge.adapter(found.states[-1, 0])  # type: ignore[misc]
    ids = [*prompt.before, *prompt.after, *prompt.answer]
    texts = embed(torch.tensor(ids))
    first = len(prompt.before)
    x = torch.cat([texts[:first], soft, bridge.separator[None], texts[first:]])
    cosine, sine = ours.model.rotary_emb(x[None], torch.arange(len(x))[None])
    cosine, sine = cosine[0], sine[0]

    def rotated(heads: Tensor) -> Tensor:  # (heads, T, D)
        first, second = heads.chunk(2, -1)
        return heads * cosine + torch.cat([-second, first], -1) * sine

    def split(states: Tensor, norm: nn.Module | None, repeats: int = 1) -> Tensor:
        heads = states.view(len(states), -1, ours.model.layers[0].self_attn.head_dim)
        heads = norm(heads) if norm is not None else heads
        return heads.transpose(0, 1).repeat_interleave(repeats, 0)

    for number, layer in enumerate(ours.model.layers):
        attention, h = layer.self_attn, layer.input_layernorm(x)
        q_norm, k_norm = getattr(attention, "q_norm", None), getattr(attention, "k_norm", None)
        query = split(attention.q_proj(h), q_norm)
        key, value = split(attention.k_proj(h), k_norm, 2), split(attention.v_proj(h), None, 2)
        scores = rotated(query) @ rotated(key).transpose(1, 2) * attention.scaling
        scores = scores.masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -torch.inf)
        mixed = scores.softmax(-1) @ value
        if bridge.config.fusion != "none":
            levels = {"layers": found.states[:-1], "last": found.states[-1:], "mean": found.states.mean(0)[None]}
            stacked = levels[bridge.config.fusion][:, 0]  # (levels, L, width)
            h_key, h_value = (
                bridge.project(
                    F.relu(
                        sum(bridge.mix.weight[column, one] * stacked[one] for one in range(len(stacked)))
                        + bridge.mix.bias[column]
                    )
                )
                for column in (2 * number, 2 * number + 1)
            )
            key, value = split(attention.k_proj(h_key), k_norm, 2), split(attention.v_proj(h_value), None, 2)
            asking = rotated(query) if compat else query
            crossed = (asking @ key.transpose(1, 2) * attention.scaling).softmax(-1) @ value
            mixed = mixed + bridge.gates[number] * crossed
        x = x + attention.o_proj(mixed.transpose(0, 1).reshape(len(x), -1))
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    logits: Tensor = ours.lm_head(ours.model.norm(x))
    return logits


def plain_loss(model: LayAlign, found: EncoderStates, prompt: Prompt) -> Tensor:
    logits = plain_logits(model, found, prompt)
    count = len(prompt.answer)
    return F.cross_entropy(logits[-count - 1 : -1], torch.tensor(prompt.answer), reduction="sum")


@pytest.mark.parametrize("config", [LayAlignConfig(fusion=fusion) for fusion in ("layers", "last", "mean", "none")])
def test_the_loss_is_that_of_the_formulas_whatever_is_batched(kind: str, config: LayAlignConfig) -> None:
    gates = 0.0 if config.fusion == "none" else 0.7
    model = joined(llm(kind), config, gates)
    expected = [plain_loss(model, read([length]), one) for length, one in zip(LENGTHS, PROMPTS, strict=True)]
    answers = sum(len(one.answer) for one in PROMPTS)
    torch.testing.assert_close(model.loss(read(LENGTHS), PROMPTS), torch.stack(expected).sum() / answers)


def test_the_published_way_rotates_queries_alone_and_attends_to_padding() -> None:
    model = joined(llm(), LayAlignConfig(compat=True), 0.7)
    alone = [model.loss(read([length]), [one]) for length, one in zip(LENGTHS, PROMPTS, strict=True)]
    for one, length, prompt in zip(alone, LENGTHS, PROMPTS, strict=True):
        torch.testing.assert_close(one * len(prompt.answer), plain_loss(model, read([length]), prompt))
    together = model.loss(read(LENGTHS), PROMPTS) * sum(len(one.answer) for one in PROMPTS)
    apart = sum(one * len(prompt.answer) for one, prompt in zip(alone, PROMPTS, strict=True))
    assert abs((together - apart).item()) > 1e-3


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}])
def test_batched_and_alone_give_the_same_and_what_a_whole_pass_would_choose(kind: str, options: dict[str, int]) -> None:
    model = joined(llm(kind), gates=0.7)
    prompts = [Prompt(one.before, one.after) for one in PROMPTS]
    together = model.generate(read(LENGTHS), prompts, max_new_tokens=8, **options)
    for number, prompt in enumerate(prompts):
        alone = model.generate(read([LENGTHS[number]]), [prompt], max_new_tokens=8, **options)
        assert alone == [together[number]]
        if not options:
            for place, chosen in enumerate(alone[0]):
                known = Prompt(prompt.before, [*prompt.after, *alone[0][:place]])
                assert int(plain_logits(model, read([LENGTHS[number]]), known)[-1].argmax()) == chosen
    assert len({tuple(one) for one in together}) > 1


def test_gates_and_the_text_itself_matter() -> None:
    prompts = [Prompt([1], [5])]
    closed, opened = joined(llm()), joined(llm(), gates=2.0)
    assert closed.generate(read([6]), prompts, max_new_tokens=8) != opened.generate(
        read([6]), prompts, max_new_tokens=8
    )
    one, other = (opened.loss(read([6], seed), [Prompt([1], [5], [8, 2])]) for seed in (3, 4))
    assert abs((one - other).item()) > 1e-3


def test_concurrent_requests_do_not_mix() -> None:
    model = joined(llm(), gates=0.7)
    lengths = [1, 2, 3, 4, 5, 6, 7, 8]

    def generated(length: int) -> list[list[int]]:
        return model.generate(read([length]), [Prompt([1], [5])], max_new_tokens=10)

    expected = [generated(length) for length in lengths]
    assert len({tuple(one[0]) for one in expected}) > 4
    with ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            assert list(threads.map(generated, lengths)) == expected


def test_without_a_request_of_its_own_the_llm_is_as_before() -> None:
    plain, ids = llm(), torch.tensor([[1, 5, 6, 7]])
    before = plain.model(ids).logits
    model = joined(plain, gates=0.7)
    assert torch.equal(plain.model(ids).logits, before)
    model.generate(read([4]), [Prompt([1], [5])], max_new_tokens=4)
    assert torch.equal(plain.model(ids).logits, before)
    joined(plain, gates=0.7)  # a second bridge over one LLM hooks nothing twice
    found = model.loss(read([4]), [PROMPTS[0]]) * 3
    torch.testing.assert_close(found, plain_loss(model, read([4]), PROMPTS[0]))


def test_the_bridge_alone_learns() -> None:
    model = joined(llm(), gates=0.7)
    assert {name.split(".")[0] for name, _ in model.named_parameters()} == {"bridge"}
    model.loss(read(LENGTHS), PROMPTS).backward()  # type: ignore[no-untyped-call]
    for name, value in model.named_parameters():
        assert value.grad is not None and value.grad.abs().sum() > 0, name
    assert all(value.grad is None for value in model.llm.model.parameters())


def test_the_paper_s_parameters_are_counted() -> None:
    with torch.device("meta"):
        bridge = Bridge(2048, 24, 4096, 32, LayAlignConfig())
    sizes = {name: value.numel() for name, value in bridge.named_parameters()}
    adapter = sum(size for name, size in sizes.items() if name.startswith(("adapter", "separator")))
    fusion = sum(size for name, size in sizes.items() if name.startswith(("mix", "project", "gates")))
    assert round(adapter / 1e6, 2) == 25.18
    assert round(fusion / 1e6, 2) == 8.39
    assert round(sum(sizes.values()) / 1e6, 2) == 33.57


def test_the_baselines_are_configurations() -> None:
    langbridge = joined(llm(), LayAlignConfig("linear", "none"))
    assert {name for name, _ in langbridge.named_parameters()} == {
        "bridge.adapter.weight", "bridge.adapter.bias", "bridge.separator"
    }  # fmt: skip
    without = joined(llm(), LayAlignConfig("none", "layers"), 3.0)
    found = without.generate(read([3, 5]), [Prompt([1], [5]), Prompt([1], [5])], max_new_tokens=6)
    assert found[0] != found[1]  # the layers alone tell the texts apart
    for given in ({"adapter": "deep"}, {"fusion": "all"}):
        with pytest.raises(ValueError, match="must be one of"):
            LayAlignConfig(**given)


@pytest.mark.parametrize("layer", [-1, 0, 1, LAYERS])
def test_the_soft_prompt_is_of_one_layer_of_the_encoder(layer: int) -> None:
    model = joined(llm(), LayAlignConfig(fusion="none", soft_layer=layer))
    found = read(LENGTHS)
    before = model.losses(found, PROMPTS)
    for other in range(LAYERS + 1):
        changed = found.states.clone()
        changed[other] += 1
        same = torch.equal(model.losses(found._replace(states=changed), PROMPTS), before)
        assert same == (other != layer % (LAYERS + 1))


def test_a_layer_that_the_encoder_lacks_is_refused() -> None:
    for layer in (-2, LAYERS + 1):
        with pytest.raises(ValueError, match=f"one of the encoder's layers: 0 to {LAYERS}"):
            joined(llm(), LayAlignConfig(soft_layer=layer))


def test_an_llm_of_another_kind_is_refused() -> None:
    class Other(nn.Module):
        def get_decoder(self) -> nn.Module:
            return nn.Linear(2, 2)

    model = llm()
    object.__setattr__(model, "model", Other())
    with pytest.raises(ValueError, match="Other: its layers lack self_attn"):
        LayAlign(model, WIDTH, LAYERS)
