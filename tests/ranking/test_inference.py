"""The inference engine against the model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from dragoman.backbone import packing, post_norm, products
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.products import Product
from dragoman.lexicon.table.table import Table
from dragoman.ranking.attention import TranslationReference
from dragoman.ranking.inference import for_inference
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.passages import Passage, tokenize_texts
from dragoman.ranking.scoring import Scorer, padded_states, pool_passages
from tests.ranking.samples import split

TABLE = Table.from_entries("en", "de", [("bee", "biene", 0.9, 0.7), ("honey", "honig", 0.8, 0.8)])
DOCUMENTS = ["die Biene findet Honig", "", "graue Asche", "ein Schiff sieht den alten Hafen", "Salz", "die Biene"]
HEADS = [[], [0], [-1], [0, -1]]


def model_of(encoder: Encoder, heads: list[int], sides: bool = True) -> Mart:
    model = Mart(encoder, MartConfig(heads, "official", sides))
    with torch.no_grad():
        for parameter in (model.score.weight, model.pool.weight, *(model.sides.parameters() if model.sides else ())):
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    return model.eval()


def passages_of(scorer: Scorer, documents: list[str]) -> list[Passage]:
    query = split("the bee and honey", "en")
    found = [split(document, "de") for document in documents]
    links = [TranslationReference(query, TABLE).links(one) for one in found]
    asked, *rest = tokenize_texts(
        scorer.encoder, ["the bee and honey", *documents], [one.spans for one in (query, *found)]
    )
    return [row for document in scorer.rows(asked, rest, links) for row in document]


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("sides", [True, False])
def test_states_are_the_model_s_own(encoder: Encoder, heads: list[int], sides: bool) -> None:
    model = model_of(encoder, heads, sides)
    rows, fast = passages_of(Scorer(model), DOCUMENTS), for_inference(model)
    assert fast is not None
    with torch.inference_mode():
        expected = pool_passages(partial(padded_states, model), rows, 50)
        assert torch.allclose(pool_passages(fast, rows, 50), expected, atol=1e-5)
        assert torch.allclose(fast(rows), expected, atol=1e-5)  # in any order of lengths


def by_row(query, key, value, ends_q, ends_k, longest_q, longest_k):  # type: ignore[no-untyped-def]
    """What a GPU's kernel for rows of different lengths gives."""
    out = torch.empty_like(query)
    assert longest_q == int(ends_q.diff().max()) and longest_k == int(ends_k.diff().max())
    assert ends_q.dtype == ends_k.dtype == torch.int32 and int(ends_q[-1]) == len(query)
    for row in range(len(ends_q) - 1):
        q, k = slice(*ends_q[row : row + 2].tolist()), slice(*ends_k[row : row + 2].tolist())
        weights = torch.einsum("qhd,khd->hqk", query[q], key[k]) / query.shape[-1] ** 0.5
        out[q] = torch.einsum("hqk,khd->qhd", weights.softmax(-1), value[k])
    return out


def test_a_kernel_for_rows_of_different_lengths_gets_their_ends(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    model = model_of(encoder, [0])
    rows, fast = passages_of(Scorer(model), DOCUMENTS), for_inference(model)
    assert fast is not None
    monkeypatch.setattr(post_norm, "_has_kernel", lambda x: True)
    monkeypatch.setattr(varlen, "varlen_attn", by_row)
    monkeypatch.setattr(packing, "padded_size", lambda size: size)  # no padding at the end, as on a GPU
    with torch.inference_mode():
        assert torch.allclose(fast(rows), padded_states(model, rows), atol=1e-5)


def test_sixteen_bits_are_close(encoder: Encoder) -> None:
    model = model_of(encoder, [0])
    rows, fast = passages_of(Scorer(model), DOCUMENTS), for_inference(model, torch.bfloat16)
    assert fast is not None
    with torch.inference_mode():
        states, expected = fast(rows), padded_states(model, rows)
    assert states.dtype == torch.float32
    assert float((states - expected).abs().mean()) < 0.02


def test_an_encoder_of_another_kind_is_read_by_the_model(hub: dict[str, Path]) -> None:
    model = Mart(load_encoder(str(hub["mt5-encoder"])), MartConfig([], sides=False))
    assert for_inference(model) is None
    scorer = Scorer(model)
    rows = passages_of(scorer, DOCUMENTS)
    assert np.isfinite(scorer.scores([[row] for row in rows])).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 40), st.booleans(), st.sampled_from(["kernel", "torch"]))
def test_a_product_is_a_linear_layer(rows: int, width: int, outputs: int, bias: bool, by: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if by == "torch":
            patch.setattr(products, "_pack_weight", lambda weight: None)
        generator = torch.Generator().manual_seed(rows)
        x, weight = torch.randn(rows, width, generator=generator), torch.randn(outputs, width, generator=generator)
        added: Any = torch.randn(outputs, generator=generator) if bias else None
        one, expected = Product(weight, added), F.linear(x, weight, added)
        assert torch.allclose(one(x), expected, atol=1e-4)
        assert torch.allclose(one.gelu(x), F.gelu(expected), atol=1e-4)
