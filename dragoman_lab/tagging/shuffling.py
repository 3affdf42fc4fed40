"""Other orders of a sentence's words: names stay whole, and no unit moves farther than `k` places."""

from __future__ import annotations

import math

import numpy as np

from dragoman.tagging.labels import spans
from dragoman_lab.tagging.sentences import Sentence


def units(labels: tuple[str, ...], whole: bool) -> list[list[int]]:
    """The places of words that stay together: each name, and each other word; with `whole` false each word."""
    groups: list[list[int]] = []
    named = {span.start: span.end for span in spans(labels)} if whole else {}
    place = 0
    while place < len(labels):
        end = named.get(place, place + 1)
        groups.append(list(range(place, end)))
        place = end
    return groups


def shuffle(sentence: Sentence, k: float, noise: np.random.Generator, *, whole: bool) -> Sentence:
    """A sentence whose units are in another order, each at most `k` places away from its own; `math.inf`: any order.

    The order is that of i + U(0, k + 1), as in noising for denoising autoencoders (Lample et al. 2018).
    """
    parts = units(sentence.labels, whole)
    drawn = noise.random(len(parts))
    keys = drawn if math.isinf(k) else np.arange(len(parts)) + drawn * (k + 1)
    order = [place for index in np.argsort(keys, kind="stable") for place in parts[index]]
    return Sentence(
        tuple(sentence.words[place] for place in order),
        tuple(sentence.labels[place] for place in order),
        (True,) * len(order),
    )
