"""How often the language of a query is told rightly, of questions and of one to three words out of them.

    python -m benchmarks.retrieval.language_detection --data DATA --tables runs/first_stage/tables

Questions are XQuAD-R's (`DATA/xquad_r`), 1,190 in each of eleven languages; candidates are the languages of all the
tables. With the demo's small tables, with large ones (a folder of `en-xx.tsv`), and with none.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from dragoman.lexicon.text.tokens import words
from dragoman.service.query.language import Knows, detect

Sides = dict[str, set[str]]


def sides(tables: Iterable[tuple[str, Iterable[str]]]) -> Sides:
    """The folded words of each language in tables given as (``en-de``, lines)."""
    found: Sides = {}
    for pair, lines in tables:
        for line in lines:
            for language, term in zip(pair.split("-"), line.split("\t")[:2], strict=True):
                found.setdefault(language, set()).update(token.word for token in words(term, language))
    return found


def knowing(known: Sides) -> Knows:
    """Whether a side has a word."""
    return lambda language, word: word in known.get(language, ())


def part(question: str, draw: random.Random) -> str:
    """One to three words of a question that stand together; two characters are a word where no space parts them."""
    parted = " " in question.strip()
    units = question.split() if parted else [question[at : at + 2] for at in range(0, len(question), 2)]
    many = draw.randint(1, 3)
    start = draw.randrange(max(1, len(units) - many + 1))
    return (" " if parted else "").join(units[start : start + many])


def tables(folder: Path | None) -> dict[str, Sides]:
    """What each set of tables knows: none, the demo's, and those of a folder."""
    demo = sorted((one for one in (files("dragoman") / "demo").iterdir() if one.name.startswith("table.")), key=str)
    found = {
        "no table": {},
        "demo tables": sides((one.name.split(".")[1], one.read_text(encoding="utf-8").splitlines()) for one in demo),
    }
    if folder is not None:
        large = sorted(folder.glob("en-??.tsv"))
        found["large tables"] = sides((path.stem, path.read_text(encoding="utf-8").splitlines()) for path in large)
    return found


def summary(data: Path, known: dict[str, Sides]) -> str:
    """A table of the share told rightly, with a row for each language."""
    candidates = sorted(set().union(*known.values()))
    titles = [f"{kind}, {name}" for name in known for kind in ("questions", "parts")]
    shown = ["| language | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    rows = []
    for path in sorted((data / "xquad_r" / "queries").glob("*.jsonl.gz")):
        language = path.name.split(".")[0]
        if language not in candidates:
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            questions = [json.loads(line)["text"] for line in lines]
        draw = random.Random(language)
        asked = [questions, [part(question, draw) for question in questions]]
        told = [
            [detect(text, candidates, knowing(side)).language == language for text in texts]
            for side in known.values()
            for texts in asked
        ]
        rows.append([100 * sum(right) / len(right) for right in told])
        shown.append(_row(language, rows[-1]))
    means = [sum(column) / len(column) for column in zip(*rows, strict=True)]
    return "\n".join([*shown, _row("mean", means)])


def _row(name: str, values: Iterable[float]) -> str:
    return f"| {name} | " + " | ".join(f"{value:.1f}%" for value in values) + " |"


def main() -> None:
    """Print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", type=Path, help="a folder of en-xx.tsv; left out: the demo's and none")
    arguments = parser.parse_args()
    print(summary(arguments.data, tables(arguments.tables)))  # noqa: T201


if __name__ == "__main__":
    main()
