"""Training objectives: IS-MLM and CS-MLM (VECO, section 3), TLM (XLM), and a contrastive loss for retrieval.

`(x, y)` is a pair of parallel sentences or consecutive segments; each side is masked once per step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.backbone.padding import pad_rows
from dragoman.backbone.tokenizer import BOS, EOS, MASK, PAD, SPECIAL_TOKENS
from dragoman.backbone.veco import Veco
from dragoman_lab.backbone.corpus import Ids, Pairs

Objective = Literal["is", "cs", "tlm", "contrastive"]
OBJECTIVES: tuple[Objective, ...] = ("is", "cs", "tlm", "contrastive")
MONOLINGUAL_RATE, BILINGUAL_RATE = 0.15, 0.25
TEMPERATURE = 0.05


@dataclass(frozen=True)
class Side:
    """Padded ids (B, L) and their mask (B, L), true at tokens; positions (B, L), None if they count up from 0."""

    ids: Tensor
    mask: Tensor
    positions: Tensor | None = None

    def to(self, device: torch.device) -> Side:
        positions = None if self.positions is None else self.positions.to(device)
        return Side(self.ids.to(device), self.mask.to(device), positions)


@dataclass(frozen=True)
class MaskedSide:
    """A side with masked tokens: `chosen` (B, L) is true there, `targets` are the original tokens in row order."""

    side: Side
    chosen: Tensor
    targets: Tensor


def pad(rows: Sequence[Ids]) -> Side:
    """`<s> row </s>` of each row, padded at the end to the longest."""
    return Side(*pad_rows([[BOS, *row.tolist(), EOS] for row in rows], torch.device("cpu")))


def concatenate(x: Side, y: Side) -> Side:
    """`<s> x </s> <s> y </s>` for each row; positions restart at y, as in XLM."""
    lengths_x, lengths_y = x.mask.sum(1), y.mask.sum(1)
    length = int((lengths_x + lengths_y).max())
    column = torch.arange(length, device=x.ids.device).expand(len(lengths_x), length)
    in_x = column < lengths_x[:, None]
    in_y = ~in_x & (column < (lengths_x + lengths_y)[:, None])
    positions = torch.where(in_x, column, column - lengths_x[:, None]).clamp(0, max(x.ids.shape[1], y.ids.shape[1]) - 1)
    from_x = x.ids.gather(1, positions.clamp(max=x.ids.shape[1] - 1))
    from_y = y.ids.gather(1, positions.clamp(max=y.ids.shape[1] - 1))
    ids = torch.where(in_x, from_x, torch.where(in_y, from_y, PAD))
    return Side(ids, in_x | in_y, positions)


def hide(side: Side, rate: float, vocabulary: int, generator: torch.Generator) -> MaskedSide:
    """Mask the share `rate` of the tokens as in BERT: no special tokens, at least one token per row.

    80% become <mask>, 10% a random token, 10% stay unchanged. Random numbers are drawn on the CPU.
    """
    free = side.mask & (side.ids >= len(SPECIAL_TOKENS))
    draw = torch.rand(side.ids.shape, generator=generator)
    ranked = draw.masked_fill(~free, 2.0).argsort(1).argsort(1)
    count = (free.sum(1, keepdim=True) * rate).round().clamp(min=1)
    chosen = (ranked < count) & free
    kind = torch.rand(side.ids.shape, generator=generator)
    random = torch.randint(len(SPECIAL_TOKENS), vocabulary, side.ids.shape, generator=generator)
    ids = side.ids.masked_fill(chosen & (kind < 0.8), MASK)
    ids = torch.where(chosen & (kind >= 0.9), random, ids)
    return MaskedSide(Side(ids, side.mask, side.positions), chosen, side.ids[chosen])


def crop_pairs(pairs: Pairs, share: float, generator: torch.Generator) -> Pairs:
    """Crop one random side of about `share` of the pairs to a span of 30% to 80% of its tokens.

    This is random cropping (Izacard et al. 2022, Contriever, section 3.2): the model learns to match short texts with
    longer ones, as queries with documents.
    """
    if not share:
        return pairs
    sides = [list(pairs.x), list(pairs.y)]
    draws = torch.rand(len(pairs.x), 4, generator=generator).tolist()
    for row, (chance, side, length, start) in enumerate(draws):
        if chance < share:
            whole = sides[side >= 0.5][row]
            span_length = max(1, round(len(whole) * (0.3 + 0.5 * length)))
            first = int(start * (len(whole) - span_length + 1))
            sides[side >= 0.5][row] = whole[first : first + span_length]
    return Pairs(sides[0], sides[1], pairs.languages)


def losses(
    model: Veco,
    pairs: Pairs,
    objectives: Sequence[Objective],
    generator: torch.Generator,
    device: torch.device,
    *,
    sentence_layer: int = 0,
) -> dict[Objective, Tensor]:
    """The loss of each objective on a batch; their unweighted sum is the training loss (section 3.3).

    - is: masked tokens of x and of y by the encoder path, sum of both means;
    - cs: masked tokens of y by the decoder path with the last states of masked x as memory, and vice versa;
    - tlm: masked tokens of the concatenation, only for parallel batches;
    - contrastive: in-batch translation ranking with mean-pooled states of `sentence_layer`, only for parallel batches.
    """
    rate = BILINGUAL_RATE if pairs.parallel else MONOLINGUAL_RATE
    vocabulary = model.config.vocabulary
    sides = [pad(pairs.x), pad(pairs.y)]
    x, y = (_move(hide(side, rate, vocabulary, generator), device) for side in sides)
    states_x, states_y = model.encode(x.side.ids, x.side.mask), model.encode(y.side.ids, y.side.mask)
    done: dict[Objective, Tensor] = {}
    if "is" in objectives:
        done["is"] = _masked_loss(model, states_x[-1], x) + _masked_loss(model, states_y[-1], y)
    if "cs" in objectives:
        y_given_x = model.decode(y.side.ids, y.side.mask, states_x[-1], x.side.mask)
        x_given_y = model.decode(x.side.ids, x.side.mask, states_y[-1], y.side.mask)
        done["cs"] = _masked_loss(model, y_given_x, y) + _masked_loss(model, x_given_y, x)
    if "tlm" in objectives and pairs.parallel:
        both = _move(hide(concatenate(*sides), rate, vocabulary, generator), device)
        states = model.encode(both.side.ids, both.side.mask, both.side.positions)
        done["tlm"] = _masked_loss(model, states[-1], both)
    if "contrastive" in objectives and pairs.parallel and len(pairs.x) > 1:
        pooled_x = mean_pool(states_x[sentence_layer], x.side.mask)
        pooled_y = mean_pool(states_y[sentence_layer], y.side.mask)
        done["contrastive"] = translation_ranking(pooled_x, pooled_y)
    return done


def mean_pool(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens of states (B, L, W), L2-normalised, (B, W) in float32 (VECO, sentence retrieval)."""
    weights = mask[:, :, None].to(torch.float32)
    return F.normalize((states.float() * weights).sum(1) / weights.sum(1), dim=-1)


