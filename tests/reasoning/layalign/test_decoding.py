"""Continuous batching against answers generated one at a time."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from dragoman.reasoning.layalign.decoding import Decoder, Stream
from dragoman.reasoning.layalign.model import EncoderStates, LayAlign, LayAlignConfig, Prompt
from tests.reasoning.layalign.tiny import KINDS, LAYERS, WIDTH, joined, llm


class Reader:
    """An encoder whose states of a subword are drawn by its number."""

    pad = 0

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
        table = torch.randn(LAYERS + 1, 50, WIDTH, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
        return [layer[ids] for layer in table]


READER: Any = Reader()


def streams(count: int, drawn: int, **given: Any) -> list[Stream]:
    noise = random.Random(drawn)
    return [
        Stream(
            [noise.randrange(1, 50) for _ in range(noise.randrange(1, 9))],
            Prompt([1], [noise.randrange(3, 40) for _ in range(noise.randrange(0, 5))]),
            noise.randrange(1, 14),
            **given,
        )
        for _ in range(count)
    ]


def alone(model: LayAlign, stream: Stream) -> list[int]:
    """What `generate` makes of one stream."""
    ids = torch.tensor([list(stream.ids)])
    read = EncoderStates(torch.stack(READER(ids, torch.ones_like(ids))), torch.ones_like(ids, dtype=torch.bool))
    return model.generate(read, [stream.prompt], max_new_tokens=stream.limit)[0]


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("config", [LayAlignConfig(), LayAlignConfig(fusion="none"), LayAlignConfig(adapter="none")])
@pytest.mark.parametrize("seed", [1, 2])
def test_streams_that_come_and_go_are_answered_as_if_alone(kind: str, config: LayAlignConfig, seed: int) -> None:
    model = joined(llm(kind), config, gates=0.5)
    decoder, noise = Decoder(model, READER), random.Random(seed)
    waiting, running = streams(12, seed), []
    every = list(waiting)
    while waiting or running:
        for _ in range(noise.randrange(0, 4)):
            if waiting:
                running.append(waiting.pop())
        decoder.advance(running, noise.randrange(1, 5))
        running = [one for one in running if not one.done]
        noise.shuffle(running)
        assert decoder.decoding == len(running)
    for one in every:
        assert one.tokens == alone(model, one)
        assert one.ended == (len(one.tokens) < one.limit)


def test_a_stream_that_is_not_named_loses_its_row_and_goes_on_when_it_is_named_again() -> None:
    model = joined(llm(), gates=0.5)
    decoder, noise = Decoder(model, READER), random.Random(7)
    every = [replace(one, limit=10) for one in streams(8, 3)]
    while any(not one.done for one in every):
        some = noise.sample(every, noise.randrange(1, 6))
        decoder.advance(some, noise.randrange(1, 4))
        assert decoder.decoding == sum(not one.done for one in some)
    assert [one.tokens for one in every] == [alone(model, one) for one in every]


def test_rows_are_no_longer_than_new_answers_need_once_a_long_one_has_ended() -> None:
    model = joined(llm(), gates=0.5)
    decoder = Decoder(model, READER)
    brief = [replace(one, limit=12) for one in streams(6, 4)]
    long = replace(streams(1, 5)[0], limit=900)
    decoder.advance([long], 1)
    decoder.advance([*brief[:3], long], 2)
    assert decoder.room >= (4, 900)
    decoder.advance(brief, 1)
    assert decoder.decoding and decoder.room[1] < 100
    decoder.advance(brief, 30)
    assert [one.tokens for one in brief] == [alone(model, one) for one in brief]
    assert decoder.room == (0, 0)


@pytest.mark.parametrize("temperature", [1e-320, 1e-40, 1e-6])
def test_the_least_temperature_takes_the_likeliest_token(temperature: float) -> None:
    logits = torch.tensor([1.0, 80.0, 79.9, -torch.inf])
    stream = Stream([1], Prompt([1], []), 3, temperature)
    stream.take(logits, ())
    assert stream.tokens == [1]


def test_what_is_drawn_depends_on_the_seed_alone() -> None:
    model = joined(llm(), gates=0.5)
    given = {"temperature": 2.0, "seed": 4}
    together, apart = streams(6, 8, **given), streams(6, 8, **given)
    Decoder(model, READER).advance(together, 40)
    for one in apart:
        Decoder(model, READER).advance([one], 40)
    assert [one.tokens for one in together] == [one.tokens for one in apart]
    others = streams(6, 8, temperature=2.0, seed=5)
    Decoder(model, READER).advance(others, 40)
    assert [one.tokens for one in others] != [one.tokens for one in together]
