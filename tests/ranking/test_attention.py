"""Word links against the table they come from, and M against the matrix written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import words
from dragoman.ranking.attention import NO_LINKS, Direction, Ints, TranslationReference, Words, word_of_pieces
from dragoman.ranking.mixed_attention import Mixing, PassageRow
from tests.ranking.dense_reference import dense

VOCABULARY = [
    "bee",
    "ship",
    "Biene",
    "größe",
    "пчела",
    "корабль",
    "蜜蜂",
    "船",
    "نحلة",
    "μέλισσα",
    "ผึ้ง",
    "मधुमक्खी",
    "nyuki",
    "1492",
]
CPU = torch.device("cpu")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    entries = draw(
        st.lists(
            st.tuples(
                st.sampled_from(VOCABULARY),
                st.sampled_from([*VOCABULARY, "great bee"]),
                st.floats(0, 1, width=32),
                st.floats(0, 1, width=32),
            ),
            max_size=20,
            unique_by=lambda entry: entry[:2],
        )
    )
    return Table.from_entries("en", "de", entries)


@st.composite
def sides(draw: st.DrawFn, least: int = 0) -> tuple[Words, Ints]:
    """Words, some of them stop words, and the word of each of their subwords, some between words."""
    terms = draw(st.lists(st.sampled_from([*VOCABULARY, ""]), min_size=least, max_size=6))
    pieces: list[int] = []
    for number in range(len(terms)):
        pieces += [-1] * draw(st.integers(0, 1)) + [number] * draw(st.integers(1, 3))
    return Words(terms, [(0, 0)] * len(terms)), np.asarray(pieces, np.int64)


@given(
    st.lists(st.tuples(sides(), sides()), min_size=1, max_size=3),
    tables(),
    st.sampled_from(["forward", "backward", "mean"]),
    st.floats(0.001, 0.5),
    st.integers(0, 3),
)
def test_mixing_is_the_product_with_the_matrix_written_out(
    texts: list[tuple[tuple[Words, Ints], tuple[Words, Ints]]],
    table: Table,
    direction: Direction,
    threshold: float,
    padding: int,
) -> None:
    rows = []
    for (query, query_pieces), (passage, passage_pieces) in texts:
        links = TranslationReference(query, table, direction=direction, threshold=threshold).links(passage)
        rows.append(PassageRow(1, query_pieces, len(query_pieces) + 2, passage_pieces, links))
    length = max(row.second + len(row.passage) + 1 for row in rows) + padding
    h = torch.randn(len(rows), length, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    mixed = Mixing.of(rows, length, CPU)(h)
    for number, (row, ((query, _), (passage, _))) in enumerate(zip(rows, texts, strict=True)):
        expected = dense(row, query, passage, length, table, direction, threshold) @ h[number]
        assert mixed.shape == h.shape
        torch.testing.assert_close(mixed[number], expected, rtol=1e-5, atol=1e-6)


@given(sides(least=1), sides(least=1))
def test_without_links_only_the_pieces_of_a_word_mix(query: tuple[Words, Ints], passage: tuple[Words, Ints]) -> None:
    row = PassageRow(1, query[1], len(query[1]) + 2, passage[1], NO_LINKS)
    length = row.second + len(passage[1]) + 1
    h = torch.randn(1, length, 4)
    mixed = Mixing.of([row], length, CPU)(h)[0]
    torch.testing.assert_close(mixed[0], h[0, 0])
    for start, pieces in ((1, query[1]), (row.second, passage[1])):
        for offset, word in enumerate(pieces):
            own = [start + other for other, one in enumerate(pieces) if one == word and word >= 0]
            torch.testing.assert_close(mixed[start + offset], h[0, own or [start + offset]].mean(0))


def test_the_table_is_not_changed_and_equal_words_are_linked_without_one() -> None:
    table = Table.from_entries("en", "de", [("bee", "Biene", 0.8, 0.4)])
    query = Words(["bee", "1492", ""], [(0, 3), (4, 8), (9, 11)])
    passage = Words(["1492", "", "Biene", "bee"], [(0, 4), (5, 7), (8, 13), (14, 17)])
    found = TranslationReference(query, table).links(passage)
    assert [*zip(found.left.tolist(), found.right.tolist(), strict=True)] == [(1, 0), (0, 2), (0, 3)]
    assert found.weights.tolist() == pytest.approx([1.0, 0.6, 1.0])
    assert len(table) == 1
    assert TranslationReference(query, None).links(passage).right.tolist() == [0, 3]


def test_links_outside_the_table_are_used_too() -> None:
    table = Table.from_entries("en", "de", [("bee", "Biene", 0.8, 0.4)])
    query, passage = Words(["bee", "elwai"], [(0, 3), (4, 9)]), Words(["elway", "Biene", "elvei"], [(0, 0)] * 3)
    extra = {"elwai": {"elway": 1.0, "elvei": 0.005}, "bee": {"Biene": 0.3}, "asked": {"Biene": 1.0}}
    found = TranslationReference(query, table, extra=extra).links(passage)
    assert [*zip(found.left.tolist(), found.right.tolist(), strict=True)] == [(1, 0), (0, 1)]
    assert found.weights.tolist() == pytest.approx([1.0, 0.6])  # the larger
    same = Words(["bee", "1492"], [(0, 0)] * 2)
    for extra, linked in ((None, [0, 1]), ({}, []), ({"1492": {"1492": 1.0}}, [1])):  # equal terms are no exception
        assert TranslationReference(same, table, extra=extra).links(same).left.tolist() == linked


def test_a_cut_passage_keeps_its_remaining_links() -> None:
    table = Table.from_entries("en", "de", [("bee", "Biene", 0.8, 0.4)])
    links = TranslationReference(Words(["bee"], [(0, 3)]), table).links(Words(["Biene", "Biene"], [(0, 5), (6, 11)]))
    assert len(links.left) == 2
    mixing = Mixing.of([PassageRow(1, np.zeros(1, np.int64), 3, np.zeros(1, np.int64), links)], 5, CPU)
    assert len(mixing.left) == 2  # one link, both ways


@given(st.text("añ über пче 蜜蜂船 ผึ้ง नम १२ -.", max_size=40), st.integers(1, 4))
def test_pieces_belong_to_the_word_that_they_lie_in(text: str, size: int) -> None:
    spans = [(token.start, token.end) for token in words(text, "de")]
    pieces = [(start, min(start + size, len(text))) for start in range(0, len(text), size)]
    for (start, end), word in zip(pieces, word_of_pieces(spans, pieces), strict=True):
        overlapped = [number for number, span in enumerate(spans) if span[0] < end and start < span[1]]
        assert word == (overlapped[0] if overlapped else -1)


def test_words_of_a_phrase_have_the_links_of_the_phrase() -> None:
    table = Table.from_entries(
        "en", "de", [("hot", "heiß", 1, 1), ("hot dog", "würstchen", 1, 1), ("hot dog", "heißes würstchen", 0.5, 0.5)]
    )
    query = Words(["hot dog", "", "hot dog", "hot"], [(0, 0)] * 4)
    links = TranslationReference(query, table).links(Words(["heiß", "würstchen", "heißes"], [(0, 0)] * 3))
    found = set(zip(links.left.tolist(), links.right.tolist(), links.weights.tolist(), strict=True))
    assert found == {(0, 1, 1.0), (2, 1, 1.0), (0, 2, 0.25), (2, 2, 0.25), (3, 0, 1.0)}


def test_links_say_which_are_a_glossary_s() -> None:
    words, numbers = (["bee", "honey"], ["biene", "honig", "imker"]), ([0, 0, 1], [0, 2, 1])
    table = Table.from_arrays("en", "de", *words, *numbers, [0.5, 0.5, 1], [0.5, 0.0, 1], [3, 3, 0])
    query, passage = Words(["bee", "honey"], [(0, 0)] * 2), Words(["imker", "biene", "honig"], [(0, 0)] * 3)
    links = TranslationReference(query, table, glossaries=frozenset({3})).links(passage)
    assert links.glossary is not None
    found = zip(links.left.tolist(), links.right.tolist(), links.glossary.tolist(), strict=True)
    assert set(found) == {(0, 1, True), (1, 2, False)}  # the other says nothing of the way back
    assert TranslationReference(query, table).links(passage).glossary is None
