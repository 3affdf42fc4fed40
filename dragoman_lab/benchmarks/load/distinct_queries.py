"""Distinct queries over the demo, so that no cache of queries answers; passages of its documents; and sentences."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

PASSAGE_WORDS = 100
LANGUAGES = ("ar", "de", "el", "es", "fr", "ru", "sw")
"""Languages of the demo whose texts have spaces between words."""
_STEP = PASSAGE_WORDS // 2


def demo_queries() -> list[str]:
    """The demo's English queries."""
    return [row["text"] for row in _demo("queries.en.jsonl")]


def distinct_queries(questions: Sequence[Path] = ()) -> Iterator[str]:
    """Queries that all differ: those of files of JSON lines, or the demo's as :func:`vary` makes them.

    The lines have the text in `question` or `text`.
    """
    return iter(dict.fromkeys(_read_questions(questions))) if questions else vary(demo_queries())


def vary(queries: Sequence[str]) -> Iterator[str]:
    """Each query with a word of another one, again with another word, and at last with two: all differ.

    The order is random, and always the same.
    """
    words = list(dict.fromkeys(word for query in queries for word in query.split() if len(word) > 3))
    order = random.Random(44)
    order.shuffle(words)
    for distance, shift in product(range(len(words)), repeat=2):
        turn = []
        for index, query in enumerate(queries):
            first, second = (words[(index + shift + step) % len(words)] for step in (0, distance))
            if first not in query.split():
                turn.append(f"{query} {first} {second}" if distance else f"{query} {first}")
        order.shuffle(turn)
        yield from turn


def draw(queries: Iterator[str], count: int) -> list[str]:
    """The next ``count`` queries.

    Raises:
        SystemExit: there are too few left.
    """
    drawn = list(islice(queries, count))
    if len(drawn) < count:
        raise SystemExit("there are too few distinct queries: ask fewer in a row, or name files with --questions")
    return drawn


def hundred_word_passages(language: str) -> list[str]:
    """Passages of a hundred words that overlap, from the demo's documents of a language in a row."""
    words = " ".join(row["text"] for row in _demo(f"documents.{language}.jsonl")).split()
    starts = range(0, len(words) - PASSAGE_WORDS + 1, _STEP)
    return [" ".join(words[start : start + PASSAGE_WORDS]) for start in starts]


def sentences(data: Path) -> Iterator[str]:
    """German sentences of the parallel texts, again and again."""
    paths = sorted((data / "parallel" / "de-en").glob("*.tsv.gz"))
    for path in cycle(paths):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            yield from (line.split("\t", 1)[0] for line in stream)


def _read_questions(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                row = json.loads(line)
                yield row.get("question") or row["text"]


def _demo(name: str) -> list[dict[str, Any]]:
    lines = (files("dragoman") / "demo" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
