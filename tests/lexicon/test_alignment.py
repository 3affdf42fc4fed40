"""Training tables from parallel text: toy corpora, symmetrisation, pruning, limits."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.lexicon.alignment import AlignmentConfig, SentencePair, train


@dataclass(frozen=True)
class Word:
    word: str
    term: str


def sentence(text: str) -> list[Word]:
    return [Word(word, word) for word in text.split()]


TOY = [
    SentencePair(sentence(english), sentence(german))
    for english, german in [
        ("the house", "das haus"),
        ("the book", "das buch"),
        ("a book", "ein buch"),
        ("a house", "ein haus"),
        ("the small house", "das kleine haus"),
    ]
]


def best(table: object, word: str) -> str:
    return next(target for source, target, _, _ in table.entries() if source == word)  # type: ignore[attr-defined]


def test_toy_corpus() -> None:
    for model in ("model1", "model2"):
        table = train(TOY, AlignmentConfig(model=model))
        found = {word: best(table, word) for word in ("the", "house", "book", "a")}
        assert found == {"the": "das", "house": "haus", "book": "buch", "a": "ein"}
