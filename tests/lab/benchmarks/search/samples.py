"""Small benchmarks in the layouts of the real ones."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SENTENCES = {
    "en": ["The volcano erupted in spring.", "The harbour was closed for a week.", "Bees need flowers and water."],
    "de": ["Der Vulkan brach im Frühling aus.", "Der Hafen war eine Woche zu.", "Bienen brauchen Blumen und Wasser."],
}
QUESTIONS = {
    "en": ["When did the volcano erupt?", "How long was the harbour closed?", "What do bees need?"],
    "de": ["Wann brach der Vulkan aus?", "Wie lange war der Hafen zu?", "Was brauchen Bienen?"],
}
WANTED = {
    "en": ["in spring", "a week", "flowers and water"],
    "de": ["im Frühling", "eine Woche", "Blumen und Wasser"],
}
"""The answers to the questions."""
ARTICLES = ["a000", "a011", "a012"]
"""The first two are for tuning."""
TABLE = "volcano\tvulkan\nharbour\thafen\nbees\tbienen\nneed\tbrauchen\nweek\twoche\n"


def write_lines(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as stream:
        stream.writelines((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)


def write_xquad(data: Path) -> None:
    """Three parallel questions and sentences in two languages; every sentence answers its question in both.

    Each sentence is a paragraph of its own.
    """
    folder = data / "xquad_r"
    for language in SENTENCES:
        paragraphs = [f"{language}-{article}-p00" for article in ARTICLES]
        sentences = [
            {"id": f"{paragraph}-s00", "text": text, "title": "Volcano"}
            for paragraph, text in zip(paragraphs, SENTENCES[language], strict=True)
        ]
        questions = [
            {
                "id": f"{language}-q{number}",
                "qid": f"q{number}",
                "text": text,
                "answer": WANTED[language][number],
                "answer_start": SENTENCES[language][number].index(WANTED[language][number]),
                "para": paragraphs[number],
            }
            for number, text in enumerate(QUESTIONS[language])
        ]
        judged = [
            f"{language}-q{number} 0 {other}-{article}-p00-s00 1"
            for number, article in enumerate(ARTICLES)
            for other in SENTENCES
        ]
        write_lines(folder / "corpus" / f"sentence.{language}.jsonl.gz", sentences)
        whole = [{"id": one["id"].removesuffix("-s00"), "text": one["text"]} for one in sentences]
        write_lines(folder / "corpus" / f"paragraph.{language}.jsonl.gz", whole)
        write_lines(folder / "queries" / f"{language}.jsonl.gz", questions)
        write_lines(folder / "qrels" / f"sentence.{language}.trec.gz", judged)


def write_table(work: Path) -> None:
    """A table between English and German, as if it had been trained."""
    (work / "tables").mkdir(parents=True)
    (work / "tables" / "en-de.tsv").write_text(TABLE, encoding="utf-8")


def write_reading_set(folder: Path, name: str, language: str) -> None:
    """Questions over passages of their own; the last has no answer, and the first passage is there twice."""
    texts = [*SENTENCES[language], SENTENCES[language][0]]
    passages = [{"id": f"{name}-{language}-{number}", "title": "t", "text": text} for number, text in enumerate(texts)]
    questions = [
        {
            "id": f"{name}_{number}_{language.upper()}",
            "question": text,
            "context_id": passages[number]["id"],
            "answers": [] if number == 2 else [{"text": "x", "start": 0}],
        }
        for number, text in enumerate(QUESTIONS[language])
    ]
    write_lines(folder / f"{name}.{language}.contexts.jsonl.gz", passages)
    write_lines(folder / f"{name}.{language}.jsonl.gz", questions)
