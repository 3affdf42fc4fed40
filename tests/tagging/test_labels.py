"""Spans of BIO labels, and the measures of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.tagging.labels import accuracy, span_f1, spans

labels = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), max_size=8)


@given(labels)
def test_spans_are_those_of_the_evaluation_of_conll(row: list[str]) -> None:
    found = spans(row)
    covered = {place for span in found for place in range(span.start, span.end)}
    assert covered == {place for place, label in enumerate(row) if label != "O"}
    starts = {span.start for span in found}
    for place, label in enumerate(row):
        before = row[place - 1] if place else "O"
        begins = label != "O" and (label[0] == "B" or before == "O" or before[2:] != label[2:])
        assert (place in starts) == begins
    assert all(row[place][2:] == span.label for span in found for place in range(span.start, span.end))


def test_f1_counts_whole_spans_with_their_labels() -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"]]
    assert span_f1(gold, gold) == 1
    assert span_f1(gold, [["B-PER", "O", "O", "B-LOC"], ["O", "O"]]) == 0.5
    assert span_f1(gold, [["B-LOC", "I-LOC", "O", "O"], ["O", "B-LOC"]]) == 0
    assert span_f1([["O"]], [["O"]]) == 0


@given(st.lists(labels, min_size=1))
def test_all_right_is_1(rows: list[list[str]]) -> None:
    assert span_f1(rows, rows) == any(label != "O" for row in rows for label in row)
    assert accuracy(rows, rows) == (1 if any(rows) else 0)
    assert accuracy([["NOUN", "VERB"]], [["NOUN", "NOUN"]]) == 0.5
