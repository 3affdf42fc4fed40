"""Encoders of each kind with Q_cross: unchanged without masks, the formula's attention with them."""

from __future__ import annotations

from threading import Thread

import pytest
import torch

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import pad_rows
from dragoman.reasoning.structured_attention import Masks, structured_masks
from dragoman.reasoning.structured_encoder import StructuredEncoder, languages_of, row_of

TEXTS = [("the old bridge crosses the river", "wo ist die brücke"), ("rain", "was fällt vom himmel")]


def rows_of(encoder: Encoder) -> tuple[list, torch.Tensor, torch.Tensor]:  # type: ignore[type-arg]
    rows = []
    for context, question in TEXTS:
        first, second = encoder.subwords([context, question])
        rows.append(row_of(encoder, first.ids[:14], second.ids[:12]))
    return rows, *pad_rows([row.ids for row in rows], torch.device("cpu"), encoder.pad)


def test_a_row_is_the_context_then_the_question_with_one_separator(encoder: Encoder) -> None:
    row = row_of(encoder, [7, 8], [9])
    begin, end = encoder.frame([])[0], encoder.frame([])[-1]
    assert row.ids == [begin, 7, 8, end, 9, end]
    assert (row.first, row.second) == (1, 4)


def test_without_masks_and_with_full_ones_it_is_the_encoder_exactly(encoder: Encoder) -> None:
    _rows, ids, mask = rows_of(encoder)
    with torch.no_grad():
        before = encoder(ids, mask)
        structured = StructuredEncoder(encoder)
        without = structured(ids, mask)
        seen = mask[:, None, :].expand(-1, ids.shape[1], -1)
        full = structured(ids, mask, Masks(seen, seen))
    for expected, found, twice in zip(before, without, full, strict=True):
        torch.testing.assert_close(found[mask], expected[mask])
        torch.testing.assert_close(twice[mask], expected[mask], atol=2e-5, rtol=0)


def test_q_cross_changes_only_rows_in_two_languages_and_can_be_swapped(encoder: Encoder) -> None:
    rows, ids, mask = rows_of(encoder)
    structured = StructuredEncoder(encoder)
    masks = structured_masks(languages_of(rows, ids.shape[1], torch.device("cpu")))
    with torch.no_grad():
        as_copied = structured(ids, mask, masks)[-1]
        alone = structured(ids, mask)[-1]
        first = {name: value.clone() for name, value in structured.cross_parameters().items()}
        generator = torch.Generator().manual_seed(1)
        other = {name: value + torch.randn(value.shape, generator=generator) for name, value in first.items()}
        structured.set_cross(other)
        assert float((structured(ids, mask, masks)[-1] - as_copied)[mask].abs().max()) > 1e-3
        torch.testing.assert_close(structured(ids, mask)[-1], alone)
        structured.set_cross(first)
        torch.testing.assert_close(structured(ids, mask, masks)[-1], as_copied)


def test_a_row_does_not_depend_on_the_rows_beside_it(encoder: Encoder) -> None:
    rows, ids, mask = rows_of(encoder)
    structured = StructuredEncoder(encoder)
    with torch.no_grad():
        together = structured(ids, mask, structured_masks(languages_of(rows, ids.shape[1], ids.device)))[-1]
        for number, row in enumerate(rows):
            own, seen = pad_rows([row.ids], ids.device, encoder.pad)
            masks = structured_masks(languages_of([row], len(row.ids), ids.device))
            alone = structured(own, seen, masks)[-1][0]
            torch.testing.assert_close(together[number, : len(row.ids)], alone, atol=1e-5, rtol=0)


def test_parts_of_q_cross_that_do_not_fit_are_refused(encoder: Encoder) -> None:
    structured = StructuredEncoder(encoder)
    with pytest.raises(CheckpointError, match=r"99\.weight"):
        structured.set_cross({"99.weight": torch.zeros(2, 2)})
    with pytest.raises(CheckpointError, match=r"0\.bias"):
        structured.set_cross({"0.bias": torch.zeros(1)})


def test_passes_in_the_middle_of_each_other_have_masks_of_their_own(encoder: Encoder) -> None:
    """The first pass stops before its last layer, while others run on another thread and on its own."""
    rows, ids, mask = rows_of(encoder)
    structured = StructuredEncoder(encoder)
    masks = structured_masks(languages_of(rows, ids.shape[1], ids.device))
    for name, cross in structured.cross_parameters().items():
        if name.endswith("weight"):
            cross.data += torch.randn(cross.shape, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        with_masks, without = structured(ids, mask, masks)[-1], structured(ids, mask)[-1]
    inner: list[torch.Tensor] = []

    @torch.no_grad()
    def pass_without() -> None:
        inner.append(structured(ids, mask)[-1])

    def run_others(_layer: torch.nn.Module, _inputs: object) -> None:
        hook.remove()
        thread = Thread(target=pass_without)
        thread.start()
        thread.join()
        pass_without()

    hook = structured.layers[-1].register_forward_pre_hook(run_others)
    with torch.no_grad():
        outer = structured(ids, mask, masks)[-1]
    assert float((with_masks - without)[mask].abs().max()) > 1e-3
    torch.testing.assert_close(outer, with_masks)
    for states in inner:
        torch.testing.assert_close(states, without)
    assert len(inner) == 2
