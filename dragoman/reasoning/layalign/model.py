"""LayAlign (Ruan et al. 2025): a multilingual encoder joined to a frozen LLM, layer by layer.

The LLM reads what an adapter makes of one of the encoder's layers as a soft prompt. Each of its layers attends to a
mixture of the encoder's layers as well, by its own frozen projections and a gate. The gate is 0 at the start: then it
is the LLM with a soft prompt, exactly. LangBridge (Yoon et al. 2024) is `adapter="linear", fusion="none"`, and
MindMerger (Huang et al. 2024) `fusion="none"` with the question's text after the soft prompt.

The LLM is any model of transformers whose layers have `self_attn` with `q_proj`, `k_proj`, `v_proj` and `o_proj`, as
Llama's and Qwen's have. Its code stays as it is: hooks add to what `o_proj` reads. What a request attends to is kept
in that request's cache alone, so requests cannot mix.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.cache_utils import DynamicCache

from dragoman.backbone.pretrained.llm import LanguageModel
from dragoman.deadline import check

ADAPTERS = ("mlp", "linear", "none")
FUSIONS = ("layers", "last", "mean", "none")
IGNORED = -100


@dataclass(frozen=True)
class LayAlignConfig:
    """What a bridge is made of."""

    adapter: str = "mlp"
    """What makes the soft prompt: two linear layers, one (LangBridge), or none for no soft prompt."""
    fusion: str = "layers"
    """What the LLM's layers attend to: mixtures of the layers below the last, the last alone, their mean, or none."""
    compat: bool = False
    """As the published code has it: padding is attended to, and queries are rotated where keys are not."""
    hidden: int = 0
    """The width between the two layers of `mlp`; 0: twice the encoder's, as published."""
    soft_layer: int = -1
    """The encoder's layer whose states the adapter reads: 0 its embeddings, -1 the last, as published. Encoders that
    were trained to retrieve say more of each word in the middle than at the end."""

    def __post_init__(self) -> None:
        if self.adapter not in ADAPTERS:
            raise ValueError(f"adapter must be one of {', '.join(ADAPTERS)}")
        if self.fusion not in FUSIONS:
            raise ValueError(f"fusion must be one of {', '.join(FUSIONS)}")
        if self.hidden < 0:
            raise ValueError("hidden must be at least 0")


class EncoderStates(NamedTuple):
    """What the encoder makes of texts."""

    states: Tensor
    """(layers + 1, batch, length, width): the embeddings and the output of each layer."""
    mask: Tensor
    """(batch, length), true at tokens."""


@dataclass(frozen=True)
class Prompt:
    """Tokens of the LLM around a soft prompt, and the answer where it is known."""

    before: Sequence[int]
    after: Sequence[int] = ()
    answer: Sequence[int] = ()


class Bridge(nn.Module):
    """All that is trained: the adapter, the separator, the mixture of layers, and the gates."""

    def __init__(self, width: int, layers: int, llm_width: int, llm_layers: int, config: LayAlignConfig) -> None:
        """`width` and `layers` are the encoder's.

        Raises:
            ValueError: if the encoder has no `soft_layer`.
        """
        super().__init__()
        if not -1 <= config.soft_layer <= layers:
            raise ValueError(f"soft_layer must be -1, or one of the encoder's layers: 0 to {layers}")
        self.config = config
        self.adapter: nn.Module | None = None
        if config.adapter == "mlp":
            hidden = config.hidden or 2 * width
            self.adapter = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, llm_width))
        elif config.adapter == "linear":
            self.adapter = nn.Linear(width, llm_width)
        self.separator = nn.Parameter(torch.zeros(llm_width))
        if config.fusion != "none":
            self.mix = nn.Linear(layers if config.fusion == "layers" else 1, 2 * llm_layers)
            self.project = nn.Linear(width, llm_width)
            self.gates = nn.Parameter(torch.zeros(llm_layers))

    def soft_prompt(self, encoded: EncoderStates) -> Tensor:
        """I_map (B, L, llm_width), of the states of `soft_layer`."""
        if self.adapter is None:
            return encoded.states.new_zeros(encoded.mask.shape[0], 0, self.separator.shape[0])
        prompt: Tensor = self.adapter(encoded.states[self.config.soft_layer])
        return prompt

    def mixtures(self, encoded: EncoderStates) -> Tensor:
        """K_0, V_0, K_1, V_1, … (B, L, 2 llm_layers, llm_width): what the LLM's layers attend to."""
        states = encoded.states[:-1]
        if self.config.fusion == "last":
            states = encoded.states[-1:]
        elif self.config.fusion == "mean":
            states = encoded.states.mean(0, keepdim=True)
        mixed = F.relu(self.mix(states.movedim(0, -1)))  # (B, L, width, 2 llm_layers)
        projected: Tensor = self.project(mixed.transpose(2, 3))
        return projected


