"""A text's vector and states are its own, whatever texts are encoded with it: bit for bit, in each precision.

Where a processor's products round a row by how many rows there are, that is as far as its arithmetic allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.backbone.loading import load_encoder
from dragoman.backbone.products import product, runs
from dragoman.backbone.sentences import SentenceEncoder

LAYER = 8
PRECISIONS = (torch.float32, torch.bfloat16, torch.int8)
ROUNDING = 0.02
WORDS = ["the", "minister", "of", "finance", "said", "Regen", "im", "Tal", "вода", "東京の天気", "🌋", "1,024"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)
BATCHES = st.lists(TEXTS, min_size=2, max_size=6)


@cache
def encoder_in(precision: torch.dtype) -> SentenceEncoder:
    return SentenceEncoder(load_encoder(), dtype=precision)


@cache
def rows_stand_alone(precision: torch.dtype) -> bool:
    """Whether this processor computes a row of a product in the same way whatever rows are beside it."""
    generator = torch.Generator().manual_seed(1)
    between = torch.float32 if precision == torch.int8 else precision
    parts = [slice(start, start + size) for start in (0, 320) for size in (*range(4, 132, 4), 160, 256, 512)]
    for inputs, outputs in ((384, 1536), (1536, 384), (384, 384)):
        rows = torch.randn(1024, inputs, generator=generator).to(between)
        layer = product(torch.randn(outputs, inputs, generator=generator), None, precision)
        together = layer(rows)
        if not all(torch.equal(layer(rows[part]), together[part]) for part in parts):
            return False
    return True


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@settings(max_examples=5, deadline=None)
@given(texts=BATCHES)
def test_a_text_is_encoded_the_same_alone_and_among_others(precision: torch.dtype, texts: list[str]) -> None:
    if not runs("cpu", precision):
        pytest.skip(f"this processor has no {precision}")
    encoder = encoder_in(precision)
    vectors, tokens = encoder.encode_tokens(texts, "query", LAYER)
    spans = [[(0, len(text) // 2), (len(text) // 2, len(text))] for text in texts]
    of_passages, parts, states = encoder.encode_passages(texts, spans, LAYER)
    for row, (text, of_text) in enumerate(zip(texts, spans, strict=True)):
        (vector,), (alone,) = encoder.encode_tokens([text], "query", LAYER)
        compare(precision, [vectors[row], tokens[row].states], [vector, alone.states])
        assert tokens[row].offsets == alone.offsets
        (passage,), (own_parts,), (own_states,) = encoder.encode_passages([text], [of_text], LAYER)
        compare(precision, [of_passages[row], parts[row], states[row]], [passage, own_parts, own_states])


def compare(
    precision: torch.dtype, together: Sequence[NDArray[np.float32]], alone: Sequence[NDArray[np.float32]]
) -> None:
    for of_batch, own in zip(together, alone, strict=True):
        if rows_stand_alone(precision):
            np.testing.assert_array_equal(of_batch, own)
        else:
            np.testing.assert_allclose(of_batch, own, atol=1e-4 if precision == torch.float32 else ROUNDING)
