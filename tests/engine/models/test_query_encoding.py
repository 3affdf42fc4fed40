"""Encoded queries: in one batch where they come together, and from memory where they come again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.models.models import Models
from dragoman.engine.models.query_encoding import MOST_SYMBOLS, QueryEncoding, describe_left_out, without_symbols
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from tests.support.modelling import WordEncoder


@pytest.fixture
def models(encoder: WordEncoder) -> Iterator[Models]:
    opened = Models(Settings.load(), Metrics())
    opened.encoder()
    encoder.batches.clear()
    yield opened
    opened.close()


def test_queries_that_wait_together_are_encoded_in_one_batch(models: Models, encoder: WordEncoder) -> None:
    queries = QueryEncoding(models, Settings.load())
    texts = ["first", *(f"query {number}" for number in range(8))]
    encoder.barrier.clear()
    with ThreadPoolExecutor(len(texts)) as threads:
        first = threads.submit(queries.encode, models.encoder(), texts[0], None)
        while not encoder.batches:
            time.sleep(0.01)
        others = [threads.submit(queries.encode, models.encoder(), text, None) for text in texts[1:]]
        while sum(count for count, _ in models.worker.waiting().values()) < len(others):
            time.sleep(0.01)
        encoder.barrier.set()
        vectors = [future.result(60).vector for future in (first, *others)]
    assert [sorted(batch) for batch in encoder.batches] == [texts[:1], texts[1:]]
    np.testing.assert_array_equal(vectors, [encoder.vector(text) for text in texts])


def test_a_query_that_comes_again_is_not_encoded_again(models: Models, encoder: WordEncoder) -> None:
    queries, info = QueryEncoding(models, Settings.load()), models.encoder()
    query = queries.encode(info, "bee", None)
    assert queries.encode(info, "bee", queries.begin("bee")) is query
    queries.encode(info, "Bee", None)  # the exact text counts
    queries.encode(replace(info, identity="other weights"), "bee", None)
    assert encoder.texts == ["bee", "Bee", "bee"]


def test_what_was_begun_is_what_is_encoded(models: Models, encoder: WordEncoder) -> None:
    queries = QueryEncoding(models, Settings.load())
    begun = queries.begin("bee")
    assert begun is not None
    assert queries.encode(models.encoder(), "bee", begun) is begun.result()
    assert encoder.texts == ["bee"]


def test_nothing_is_begun_by_an_encoder_that_is_not_loaded(encoder: WordEncoder) -> None:
    models = Models(Settings.load(), Metrics())
    assert QueryEncoding(models, Settings.load()).begin("bee") is None
    models.close()


@pytest.mark.parametrize(("room", "encodings"), [(0, 4), (5_000, 4), (1 << 20, 2)])
def test_the_room_for_queries_is_limited_and_the_oldest_goes(
    room: int, encodings: int, models: Models, encoder: WordEncoder
) -> None:
    queries, info = QueryEncoding(models, Settings.load(query_cache_bytes=room)), models.encoder()
    long_query = "harbour " * 300
    for text in ("bee", long_query, "bee", long_query):  # of which 5,000 bytes hold one
        queries.encode(info, text, None)
    assert len(encoder.texts) == encodings


def test_of_thousands_of_symbols_a_few_are_encoded(models: Models, encoder: WordEncoder) -> None:
    queries, ship = QueryEncoding(models, Settings.load()), "\N{SHIP}\N{VARIATION SELECTOR-16}"
    query = f"bee {ship * 5_000} sting"
    queries.encode(models.encoder(), query, None)
    queries.encode(models.encoder(), f"{query}s", queries.begin(f"{query}s"))
    assert [text.split() for text in encoder.texts] == [
        ["bee", ship * (MOST_SYMBOLS + 5), last] for last in ("sting", "stings")
    ]


@given(st.text(max_size=300), st.integers(0, 300))
def test_letters_stay_in_their_places(text: str, symbols: int) -> None:
    query = "!" * symbols + text
    left = without_symbols(query)
    assert len(left) == len(query)
    assert all(kept == letter for kept, letter in zip(left, query, strict=True) if letter.isalnum())
    assert (describe_left_out(query) is None) == (left == query)


def test_what_is_written_is_encoded_as_it_is() -> None:
    code = 'print("{}, {}!".format(ship["name"], [port.name for port in ports])) # '
    assert without_symbols(code * 20) == code * 20
