"""Answers on the worker, one of which fails."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.engine.core.errors import InternalError
from dragoman.engine.models.generation import Generate, Generation, advance_generations
from dragoman.engine.models.queue.batches import Limits
from dragoman.engine.models.queue.worker import Worker
from dragoman.reasoning.layalign.decoding import Decoder
from tests.reasoning.layalign.test_decoding import READER, alone, streams
from tests.reasoning.layalign.tiny import joined, llm


def test_an_answer_that_fails_fails_alone() -> None:
    model = joined(llm(), gates=0.5)
    reasoner: Any = SimpleNamespace(decoder=Decoder(model, READER), text=lambda tokens: " ".join(map(str, tokens)))
    good = [replace(one, limit=9) for one in streams(5, 3)]
    bad = replace(streams(1, 8)[0], limit=9, temperature=math.nan)  # whose tokens cannot be drawn
    worker = Worker(lambda _, items: advance_generations(reasoner, items), 100, lambda _: Limits(32, 10_000))
    try:
        every = [good[0], good[1], bad, *good[2:]]
        futures = worker.submit(Generate(), [Generation(one) for one in every], costs=[1] * len(every))
        for stream, future in zip(every, futures, strict=True):
            if stream is bad:
                with pytest.raises(InternalError, match="the LLM failed on this text"):
                    future.result(60)
            else:
                assert future.result(60).stream.tokens == alone(model, stream)
    finally:
        worker.close()
