"""Generation that is led to phrases, by small random models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.backbone.constraints.phrases import Phrase, Vocabulary, has_phrase
from dragoman.backbone.constraints.steering import Steering
from dragoman.backbone.loading import load_translator
from dragoman.backbone.seq2seq import Seq2Seq
from dragoman.backbone.tokenizer import Subwords
from dragoman.backbone.translator import VecoTranslator
from dragoman.reasoning.layalign.decoding import Decoder, Stream
from dragoman.reasoning.layalign.model import LayAlign
from tests.backbone.samples import tiny
from tests.reasoning.layalign.test_decoding import READER, streams
from tests.reasoning.layalign.tiny import VOCABULARY, joined, llm
from tests.support.backbones import tiny_t5

ENDS = 30
"""From here on the tiny LLM's tokens end an answer, so that it soon ends."""
WORDS = Vocabulary(
    lambda text: [int(word[1:]) for word in text.split()],
    lambda tokens: " ".join(f"w{token}" for token in tokens),
    lambda: [f" w{token}" for token in range(VOCABULARY)],
)
"""Of the tiny LLM: one token a word, of which the numbers are none in a text."""
DIGITS = Vocabulary(
    lambda text: [" 0123456789,.ab".index(sign) for sign in text],
    lambda tokens: "".join(" 0123456789,.ab"[token] for token in tokens),
    lambda: list(" 0123456789,.ab"),
)


@pytest.fixture(scope="module")
def model() -> LayAlign:
    return joined(replace(llm(), ends=list(range(ENDS, VOCABULARY))), gates=0.5)


def led(stream: Stream, phrases: list[Phrase]) -> Stream:
    steered = replace(stream, tokens=[], limit=40)
    steered.steering = Steering(WORDS, phrases)
    return steered


@settings(max_examples=25, deadline=None)
@given(
    words=st.lists(st.lists(st.integers(3, ENDS - 1), min_size=1, max_size=3), min_size=1, max_size=3),
    seed=st.integers(0, 5),
)
def test_an_answer_that_ends_has_its_phrases_whoever_it_is_decoded_with(
    model: LayAlign, words: list[list[int]], seed: int
) -> None:
    phrases = [Phrase((WORDS.decode(ids),)) for ids in words]
    plain = streams(3, seed)
    together = [led(plain[0], phrases), *(replace(stream, tokens=[]) for stream in plain[1:])]
    Decoder(model, READER).advance(together, 400)
    alone = led(plain[0], phrases)
    decoder = Decoder(model, READER)
    while not alone.done:
        decoder.advance([alone], 3)
        decoder.advance([], 0)  # its row is lost, and what it has is read anew
    assert together[0].tokens == alone.tokens
    if alone.ended:
        assert all(has_phrase(WORDS.decode(alone.tokens), phrase) for phrase in phrases)


def test_a_hint_is_left_out_where_it_costs_too_much(model: LayAlign) -> None:
    (stream,) = streams(1, 2)
    phrases = [Phrase((f"w{token}",), "hint") for token in range(3, ENDS)]
    free, hinted = led(stream, []), led(stream, phrases)
    for each in (free, hinted):
        Decoder(model, READER).advance([each], 400)
    assert free.ended
    assert hinted.ended
    assert len(free.tokens) < len(hinted.tokens) < len(phrases)


@settings(max_examples=60, deadline=None)
@given(
    amounts=st.lists(st.integers(0, 99_999), max_size=3).map(lambda given: [f"{amount:,}" for amount in given]),
    seed=st.integers(0, 1_000),
)
def test_numbers_are_those_that_are_given_each_once(amounts: list[str], seed: int) -> None:
    noise = torch.Generator().manual_seed(seed)
    stream = Stream([1], SimpleNamespace(before=[1], after=[]), 60)  # type: ignore[arg-type]
    stream.steering = Steering(DIGITS, [Phrase((amount,), "amount") for amount in amounts], numbers=True)
    while not stream.done:
        stream.take(torch.randn(15, generator=noise) * 3, ends=[14])
    written = DIGITS.decode(stream.tokens)
    numbers = [part.rstrip(",.") for part in written.replace("a", " ").split() if any(map(str.isdigit, part))]
    if stream.ended:
        assert sorted(set(numbers)) == sorted(set(amounts)), written


def test_beams_of_our_translator_have_the_terms_of_their_own_text_alone(subwords: Subwords) -> None:
    ours = VecoTranslator(Seq2Seq(tiny(len(subwords)), 1).eval(), subwords, "ours", ["de", "en"])
    texts, term = ["the bee finds honey", "salt", "a ship at anchor"], Phrase(("honey",))
    free = ours.translate(texts, "en", "de", beam=2)
    together = ours.translate(texts, "en", "de", beam=2, phrases=[[], [term], []])
    assert has_phrase(together[1].text, term) or not together[1].whole
    assert [together[0], together[2]] == [free[0], free[2]]
    assert together[1] == ours.translate(["salt"], "en", "de", beam=2, phrases=[[term]])[0]


def test_beams_of_a_checkpoint_have_the_terms_of_their_own_text_alone(tmp_path: Path) -> None:
    translator: Any = load_translator(str(tiny_t5(tmp_path / "t5")))
    texts, term = ["Ships at anchor.", "A bee"], Phrase(("bee",))
    free = translator.translate(texts, "en", "de", beam=3)
    together = translator.translate(texts, "en", "de", beam=3, phrases=[[], [term]])
    assert has_phrase(together[1].text, term) or not together[1].whole
    assert together[0] == free[0]
    assert len(free[0].others) <= 2
