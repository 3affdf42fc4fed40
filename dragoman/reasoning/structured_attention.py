"""Structured self-attention with a cross-lingual query: a second query Q_cross attends across languages.

    A = rownorm(M1 * exp(Q K'/sqrt(D)) + M2 * exp(Q_cross K'/sqrt(D))),   out = A V

M1 holds the pairs of positions within a language, M2 those across languages; position 0, the bridge, is in both.
Source: "Breaking the Language Barrier: Improving Cross-Lingual Reasoning with Structured Self-Attention" (Foroutan et
al. 2023). Shapes: B batch, H heads, L length, D size of a head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

CONTEXT, QUESTION, PADDING = 0, 1, -1
"""Values of `languages`, which say the language of each position: the context's with the bridge, or the question's."""


@dataclass(frozen=True)
class Masks:
    """Where Q attends (`within`) and where Q_cross attends (`across`), each (B, L, L), true where a row sees a column.

    A row of `across` without any true entry is a row of plain attention.
    """

    within: Tensor
    across: Tensor


def structured_masks(languages: Tensor, share: float = 0.0, generator: torch.Generator | None = None) -> Masks:
    """Masks of rows with a context and a question in different languages.

    `languages` (B, L) holds :data:`CONTEXT`, :data:`QUESTION` or :data:`PADDING`. `share` (α in the paper) is the
    probability that an entry is also true in the other mask ("interfering"), drawn for each entry by `generator`.
    Position 0 sees and is seen everywhere in both masks, and padding is never seen.
    """
    same = languages[:, :, None] == languages[:, None, :]
    bridge = torch.zeros_like(same)
    bridge[:, 0] = True
    bridge[:, :, 0] = True
    seen = (languages != PADDING)[:, None, :]
    within, across = ((mask | _draw_mask(mask, share, generator) | bridge) & seen for mask in (same, ~same))
    return Masks(within, across)


def plain_masks(languages: Tensor) -> Masks:
    """Masks of attention by Q alone, for rows in one language."""
    seen = (languages != PADDING)[:, None, :].expand(-1, languages.shape[1], -1)
    return Masks(seen, torch.zeros_like(seen))


def dropout_masks(languages: Tensor, dropped: float, generator: torch.Generator | None = None) -> Masks:
    """Masks of the baseline "structured dropout": Q alone, less a share `dropped` of the entries across languages."""
    within = structured_masks(languages, 1 - dropped, generator).within
    return Masks(within, torch.zeros_like(within))


def _draw_mask(mask: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    if share <= 0:
        return torch.zeros_like(mask)
    return torch.rand(mask.shape, generator=generator).to(mask.device) < share


def joined_masks(plain: Tensor, structured: Masks, languages: Tensor) -> Masks:
    """`structured` for rows of a batch whose languages differ, attention by Q alone where `plain` (B,) is true."""
    alone = plain_masks(languages)
    chosen = plain[:, None, None]
    return Masks(
        torch.where(chosen, alone.within, structured.within), torch.where(chosen, alone.across, structured.across)
    )


def structured_attention(query: Tensor, cross: Tensor, key: Tensor, value: Tensor, masks: Masks) -> Tensor:
    """Mixed values (B, H, L, D) of `query`, `cross` (Q_cross), `key` and `value`, each (B, H, L, D).

    One fused call: queries [Q, Q_cross], keys [[K, 0], [0, K]], values [V; V], mask [M1 | M2].
    """
    if query.device.type == "cpu" and torch.is_grad_enabled():
        return _explicit(query, cross, key, value, masks)
    none = torch.zeros_like(key)
    keys = torch.cat([torch.cat([key, none], -1), torch.cat([none, key], -1)], -2)
    return F.scaled_dot_product_attention(
        torch.cat([query, cross], -1),
        keys,
        torch.cat([value, value], -2),
        torch.cat([masks.within, masks.across], -1)[:, None],
        scale=query.shape[-1] ** -0.5,
    )


def _explicit(query: Tensor, cross: Tensor, key: Tensor, value: Tensor, masks: Masks) -> Tensor:
    """The same by explicit products, normalised in float32; in training on a CPU that is several times faster."""
    mixed: Tensor = attention_shares(query, cross, key, masks).to(value.dtype) @ value
    return mixed


def attention_shares(query: Tensor, cross: Tensor, key: Tensor, masks: Masks) -> Tensor:
    """The matrix A (B, H, L, L): the share of each position in what a position attends to, by both queries together."""
    scale = query.shape[-1] ** -0.5
    scores = torch.cat([query * scale, cross * scale], -2) @ key.transpose(-1, -2)
    scores = scores if scores.dtype == torch.float64 else scores.float()
    within, across = scores.chunk(2, -2)
    both = torch.cat(
        [
            within.masked_fill(~masks.within[:, None], -torch.inf),
            across.masked_fill(~masks.across[:, None], -torch.inf),
        ],
        -1,
    )
    first, second = both.softmax(-1).chunk(2, -1)
    shares: Tensor = first + second
    return shares


def bilingual_attention(query: Tensor, cross: Tensor, key: Tensor, value: Tensor, second: int) -> Tensor:
    """:func:`structured_attention` of rows without padding, α = 0, whose question begins at `second`: much faster.

    Without interference each pair of positions is scored by one of both queries, except that the bridge as a column is
    scored by both. So attention is computed once for each language of rows and of columns, and the two parts of a row
    are merged by their normalisers. The bridge as a row is computed by itself.
    """
    context, question = slice(None, second), slice(second, None)

    def columns(x: Tensor) -> Tensor:
        return torch.cat([x[..., question, :], x[..., :1, :]], -2)

    context_columns, question_columns = (key[..., context, :], value[..., context, :]), (columns(key), columns(value))
    parts = [
        _merge_columns(
            _attend_normalised(query[..., context, :], *context_columns),
            _attend_normalised(cross[..., context, :], *question_columns),
        ),
        _merge_columns(
            _attend_normalised(query[..., question, :], *question_columns),
            _attend_normalised(cross[..., question, :], *context_columns),
        ),
    ]
    scores = torch.cat([query[..., :1, :], cross[..., :1, :]], -2) * query.shape[-1] ** -0.5 @ key.transpose(-1, -2)
    bridge = scores.flatten(-2).softmax(-1).unflatten(-1, (2, -1)).sum(-2, keepdim=True) @ value
    return torch.cat([bridge, parts[0][..., 1:, :], parts[1]], -2)


def _attend_normalised(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Mixed values, and the logarithm of their normaliser (B, H, L)."""
    if query.device.type == "cpu" and _CPU_KERNEL is not None:
        mixed, normaliser = _CPU_KERNEL(query, key, value)
        return mixed, normaliser
    scores = query * query.shape[-1] ** -0.5 @ key.transpose(-1, -2)
    return scores.softmax(-1) @ value, scores.float().logsumexp(-1)


def _merge_columns(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    """The mixed values of two sets of columns together."""
    share = torch.sigmoid(first[1] - second[1])[..., None].to(first[0].dtype)
    return torch.lerp(second[0], first[0], share)


_CPU_KERNEL = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
"""Fused attention that also returns the normaliser, which the public function keeps to itself."""
