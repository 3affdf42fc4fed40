"""Structured self-attention equals the paper's formula, however it is computed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.reasoning import structured_attention as attention
from dragoman.reasoning.structured_attention import (
    CONTEXT,
    PADDING,
    QUESTION,
    Masks,
    bilingual_attention,
    dropout_masks,
    plain_masks,
    structured_attention,
    structured_masks,
)
from tests.reasoning.attention_reference import masks_without_interference, reference

SPLITS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 7)), min_size=1, max_size=3)


def languages_of(splits: list[tuple[int, int]]) -> Tensor:
    """Rows with a context and a question of the given lengths, padded."""
    found = torch.full((len(splits), max(map(sum, splits))), PADDING)
    for row, (context, question) in enumerate(splits):
        found[row, :context] = CONTEXT
        found[row, context : context + question] = QUESTION
    return found


def inputs(batch: int, length: int, seed: int = 0, heads: int = 2, size: int = 8) -> list[Tensor]:
    """Q, Q_cross, K and V, large enough that weights are far from equal."""
    generator = torch.Generator().manual_seed(seed)
    return [2 * torch.randn(batch, heads, length, size, generator=generator) for _ in range(4)]


@given(SPLITS)
def test_masks_without_interference_are_those_of_the_definition(splits: list[tuple[int, int]]) -> None:
    languages = languages_of(splits)
    found, expected = structured_masks(languages), masks_without_interference(languages)
    assert torch.equal(found.within, expected.within)
    assert torch.equal(found.across, expected.across)


@given(SPLITS, st.floats(0, 1), st.integers(0, 1000))
def test_interference_only_adds_entries_and_never_padding(
    splits: list[tuple[int, int]], share: float, seed: int
) -> None:
    languages = languages_of(splits)
    pure = structured_masks(languages)
    found = structured_masks(languages, share, torch.Generator().manual_seed(seed))
    for one, before in ((found.within, pure.within), (found.across, pure.across)):
        assert bool((one | ~before).all())
        assert not bool(one[(languages == PADDING)[:, None, :].expand_as(one)].any())
        assert bool(one.any(-1).all())


def test_interference_has_the_share_that_was_asked_for_and_is_not_symmetric() -> None:
    languages = languages_of([(150, 150)])
    found = structured_masks(languages, 0.3, torch.Generator().manual_seed(1))
    across = (languages[:, :, None] != languages[:, None, :])[:, 1:, 1:]
    assert float(found.within[:, 1:, 1:][across].float().mean()) == pytest.approx(0.3, abs=0.01)
    assert float(found.across[:, 1:, 1:][~across].float().mean()) == pytest.approx(0.3, abs=0.01)
    assert not torch.equal(found.within, found.within.transpose(1, 2))


@settings(deadline=None)
@given(SPLITS, st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 1000), st.booleans())
def test_the_fused_call_and_the_explicit_one_equal_the_formula(
    splits: list[tuple[int, int]], share: float, seed: int, training: bool
) -> None:
    languages = languages_of(splits)
    masks = structured_masks(languages, share, torch.Generator().manual_seed(seed))
    parts = inputs(*languages.shape, seed=seed)
    with torch.set_grad_enabled(training):
        found = structured_attention(*parts, masks)
    assert float((found - reference(*parts, masks)).abs().max()) < 1e-5


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 1000))
def test_the_fast_form_equals_the_formula(context: int, question: int, seed: int) -> None:
    languages = languages_of([(context, question)])
    parts = inputs(1, context + question, seed=seed)
    expected = reference(*parts, structured_masks(languages))
    found = bilingual_attention(*parts, second=context)
    assert float((found - expected).abs().max()) < 1e-5


@pytest.mark.parametrize("kernel", [True, False])
def test_the_fast_form_of_a_long_row_equals_the_formula(kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernel:
        monkeypatch.setattr(attention, "_CPU_KERNEL", None)
    parts = inputs(1, 512, heads=12, size=32)
    expected = reference(*parts, structured_masks(languages_of([(450, 62)])))
    assert (
        float((bilingual_attention(*parts, second=450) - expected).abs().max()) < 2e-5
    )  # another processor sums in another order: 1.07e-5


def test_with_the_same_queries_and_full_masks_it_is_plain_attention() -> None:
    query, _, key, value = inputs(2, 12)
    full = torch.ones(2, 12, 12, dtype=torch.bool)
    plain = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    found = structured_attention(query, query, key, value, Masks(full, full))
    torch.testing.assert_close(found, plain, atol=1e-5, rtol=0)


def test_with_the_same_queries_the_bridge_counts_twice() -> None:
    query, _, key, value = inputs(1, 6)
    found = structured_attention(query, query, key, value, structured_masks(languages_of([(4, 2)])))
    weights = (query.double() @ key.double().transpose(-1, -2) * query.shape[-1] ** -0.5).exp()
    weights[..., 1:, 0] *= 2
    expected = weights / weights.sum(-1, keepdim=True) @ value.double()
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=0)


def test_gradients_of_the_explicit_form_are_those_of_the_formula() -> None:
    languages = languages_of([(5, 4), (3, 2)])
    masks = structured_masks(languages, 0.3, torch.Generator().manual_seed(2))
    gradients = []
    for compute in (structured_attention, reference):
        parts = [part.double().requires_grad_() for part in inputs(*languages.shape)]
        weights = torch.arange(8, dtype=torch.float64)
        (compute(*parts, masks) * weights).sum().backward()  # type: ignore[operator]
        gradients.append([part.grad for part in parts])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=0)


def test_large_scores_neither_overflow_nor_lose_gradients() -> None:
    parts = [(300 * part).requires_grad_() for part in inputs(1, 9)]
    found = structured_attention(*parts, structured_masks(languages_of([(6, 3)])))
    found.sum().backward()
    assert bool(found.isfinite().all())
    assert all(part.grad is not None and bool(part.grad.isfinite().all()) for part in parts)


def test_rows_in_one_language_have_plain_attention_by_q_alone() -> None:
    languages = languages_of([(5, 3), (2, 2)])
    parts = inputs(*languages.shape)
    masks = plain_masks(languages)
    changed = [parts[0], torch.randn_like(parts[1]), *parts[2:]]
    torch.testing.assert_close(structured_attention(*parts, masks), structured_attention(*changed, masks))


def test_structured_dropout_drops_only_across_languages_and_keeps_the_bridge() -> None:
    languages = languages_of([(80, 60)])
    found = dropout_masks(languages, 0.4, torch.Generator().manual_seed(3))
    same = languages[:, :, None] == languages[:, None, :]
    assert bool(found.within[same].all())
    assert bool(found.within[:, 0].all()) and bool(found.within[:, :, 0].all())
    assert float(found.within[:, 1:, 1:][~same[:, 1:, 1:]].float().mean()) == pytest.approx(0.6, abs=0.02)
    assert not bool(found.across.any())
