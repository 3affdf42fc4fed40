"""Scores of tests whose labels say less than a tagger does, and a gazetteer to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dragoman.tagging.labels import OUTSIDE, spans
from dragoman_lab.tagging.sentences import Sentence
from dragoman_lab.tagging.training import score

NAME, PROPER = "NAME", "proper nouns"
"""Names of tests by runs of proper nouns, whose kinds are not known: in these languages no names are labelled."""
SLOTS, IGNORED = "xsid", "IGNORED"
"""Names of tests by slots, and the kind of those that may hold names of any kind."""
SLOT_KINDS = {"location": "LOC", "artist": "PER"}
SLOTS_WITH_NAMES = (
    "object_name", "movie_name", "restaurant_name", "entity_name", "playlist", "album", "track", "service",
    "facility", "served_dish", "cuisine",
)  # fmt: skip


def proper_nouns(sentence: Sentence) -> Sentence:
    """A sentence with parts of speech as labels, with each run of proper nouns as a name in their place."""
    labels, before = [], ""
    for label in sentence.labels:
        labels.append(OUTSIDE if label != "PROPN" else f"{'I' if before == label else 'B'}-{NAME}")
        before = label
    return replace(sentence, labels=tuple(labels))


def slot_names(sentence: Sentence) -> Sentence:
    """A sentence with slots as labels, with places and artists as names; slots that may hold others are `IGNORED`."""
    labels = []
    for label in sentence.labels:
        prefix, _, slot = label.partition("-")
        kind = SLOT_KINDS.get(slot) or (IGNORED if slot in SLOTS_WITH_NAMES else "")
        labels.append(f"{prefix}-{kind}" if kind else OUTSIDE)
    return replace(sentence, labels=tuple(labels))


def score_test(test: str, sentences: Sequence[Sentence], predicted: Sequence[Sequence[str]], of_spans: bool) -> float:
    """The score of a test.

    Of names whose kinds are not known it is F1 of the spans alone; where names in slots may be of any kind, what is
    found there does not count.
    """
    if test.endswith(PROPER):
        predicted = [[label if label == OUTSIDE else f"{label[0]}-{NAME}" for label in labels] for labels in predicted]
    if test.endswith(SLOTS):
        predicted = [
            _outside_of_ignored(sentence.labels, labels) for sentence, labels in zip(sentences, predicted, strict=True)
        ]
        gold = [[OUTSIDE if label.endswith(IGNORED) else label for label in sentence.labels] for sentence in sentences]
        sentences = [replace(sentence, labels=tuple(labels)) for sentence, labels in zip(sentences, gold, strict=True)]
    return score(sentences, predicted, of_spans)


def _outside_of_ignored(gold: Sequence[str], predicted: Sequence[str]) -> list[str]:
    """What was found, without the spans that have a word in common with an ignored one."""
    labels = list(predicted)
    for span in spans(predicted):
        if any(label.endswith(IGNORED) for label in gold[span.start : span.end]):
            labels[span.start : span.end] = [OUTSIDE] * (span.end - span.start)
    return labels


def gazetteer(learned: Sequence[Sentence], sentences: Sequence[Sentence]) -> list[list[str]]:
    """The labels of sentences by the names that were learned, longest first, each with its most frequent kind."""
    kinds: dict[tuple[str, ...], Counter[str]] = {}
    for sentence in learned:
        for span in spans(sentence.labels):
            words = tuple(word.casefold() for word in sentence.words[span.start : span.end])
            kinds.setdefault(words, Counter())[span.label] += 1
    longest = max(map(len, kinds), default=0)
    predicted = []
    for sentence in sentences:
        folded = [word.casefold() for word in sentence.words]
        labels, place = [OUTSIDE] * len(folded), 0
        while place < len(folded):
            sizes = range(min(longest, len(folded) - place), 0, -1)
            size = next((size for size in sizes if tuple(folded[place : place + size]) in kinds), 0)
            if size:
                kind = kinds[tuple(folded[place : place + size])].most_common(1)[0][0]
                labels[place : place + size] = [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
            place += max(size, 1)
        predicted.append(labels)
    return predicted
