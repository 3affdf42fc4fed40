"""Words of a text, and their states."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.tagging.words import word_offsets, word_states


@pytest.mark.parametrize(("text", "words"), [
    ("Don't go, Anna-Lena.", ["Don't", "go", ",", "Anna", "-", "Lena", "."]),
    ("3.5 U.S.A. 1,000", ["3.5", "U.S.A", ".", "1,000"]),
    ("l’été في بيروت!", ["l’", "été", "في", "بيروت", "!"]),
    ("Tesla's, James' O'Brien’s", ["Tesla", "'s", ",", "James", "'", "O'", "Brien", "’s"]),
    ("aujourd'hui qu'il", ["aujourd'hui", "qu'", "il"]),
    ("می\u200cخواهم Donau\u00addampfer \u200c", ["می\u200cخواهم", "Donau\u00addampfer"]),
    ("", []),
    (" \n\t", []),
    ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
])  # fmt: skip
def test_words_are_letters_in_a_row_and_each_other_character(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in word_offsets(text, [])] == words


def test_scripts_without_spaces_are_divided_as_the_subwords_are() -> None:
    text = "東京タワーはTokyoにある"
    subwords = [(0, 2), (2, 5), (5, 6), (6, 11), (11, 14)]
    assert [text[start:end] for start, end in word_offsets(text, subwords)] == [
        "東京", "タワー", "は", "Tokyo", "にある"
    ]  # fmt: skip
    assert word_offsets("ประเทศไทย", [(0, 6), (6, 9)]) == [(0, 6), (6, 9)]


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_all_that_is_no_space_is_in_one_word(text: str, starts: list[int]) -> None:
    found = word_offsets(text, [(start, start + 1) for start in starts])
    assert all(start < end for start, end in found)
    assert all(one[1] <= other[0] for one, other in pairwise(found))
    covered = {place for start, end in found for place in range(start, end)}
    assert all(place in covered for place, character in enumerate(text) if character.isalnum())


def test_a_word_has_the_mean_of_its_subwords(encoder: Encoder) -> None:
    sentences = SentenceEncoder(encoder)
    texts = ["Der Vulkan spuckt Asche.", "", "Hafen"]
    places, states = word_states(sentences, 1, texts)
    read = sentences.encode_tokens(texts, "passage", 1)[1]
    for text, offsets, own, tokens in zip(texts, places, states, read, strict=True):
        assert own.shape == (len(offsets), sentences.width)
        for (start, end), state in zip(offsets, own, strict=True):
            inside = [one for one, (a, b) in zip(tokens.states, tokens.offsets, strict=True) if a < end and b > start]
            expected = np.mean(inside, axis=0) * sentences.width**0.5
            np.testing.assert_allclose(state, expected, rtol=1e-4, atol=1e-5, err_msg=text)


def test_a_word_without_subwords_has_the_state_0(encoder: Encoder) -> None:
    _, states = word_states(SentenceEncoder(encoder), 1, ["Hafen"], [[(0, 5), (5, 5)]])
    assert states[0][0].any() and not states[0][1].any()
