"""Generation from VECO: untied copies of the layers as encoder and decoder (VECO, section 3.4).

The encoder is the encoder path of all layers. The decoder is the decoder path of the last k layers or, for comparison,
the first k. Token embeddings are tied between encoder, decoder and output. The decoder starts from a token of the
target language, `<to:de>`.
Shapes: B batch, L length, W width, V vocabulary.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.backbone.constraints.steering import Steering
from dragoman.backbone.tokenizer import EOS, SPECIAL_TOKENS
from dragoman.backbone.veco import KeyValues, Layer, Veco, attention_mask, causal_mask
from dragoman.deadline import check_each

Which = Literal["last", "first"]
Finished = tuple[float, list[int], bool]
"""A hypothesis: its score, its tokens, and whether it ended with </s>."""


class Hypothesis(NamedTuple):
    """The result of beam search, and whether it is complete, not cut at the limit."""

    tokens: list[int]
    whole: bool


class Seq2Seq(nn.Module):
    """A translation model built from copies of the layers of a VECO model."""

    def __init__(self, source: Veco, decoder_layers: int, which: Which = "last", dropout: float | None = None) -> None:
        super().__init__()
        if not 1 <= decoder_layers <= source.config.layers:
            raise ValueError(f"decoder_layers must lie between 1 and {source.config.layers}")
        if not source.config.cross_attention:
            raise ValueError("a model without cross-attention has no decoder path to copy")
        layers = list(source.layers)
        chosen = layers[-decoder_layers:] if which == "last" else layers[:decoder_layers]
        self.decoder = nn.ModuleList(copy.deepcopy(layer) for layer in chosen)
        self.encoder = copy.deepcopy(source)
        for layer in self.encoder.layers:
            cast(Layer, layer).cross = cast(Layer, layer).cross_norm = None  # unused in the encoder path
        if dropout is not None:
            for module in self.modules():
                if isinstance(module, nn.Dropout):
                    module.p = dropout

    def encode(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The encoder's last states (B, L, W)."""
        return self.encoder.encode(ids, mask)[-1]

    def memories(self, states: Tensor) -> list[KeyValues]:
        """Cross-attention keys and values of each decoder layer for the encoder's states (B, L, W)."""
        return [cast(Layer, layer).memory(states) for layer in self.decoder]

    def forward(self, ids: Tensor, mask: Tensor, target: Tensor, target_mask: Tensor) -> Tensor:
        """Logits (B, T, V) of the token after each of `target` (B, T), given the source `ids` (B, L)."""
        return self.encoder.predict(self.decode(ids, mask, target, target_mask))

    def decode(self, ids: Tensor, mask: Tensor, target: Tensor, target_mask: Tensor) -> Tensor:
        """The decoder's last states (B, T, W) at `target` (B, T), given the source `ids` (B, L)."""
        memory_mask = attention_mask(mask)
        x, causal = self.encoder.embed(target), causal_mask(target_mask)
        for layer, memory in zip(self.decoder, self.memories(self.encode(ids, mask)), strict=True):
            x, _ = layer(x, causal, memory, memory_mask)
        return x

    def step(
        self, last: Tensor, position: int, memories: list[KeyValues], memory_mask: Tensor | None, past: list[KeyValues]
    ) -> tuple[Tensor, list[KeyValues]]:
        """Log-probabilities (B, V) of the token after `last` (B,) at `position`, and the new keys and values.

        `past` holds the keys and values of earlier tokens for each decoder layer; empty at the first token.
        """
        x = self.encoder.embed(last[:, None], torch.full_like(last[:, None], position))
        present = []
        for index, layer in enumerate(self.decoder):
            x, keys_values = layer(x, None, memories[index], memory_mask, past[index] if past else None)
            present.append(keys_values)
        return F.log_softmax(self.encoder.predict(x[:, 0]).float(), dim=-1), present


