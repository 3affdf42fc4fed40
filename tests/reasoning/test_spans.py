"""The best spans of a row, held against every span there is."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.encoder import Encoder
from dragoman.reasoning.spans import LONGEST, Span, best_spans, masked_scores
from dragoman.reasoning.structured_encoder import QuestionRow, row_of
from tests.reasoning.samples import reader


def every_span(scores: torch.Tensor, row: QuestionRow) -> list[Span]:
    none = float(scores[0, 0] + scores[0, 1])
    places = range(row.first, row.second - 1)
    found = [
        Span(start, end, float(scores[start, 0] + scores[end, 1]) - none)
        for start in places
        for end in places
        if start <= end < start + LONGEST
    ]
    return sorted(found, key=lambda span: -span.score)


@given(st.integers(0, 60), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10_000))
def test_the_best_spans_are_those_of_a_full_search(context: int, question: int, count: int, seed: int) -> None:
    row = QuestionRow(list(range(context + question + 3)), 1, context + 2)
    scores = torch.randn(len(row.ids), 2, generator=torch.Generator().manual_seed(seed))
    expected: list[Span] = []
    for span in every_span(scores, row):
        if len(expected) < count and all(span.end < one.start or one.end < span.start for one in expected):
            expected.append(span)
    found = best_spans(scores, row, count)
    assert [(one.start, one.end) for one in found] == [(one.start, one.end) for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)


def test_only_the_context_and_the_first_position_have_scores() -> None:
    rows = [QuestionRow([0, 5, 6, 2, 7, 2], 1, 4), QuestionRow([0, 5, 2, 7, 2], 1, 3)]
    found = masked_scores(torch.zeros(2, 6, 2), rows)
    assert found[0, :, 0].tolist() == [0, 0, 0, -torch.inf, -torch.inf, -torch.inf]
    assert found[1, :, 1].tolist() == [0, 0, -torch.inf, -torch.inf, -torch.inf, -torch.inf]


def test_scores_do_not_depend_on_the_rows_beside(encoder: Encoder) -> None:
    model = reader(encoder)
    rows = [row_of(encoder, list(range(5, 15)), [5, 6]), row_of(encoder, [7, 8], [9])]
    with torch.inference_mode():
        together = model(rows)
        alone = model(rows[1:])
    torch.testing.assert_close(together[1, : len(rows[1].ids)], alone[0], atol=1e-4, rtol=0)
