"""Late interaction's match against its formula, word by word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.ranking.maxsim import LINKED, inside, matches

LINKS = st.sampled_from([0.0, LINKED, 1.0])
COSINES = st.sampled_from([-0.2, 0.3, 0.7, 0.85, 0.95])


@dataclass
class Document:
    similarities: list[float]
    known: bool
    links: list[float]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Document], list[float]]:
    subwords = draw(st.integers(1, 6))
    row = {"min_size": subwords, "max_size": subwords}
    document = st.builds(Document, st.lists(COSINES, **row), st.booleans(), st.lists(LINKS, **row))
    documents = draw(st.lists(document, min_size=1, max_size=5))
    return documents, draw(st.lists(st.sampled_from([0.0, 2.0, 7.5, 16.0]), **row))


@settings(max_examples=200, deadline=None)
@given(cases())
def test_it_is_the_weighted_mean_of_similarities_and_links(case: tuple[list[Document], list[float]]) -> None:
    documents, rarity = case
    rows = [one.similarities if one.known else [np.nan] * len(rarity) for one in documents]
    found = matches(np.array(rows), np.array([one.links for one in documents]), np.array(rarity))
    for number, document in enumerate(documents):
        total = 0.0
        for subword, weight in enumerate(rarity):
            known = [one.similarities[subword] for one in documents if one.known]
            value = document.similarities[subword] if document.known else min(known, default=0.0)
            total += weight * min(1, value + document.links[subword])
        expected = total / sum(rarity) if sum(rarity) else 0.0
        assert abs(found[number] - expected) < 1e-9


def test_subwords_belong_to_the_words_that_they_overlap() -> None:
    offsets = [(0, 3), (4, 8), (8, 13)]  # of "red sandstone"
    assert inside(offsets, [(0, 3), (4, 13)]).tolist() == [[True, False], [False, True], [False, True]]
    assert inside(offsets, [(0, 13)]).all()  # a phrase of a glossary
    assert inside([], [(0, 3)]).shape == (0, 1)
    assert inside(offsets, []).shape == (3, 0)
