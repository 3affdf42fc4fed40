"""Other orders of words: what stays together, and how far it moves."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tagging.labels import spans
from dragoman_lab.tagging.sentences import Sentence
from dragoman_lab.tagging.shuffling import shuffle, units

rows = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC"]), min_size=1, max_size=12)


def sentence(labels: list[str]) -> Sentence:
    return Sentence(tuple(f"w{place}" for place in range(len(labels))), tuple(labels), (False,) * len(labels))


@given(rows, st.integers(0, 4), st.integers(0, 1000))
def test_no_unit_moves_farther_than_k(labels: list[str], k: int, seed: int) -> None:
    before = sentence(labels)
    after = shuffle(before, k, np.random.default_rng(seed), whole=True)
    order = [int(word[1:]) for word in after.words]
    assert sorted(order) == list(range(len(labels)))
    assert [before.labels[place] for place in order] == list(after.labels)
    parts = units(before.labels, True)
    number = {place: place_of for place_of, part in enumerate(parts) for place in part}
    moved = list(dict.fromkeys(number[place] for place in order))
    assert all(abs(one - place) <= k for place, one in enumerate(moved))
    assert [place for one in moved for place in parts[one]] == order  # names stay whole, their words in order
    kinds = sorted((span.label, span.end - span.start) for span in spans(before.labels))
    joined = sorted((span.label, span.end - span.start) for span in spans(after.labels))
    assert sum(size for _, size in joined) == sum(size for _, size in kinds)


def test_k_0_changes_nothing_and_infinity_gives_any_order() -> None:
    before = sentence(["O"] * 4)
    assert shuffle(before, 0, np.random.default_rng(1), whole=True).words == before.words
    noise = np.random.default_rng(1)
    seen = {shuffle(before, math.inf, noise, whole=True).words for _ in range(600)}
    assert len(seen) == 24


def test_words_of_names_move_apart_where_names_are_not_kept() -> None:
    before = sentence(["B-PER", "I-PER", "O", "O"])
    noise = np.random.default_rng(1)
    assert any(
        shuffle(before, math.inf, noise, whole=False).labels.index("I-PER")
        != shuffle(before, math.inf, noise, whole=False).labels.index("B-PER") + 1
        for _ in range(20)
    )
