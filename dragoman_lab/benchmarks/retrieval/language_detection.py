"""Accuracy of language detection, for questions and for parts of one to three words.

    python -m dragoman_lab.benchmarks.retrieval.language_detection --data DATA --tables runs/first_stage/tables

Questions are from XQuAD-R (`DATA/xquad_r`), in each of eleven languages the 322 for tuning, or with `--split test` the
others; candidates are the languages of all tables. Measured with the demo's small tables, with large tables (a folder
of `en-xx.tsv`), and without tables.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from dragoman.engine.query.language import Knows, detect
from dragoman.lexicon.text.tokens import words
from dragoman_lab.evaluation.benchmark import SPLITS, Split, part_of

Sides = dict[str, set[str]]


def sides(tables: Iterable[tuple[str, Iterable[str]]]) -> Sides:
    """The folded words of each language in the tables, given as (``en-de``, lines)."""
    words_by_language: Sides = {}
    for pair, lines in tables:
        for line in lines:
            for language, term in zip(pair.split("-"), line.split("\t")[:2], strict=True):
                words_by_language.setdefault(language, set()).update(token.word for token in words(term, language))
    return words_by_language


def lookup(words_by_language: Sides) -> Knows:
    """A function that tells whether the tables have a word of a language."""
    return lambda language, word: word in words_by_language.get(language, ())


def part(question: str, draw: random.Random) -> str:
    """One to three consecutive words of a question; without spaces, two characters count as a word."""
    spaced = " " in question.strip()
    units = question.split() if spaced else [question[at : at + 2] for at in range(0, len(question), 2)]
    count = draw.randint(1, 3)
    start = draw.randrange(max(1, len(units) - count + 1))
    return (" " if spaced else "").join(units[start : start + count])


def tables(folder: Path | None) -> dict[str, Sides]:
    """The words of each set of tables: none, the demo's, and those of a folder."""
    demo = sorted((file for file in (files("dragoman") / "demo").iterdir() if file.name.startswith("table.")), key=str)
    table_sets = {
        "no table": {},
        "demo tables": sides((file.name.split(".")[1], file.read_text(encoding="utf-8").splitlines()) for file in demo),
    }
    if folder is not None:
        large = sorted(folder.glob("en-??.tsv"))
        table_sets["large tables"] = sides((path.stem, path.read_text(encoding="utf-8").splitlines()) for path in large)
    return table_sets


def summary(data_folder: Path, table_sets: dict[str, Sides], split: Split = "tune") -> str:
    """A Markdown table of accuracy, with a row for each language."""
    candidates = sorted(set().union(*table_sets.values()))
    titles = [f"{kind}, {name}" for name in table_sets for kind in ("questions", "parts")]
    shown = ["| language | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    rows = []
    for path in sorted((data_folder / "xquad_r" / "queries").glob("*.jsonl.gz")):
        language = path.name.split(".")[0]
        if language not in candidates:
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows_read = [json.loads(line) for line in lines]
        questions = [row["text"] for row in rows_read if split in ("all", part_of(row))]
        draw = random.Random(language)
        texts_by_kind = [questions, [part(question, draw) for question in questions]]
        correct = [
            [detect(text, candidates, lookup(side)).language == language for text in texts]
            for side in table_sets.values()
            for texts in texts_by_kind
        ]
        rows.append([100 * sum(column) / len(column) for column in correct])
        shown.append(_row(language, rows[-1]))
    means = [sum(column) / len(column) for column in zip(*rows, strict=True)]
    return "\n".join([*shown, _row("mean", means)])


def _row(name: str, values: Iterable[float]) -> str:
    return f"| {name} | " + " | ".join(f"{percentage:.1f}%" for percentage in values) + " |"


def main() -> None:
    """Print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", type=Path, help="a folder of en-xx.tsv; default: only the demo's tables and none")
    parser.add_argument("--split", choices=SPLITS, default="tune")
    arguments = parser.parse_args()
    print(summary(arguments.data, tables(arguments.tables), arguments.split))  # noqa: T201


if __name__ == "__main__":
    main()