def translation_ranking(x: Tensor, y: Tensor) -> Tensor:
    """Softmax loss of retrieving row i of `y` (B, W) by row i of `x` and back (Feng et al. 2022, LaBSE, equation 1)."""
    scores = x @ y.T / TEMPERATURE
    target = torch.arange(len(x), device=x.device)
    return F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target)


def _masked_loss(model: Veco, states: Tensor, masked: MaskedSide) -> Tensor:
    logits = model.predict(states[masked.chosen]).float()
    if not len(masked.targets):  # only special tokens: the mean of an empty tensor would be NaN
        return logits.sum()
    return F.cross_entropy(logits, masked.targets)


def _move(masked: MaskedSide, device: torch.device) -> MaskedSide:
    return MaskedSide(masked.side.to(device), masked.chosen.to(device), masked.targets.to(device))


def parse_objectives(names: Sequence[str]) -> tuple[Objective, ...]:
    """Check the names of objectives.

    Raises:
        ValueError: if an objective is unknown, or there is none.
    """
    unknown = sorted(set(names) - set(OBJECTIVES))
    if unknown or not names:
        raise ValueError(
            f"objectives must be some of {', '.join(OBJECTIVES)}: got {', '.join(map(str, names)) or 'none'}"
        )
    return cast(tuple[Objective, ...], tuple(names))
