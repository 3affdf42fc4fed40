"""Sentence encoding: unit rows that depend on nothing but the text."""

import math

import numpy as np
import pytest
import torch

from dragoman.backbone.encoder import VecoEncoder
from dragoman.backbone.sentences import UNRELATED, SentenceEncoder
from dragoman.backbone.tokenizer import BOS, EOS, Subwords, cut_evenly
from dragoman.deadline import deadline
from tests.backbone.samples import SENTENCES, raw_lines, tiny


@pytest.fixture(scope="module")
def encoder(subwords: Subwords) -> VecoEncoder:
    return VecoEncoder(tiny(len(subwords)), subwords, "tiny", 1)


def test_rows_have_length_one_and_do_not_depend_on_each_other(encoder: VecoEncoder) -> None:
    texts = [SENTENCES[0][0], raw_lines("sw")[0] * 4, "", "honey", " \n", SENTENCES[9][1]]
    sentences = SentenceEncoder(encoder, dtype=torch.float32)
    rows = sentences.encode(texts)
    assert rows.dtype == np.float32
    assert rows.shape == (6, sentences.width) == (6, 32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    for size in (1, 2, 64):
        np.testing.assert_allclose(sentences.encode(texts, size), rows, atol=1e-5)
    np.testing.assert_allclose(sentences.encode(texts[::-1])[::-1], rows, atol=1e-5)
    np.testing.assert_array_equal(rows[2], rows[4])
    assert sentences.encode([]).shape == (0, 32)


def test_a_long_text_is_the_mean_over_its_windows(encoder: VecoEncoder) -> None:
    text = raw_lines("sw")[0] * 5
    ids = encoder.vocabulary.ids([text])[0]
    windows = cut_evenly(ids, 30)
    assert len(windows) > 3
    states = []
    with torch.no_grad():
        for window in windows:
            row = torch.tensor([[BOS, *window, EOS]])
            states.append(encoder.model.encode(row, torch.ones_like(row, dtype=torch.bool))[1][0])
    mean = torch.cat(states).mean(0)
    np.testing.assert_allclose(
        SentenceEncoder(encoder, dtype=torch.float32).encode([text])[0], mean / mean.norm(), atol=1e-5
    )


def test_a_pass_makes_way_between_its_layers_and_goes_on_as_if_it_had_not(
    encoder: VecoEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.deadline._POLL_SECONDS", 0.0)
    sentences = SentenceEncoder(encoder, 2, torch.float32)
    long, short = [raw_lines("sw")[0] * 3], ["honey"]
    expected, other = sentences.encode(long), sentences.encode(short)
    inside: list[bool] = []

    def make_way() -> bool:
        if not inside or not inside[-1]:
            inside.append(True)
            np.testing.assert_array_equal(sentences.encode(short), other)
            inside[-1] = False
        return False

    with deadline(math.inf, make_way):
        np.testing.assert_array_equal(sentences.encode(long), expected)
    assert len(inside) >= 2  # layers


def test_layers(encoder: VecoEncoder) -> None:
    assert SentenceEncoder(encoder, dtype=torch.float32).name == "tiny@1"
    rows = [SentenceEncoder(encoder, layer, torch.float32).encode(["honey"]) for layer in (0, 1, 2)]
    assert not np.allclose(rows[0], rows[1]) and not np.allclose(rows[1], rows[2])
    for layer in (-1, 3):
        with pytest.raises(ValueError, match="not one of tiny's 0 to 2"):
            SentenceEncoder(encoder, layer, torch.float32)


def test_a_row_too_long_is_refused(encoder: VecoEncoder) -> None:
    assert encoder.room == 30
    with pytest.raises(ValueError, match="33 subwords are more than tiny reads, 32"):
        encoder.batch([[7] * 31])


def test_the_cosine_of_unrelated_sentences_is_measured_unless_the_model_states_it(encoder: VecoEncoder) -> None:
    sentences = SentenceEncoder(encoder)
    rows = sentences.encode(UNRELATED)
    pairs = [rows[i] @ rows[j] for i in range(len(rows)) for j in range(len(rows)) if i != j]
    assert sentences.unrelated_cosine == pytest.approx(min(0.99, np.mean(pairs)), abs=1e-4)
    stated = SentenceEncoder(encoder)
    stated.encoder.unrelated_cosine = 0.4
    try:
        assert stated.unrelated_cosine == 0.4
    finally:
        stated.encoder.unrelated_cosine = None