class FusedCache(DynamicCache):
    """A request's cache: beside the LLM's own keys and values, those of the encoder's states."""

    def __init__(self, config: Any, fused: Sequence[tuple[Tensor, Tensor]], gates: Tensor, mask: Tensor | None) -> None:
        """`fused` has keys and values (B, heads, L, head width) of each layer; `mask` (B, L) is true at tokens."""
        super().__init__(config=config)
        self.fused, self.gates, self.fused_mask = list(fused), gates, mask

    @property
    def rotated(self) -> bool:
        """Whether queries are rotated, as in the published code; it masks no padding either."""
        return self.fused_mask is None

    def attend(self, layer: int, query: Tensor) -> Tensor:
        """g CA of queries (B, heads, T, head width) in a layer."""
        if query.shape[0] != self.fused[layer][0].shape[0]:
            self._repeat(query.shape[0] // self.fused[layer][0].shape[0])
        key, value = self.fused[layer]
        mask = None if self.fused_mask is None else self.fused_mask[:, None, None, :]
        shape = query.shape
        grouped = shape[2] == 1  # then the heads of a group are as queries of one head, and no key is repeated
        if grouped:
            query = query.view(shape[0], key.shape[1], -1, shape[3])
        mixed = F.scaled_dot_product_attention(
            query, key.to(query.dtype), value.to(query.dtype), attn_mask=mask, enable_gqa=not grouped
        )
        return mixed.reshape(shape) * self.gates[layer].to(mixed.dtype)

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Put beams in another order."""
        super().reorder_cache(beam_idx)
        self._select(beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows."""
        super().batch_select_indices(indices)
        self._select(indices)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each row."""
        super().batch_repeat_interleave(repeats)
        self._repeat(repeats)

    def _select(self, rows: Tensor) -> None:
        if self.fused and int(rows.max()) < self.fused[0][0].shape[0]:
            self.fused = [(key[rows], value[rows]) for key, value in self.fused]
            self.fused_mask = None if self.fused_mask is None else self.fused_mask[rows]

    def _repeat(self, times: int) -> None:
        self.fused = [(key.repeat_interleave(times, 0), value.repeat_interleave(times, 0)) for key, value in self.fused]
        if self.fused_mask is not None:
            self.fused_mask = self.fused_mask.repeat_interleave(times, 0)


class _Call(threading.local):
    """The attention that a thread is in: the request's cache, the layer's queries, and their rotation."""

    cache: FusedCache | None = None
    query: Tensor | None = None
    rotation: tuple[Tensor, Tensor] | None = None


_call = _Call()
_attached: WeakSet[nn.Module] = WeakSet()


def decoder_layers(model: Any) -> Sequence[Any]:
    """The layers of a causal LM.

    Raises:
        ValueError: if its layers are not as Llama's and Qwen's.
    """
    layers = getattr(model.get_decoder(), "layers", None) or []
    parts = ("q_proj", "k_proj", "v_proj", "o_proj")
    if not layers or not all(hasattr(getattr(layer, "self_attn", None), part) for layer in layers for part in parts):
        raise ValueError(f"{type(model).__name__}: its layers lack self_attn with {', '.join(parts)}")
    return cast(Sequence[Any], layers)


def attach(model: Any) -> None:
    """Let a causal LM's layers attend to what a request's :class:`FusedCache` holds; without one nothing changes."""
    if model in _attached:
        return
    for index, layer in enumerate(decoder_layers(model)):
        _hook(layer.self_attn, index)
    _attached.add(model)


def _hook(attention: Any, index: int) -> None:
    """Three hooks: the cache is taken before the attention, the queries where they are made, and CA is added to SA."""

    def begin(_: nn.Module, _args: Any, named: dict[str, Any]) -> None:
        check()  # a pass over a long prompt takes seconds, and others wait
        cache = named.get("past_key_values")
        _call.cache = cache if isinstance(cache, FusedCache) and cache.fused else None
        _call.rotation = named.get("position_embeddings")

    def keep(_: nn.Module, _args: Any, query: Tensor) -> None:
        _call.query = query if _call.cache is not None else None

    def add(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        if _call.cache is None or _call.query is None:
            return None
        mixed = inputs[0]
        query = _call.query.view(*mixed.shape[:2], -1, attention.head_dim).transpose(1, 2)
        if _call.cache.rotated and _call.rotation is not None:
            query = _rotate(query, *_call.rotation)
        crossed = _call.cache.attend(index, query).transpose(1, 2).reshape(mixed.shape)
        _call.cache = _call.query = None
        return (mixed + crossed.to(mixed.dtype), *inputs[1:])

    attention.register_forward_pre_hook(begin, with_kwargs=True)
    getattr(attention, "q_norm", attention.q_proj).register_forward_hook(keep)
    attention.o_proj.register_forward_pre_hook(add)


def _rotate(query: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021) of queries (B, heads, T, head width)."""
    first, second = query.chunk(2, dim=-1)
    return query * cosine[:, None] + torch.cat([-second, first], dim=-1) * sine[:, None]


class LayAlign(nn.Module):
    """A bridge from an encoder's states into a frozen LLM."""

    def __init__(self, llm: LanguageModel, width: int, layers: int, config: LayAlignConfig | None = None) -> None:
        """`width` and `layers` are the encoder's.

        Raises:
            ValueError: if the LLM's layers are not as Llama's and Qwen's, or the encoder has no `soft_layer`.
        """
        super().__init__()
        blocks = decoder_layers(llm.model)
        self.bridge = Bridge(width, layers, llm.width, len(blocks), config or LayAlignConfig())
        self._frozen = (llm, blocks)  # in a tuple, so that the LLM's weights are none of this module's
        attach(llm.model)

    @property
    def llm(self) -> LanguageModel:
        """The frozen LLM."""
        return self._frozen[0]

    def cache(self, encoded: EncoderStates) -> FusedCache:
        """A cache for one request or batch, with the keys and values of the encoder's states."""
        config = self.llm.model.config
        if self.bridge.config.fusion == "none":
            return FusedCache(config, [], encoded.states.new_zeros(0), None)
        mixtures = self.bridge.mixtures(encoded).unbind(2)
        fused = []
        for index, layer in enumerate(self._frozen[1]):
            key, value = mixtures[2 * index], mixtures[2 * index + 1]
            fused.append(_project_keys_values(layer.self_attn, key, value))
        return FusedCache(config, fused, self.bridge.gates, None if self.bridge.config.compat else encoded.mask)

    def embed_rows(
        self, encoded: EncoderStates, prompts: Sequence[Prompt], *, left: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The rows [before; I_map; separator; after; answer]: embeddings (B, T, width), mask and labels (B, T).

        Labels are the answers' tokens, and `IGNORED` elsewhere. Padding is on the right, or on the left. A row of whose
        text the encoder read nothing has no separator.
        """
        embed = self.llm.model.get_input_embeddings()
        soft = self.bridge.soft_prompt(encoded)
        lengths = encoded.mask.sum(1).tolist()
        rows, labels = [], []
        for index, prompt in enumerate(prompts):
            ids = torch.tensor([*prompt.before, *prompt.after, *prompt.answer], device=soft.device, dtype=torch.long)
            texts = embed(ids).to(soft.dtype)
            soft_prompt = soft[index, : lengths[index]]
            separator = self.bridge.separator[None, :][: lengths[index]].to(soft.dtype)
            first = len(prompt.before)
            rows.append(torch.cat([texts[:first], soft_prompt, separator, texts[first:]]))
            unknown = ids.new_full((len(rows[-1]) - len(prompt.answer),), IGNORED)
            labels.append(torch.cat([unknown, ids[len(ids) - len(prompt.answer) :]]))
        masks = [torch.ones_like(row_labels, dtype=torch.bool) for row_labels in labels]
        side = "left" if left else "right"
        pad = nn.utils.rnn.pad_sequence
        return (
            pad(rows, batch_first=True, padding_side=side),
            pad(masks, batch_first=True, padding_value=False, padding_side=side),
            pad(labels, batch_first=True, padding_value=IGNORED, padding_side=side),
        )

    def loss(self, encoded: EncoderStates, prompts: Sequence[Prompt]) -> Tensor:
        """The mean cross-entropy of the answers' tokens."""
        return self._losses(encoded, prompts)[0].mean()

    def losses(self, encoded: EncoderStates, prompts: Sequence[Prompt]) -> Tensor:
        """The mean cross-entropy of each answer's tokens, (B,)."""
        losses, rows = self._losses(encoded, prompts)
        counts = torch.bincount(rows, minlength=len(prompts))
        return torch.zeros_like(counts, dtype=losses.dtype).index_add(0, rows, losses) / counts

    def _losses(self, encoded: EncoderStates, prompts: Sequence[Prompt]) -> tuple[Tensor, Tensor]:
        """The cross-entropy of each token of all answers, and its row."""
        embeds, mask, labels = self.embed_rows(encoded, prompts)
        with _attention(embeds.device.type):
            states = self.states(embeds, mask, self.cache(encoded))[:, :-1]
        targets = labels[:, 1:]
        labelled = targets != IGNORED
        logits = self.llm.model.get_output_embeddings()(states[labelled])
        losses = F.cross_entropy(
            logits.to(torch.promote_types(logits.dtype, torch.float32)), targets[labelled], reduction="none"
        )
        return losses, labelled.nonzero()[:, 0]

    def states(self, embeds: Tensor, mask: Tensor, cache: FusedCache) -> Tensor:
        """The LLM's last states (B, T, width) of rows that are padded on either side; `cache` keeps what it read."""
        positions = (mask.long().cumsum(1) - 1).clamp(min=0)
        decoder = self.llm.model.get_decoder()
        outputs = decoder(
            inputs_embeds=embeds.to(self.llm.model.dtype), attention_mask=mask.long(), position_ids=positions,
            past_key_values=cache, use_cache=True,
        )  # fmt: skip
        return cast(Tensor, outputs.last_hidden_state)

    @torch.inference_mode()
    def generate(self, encoded: EncoderStates, prompts: Sequence[Prompt], **options: Any) -> list[list[int]]:
        """The tokens that follow the prompts, without what ends them; `options` are those of transformers' `generate`.

        Greedy unless the options say otherwise.
        """
        embeds, mask, _ = self.embed_rows(encoded, [replace(prompt, answer=()) for prompt in prompts], left=True)
        ends = list(self.llm.ends)
        defaults = {"do_sample": False, "eos_token_id": ends or None, "pad_token_id": ends[0] if ends else 0}
        generated = self.llm.model.generate(
            inputs_embeds=embeds.to(self.llm.model.dtype), attention_mask=mask.long(),
            past_key_values=self.cache(encoded), **defaults | options,
        )  # fmt: skip
        return [_until(row, ends) for row in generated.tolist()]


def _attention(device_type: str) -> contextlib.AbstractContextManager[None]:
    """How attention is computed in training: on a CPU by plain products, which for short rows take a third of the time.

    With torch's fused kernel a quarter of a step was its attention.
    """
    if device_type != "cpu":
        return contextlib.nullcontext()
    plain: contextlib.AbstractContextManager[None] = sdpa_kernel(SDPBackend.MATH)
    return plain


def _project_keys_values(attention: Any, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values (B, heads, L, head width) by a layer's frozen projections, not rotated."""
    dtype = attention.k_proj.weight.dtype
    shape = (*key.shape[:2], -1, attention.head_dim)
    keys = attention.k_proj(key.to(dtype)).view(shape)
    if hasattr(attention, "k_norm"):
        keys = attention.k_norm(keys)
    return keys.transpose(1, 2), attention.v_proj(value.to(dtype)).view(shape).transpose(1, 2)


def _until(ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    place = next((index for index, token in enumerate(ids) if token in ends), len(ids))
    return list(ids[:place])
