"""The part of long documents that is read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.ranking.limits import DOCUMENT_SUBWORDS, readable
from dragoman_lab.backbone.small import SMALL

PARTS = ["ash ", "Vulkan", "火山喷发了", "ภูเขาไฟ", " \n\t", "é", "1", "x" * 40, "بركان ", "👍🏽", "\u200d"]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(str(SMALL), "cpu")


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=30), st.integers(1, 400))
def test_the_prefix_contains_what_is_read(encoder: Encoder, parts: list[str], times: int) -> None:
    text = "".join(parts) * times
    beginning = readable(text)
    assert text.startswith(beginning)
    whole, part = (found.ids for found in encoder.subwords([text, beginning]))
    assert part[:DOCUMENT_SUBWORDS] == whole[:DOCUMENT_SUBWORDS]
    assert beginning == text or len(part) > DOCUMENT_SUBWORDS


def test_the_prefix_is_a_small_part_of_a_long_text() -> None:
    assert len(readable("volcano " * 100_000)) < 10 * DOCUMENT_SUBWORDS
    assert len(readable("火" * 100_000)) < 20 * DOCUMENT_SUBWORDS
    assert readable("volcano " * 700) == "volcano " * 700