def translation_loss(
    model: Seq2Seq, source: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor], label_smoothing: float
) -> Tensor:
    """Cross-entropy of the tokens of the target sentence.

    `source` and `target` are (ids, mask) with special tokens at both ends; the first of the target is its language.
    """
    ids, mask = target
    states, predicted = model.decode(*source, ids[:, :-1], mask[:, :-1]), mask[:, 1:]
    logits = model.encoder.predict(states[predicted])  # the most expensive step, so padding is left out
    return F.cross_entropy(logits.float(), ids[:, 1:][predicted], label_smoothing=label_smoothing)


@torch.inference_mode()
def beam_search(
    model: Seq2Seq,
    ids: Tensor,
    mask: Tensor,
    start: int,
    *,
    beam: int = 5,
    limit: int | Sequence[int],
    alpha: float = 1.0,
    special: Sequence[int] = range(len(SPECIAL_TOKENS)),
    steerings: Sequence[Steering | None] = (),
) -> list[Hypothesis]:
    """The best translation of each source (B, L), with at most `limit` tokens (one limit for all, or one for each).
    Of the `special` tokens only </s> is generated.

    A finished hypothesis scores its log-probability / length ** alpha (Wu et al. 2016, without coverage), where the
    length includes </s>. A source is done with `beam` finished hypotheses. If none is finished at the limit, the most
    probable unfinished one is returned. Otherwise unfinished ones are ignored, because repetitive loops would win.
    A source's steering, if there is one, leads its beams to phrases.
    """
    limits = [limit] * len(ids) if isinstance(limit, int) else list(limit)
    forbidden = torch.tensor([token for token in special if token != EOS], device=ids.device)
    batch, device = len(ids), ids.device
    rows = torch.arange(batch, device=device).repeat_interleave(beam)
    states, repeated = model.encode(ids, mask)[rows], mask[rows]
    memories, memory_mask = model.memories(states), attention_mask(repeated)
    tokens = torch.full((batch * beam, 1), start, device=device)
    scores = torch.full((batch, beam), -torch.inf, device=device)
    scores[:, 0] = 0.0  # all beams start equal, so only one is continued
    finished: list[list[Finished]] = [[] for _ in range(batch)]
    past: list[KeyValues] = []
    for length in check_each(range(1, max(limits) + 1)):
        log_probabilities, past = model.step(tokens[:, -1], length - 1, memories, memory_mask, past)
        log_probabilities[:, forbidden] = -torch.inf
        for source, steering in enumerate(steerings):
            if steering is None:
                continue
            for row in range(source * beam, (source + 1) * beam):
                log_probabilities[row] = steering.lead(tokens[row, 1:].tolist(), log_probabilities[row], (EOS,))
        total = (scores.view(-1, 1) + log_probabilities).view(batch, -1)
        best, index = total.topk(2 * beam, dim=1)  # at most half of them end here
        parents, chosen = index // log_probabilities.shape[1], index % log_probabilities.shape[1]
        ending = chosen == EOS
        for source, rank in torch.nonzero(ending[:, :beam] & torch.isfinite(best[:, :beam])).tolist():
            if len(finished[source]) < beam and length <= limits[source]:
                words = tokens[source * beam + int(parents[source, rank]), 1:].tolist()
                finished[source].append((float(best[source, rank]) / length**alpha, words, True))
        continuing = best.masked_fill(ending, -torch.inf)
        scores, survivors = continuing.topk(beam, dim=1)
        order = (torch.arange(batch, device=device)[:, None] * beam + parents.gather(1, survivors)).flatten()
        tokens = torch.cat((tokens[order], chosen.gather(1, survivors).view(-1, 1)), dim=1)
        past = [(key[order], value[order]) for key, value in past]
        for source in range(batch):
            if not finished[source] and length == limits[source]:
                finished[source].append((0.0, tokens[source * beam, 1:].tolist(), False))
        if all(len(done) >= beam or length >= last for done, last in zip(finished, limits, strict=True)):
            break
    return [Hypothesis(*max(done)[1:]) for done in finished]
