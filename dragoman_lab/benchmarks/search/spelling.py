"""Other spellings of words that no table has: which of them are right, and what they do to search.

    python -m dragoman_lab.benchmarks.search.spelling
    python -m dragoman_lab.benchmarks.search.spelling --data DATA --work runs/search --languages de

Without ``--data`` the words are those of the demo. Misspelt are words of its tables, by one edit that is made by
chance. Left alone should be the same words, looked for in a table without them and their other forms, and the words of
the demo's documents that no table has. With ``--data`` it is MAP@100 of ``psq`` on the tuning questions of XQuAD-R,
with spelling and without: of the questions as they are, and with one misspelt word in each.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import dragoman
from dragoman.door.database import Database
from dragoman.engine.query.spelling import Spellings, correct, is_word
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.table.nearest import most_edits
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import words
from dragoman_lab.benchmarks.search.measuring import MEASURE
from dragoman_lab.benchmarks.search.quality import choose_languages, tables_of, tasks
from dragoman_lab.evaluation.benchmark import Benchmark
from dragoman_lab.evaluation.evaluation import DEPTH, Evaluation, measure_run, paired_p

_DEMO = Path(dragoman.__file__).with_name("demo")
_LANGUAGES = ("de", "fr", "es", "ru", "el", "sw")
_SAMPLE = 150
_LEAST = 4


class Words(NamedTuple):
    """The words of one side of a table, and those of documents that are on none."""

    table: Table
    words: list[str]
    unseen: list[str]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path, help="folder that keeps trained tables")
    parser.add_argument("--languages", default="de")
    arguments = parser.parse_args()
    if arguments.data is None:
        print(measure_words())  # noqa: T201
        return
    languages = choose_languages(arguments.languages, "xquad_r")
    with tempfile.TemporaryDirectory() as folder, dragoman.open(folder, embed="on_demand") as database:
        for place, file in enumerate(tables_of(arguments.data, languages, arguments.work, permissive=False)):
            fields = {"source": file.source, "target": file.target, "kind": file.kind, "weight": file.weight}
            database.tables.add(f"table{place}", file.path, **fields)
        for task in tasks(arguments.data, "xquad_r", languages, "sentence", "tune"):
            print(measure_task(database, task))  # noqa: T201


def measure_words() -> str:
    """The shares of misspelt words that are corrected, rightly, and of words that are not to be."""
    rng = random.Random(1)
    right = corrected = misspelt = wrong_listed = listed = wrong_unseen = unseen = 0
    for side in _sides():
        forms = {word: _form(side, word) for word in side.words}
        for word in rng.sample(side.words, min(_SAMPLE, len(side.words))):
            same = {other for other, form in forms.items() if form == forms[word]}
            listed += 1
            wrong_listed += _respell(side.table, word, same) is not None
            typed = misspell(rng, word)
            if typed in side.table or _form(side, typed) == forms[word]:
                continue
            misspelt += 1
            correction = _respell(side.table, typed)
            corrected += correction is not None
            right += correction in same
        for word in rng.sample(side.unseen, min(2 * _SAMPLE, len(side.unseen))):
            unseen += 1
            wrong_unseen += _respell(side.table, word) is not None
    return (
        f"misspelt words: {misspelt}; corrected rightly {right / misspelt:.3f}; of the corrections right"
        f" {right / max(1, corrected):.3f}\nwords left out of their table: {listed}; corrected"
        f" {wrong_listed / listed:.3f}"
        f"\nwords of documents that no table has: {unseen}; corrected {wrong_unseen / unseen:.3f}"
    )


def misspell(rng: random.Random, word: str) -> str:
    """A word with one edit behind its first letter: a letter more, less or another, or two that changed places."""
    letters = "abcdefghijklmnopqrstuvwxyz" if word.isascii() else "".join(sorted(set(word)))
    place, edit = rng.randrange(1, len(word)), rng.choice(["more", "less", "other", "swap"])
    before, letter, after = word[:place], word[place], word[place + 1 :]
    if edit == "more":
        return before + (word[place - 1] if rng.random() < 0.5 else rng.choice(letters)) + letter + after
    if edit == "other":
        return before + rng.choice(letters) + after
    return before + (after[:1] + letter + after[1:] if edit == "swap" and after else after)


def measure_task(database: Database, task: Benchmark) -> str:
    """MAP@100 with spelling and without, of the questions as they are and misspelt."""
    name = f"{task.source}-{task.target}"
    collection = database.collection(name, language=task.target)
    collection.add([{"id": id, "text": text} for id, text in task.documents.items()])
    rng = random.Random(1)
    texts = {"as they are": task.queries, "misspelt": {id: _misspell_one(rng, q) for id, q in task.queries.items()}}
    lines = []
    for kind, queries in texts.items():
        evaluations = []
        for on in (True, False):
            with _spelling(on):
                run, spelt = _run(database, name, task.source, queries)
            evaluations.append((measure_run(task.qrels, Evaluation(str(on), run, 1)), spelt))
        (with_, spelt), (without, _) = evaluations
        values = [[e.per_query[MEASURE].get(query, 0.0) for query in queries] for e in (with_, without)]
        lines.append(
            f"{name}, {len(queries)} questions {kind}: with {with_.mean(MEASURE, list(queries)):.4f}, without"
            f" {without.mean(MEASURE, list(queries)):.4f}, p {paired_p(*values):.2g}; a word respelt in {spelt}"
        )
    return "\n".join(lines)


def _run(
    database: Database, collection: str, language: str, queries: dict[str, str]
) -> tuple[dict[str, dict[str, float]], int]:
    run, spelt = {}, 0
    for id, query in queries.items():
        results = database.search(
            query, collections=[collection], query_language=language, method="psq", rerank=False, top_k=DEPTH
        )
        run[id] = {hit.id: hit.score for hit in results}
        spelt += any("spelling" in shown for term in results.translation.terms for shown in term["translations"])
    return run, spelt


@contextmanager
def _spelling(on: bool) -> Iterator[None]:
    call: Callable[..., object] = Spellings.__call__
    if not on:
        Spellings.__call__ = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Spellings.__call__ = call  # type: ignore[method-assign,assignment]


def _misspell_one(rng: random.Random, query: str) -> str:
    """The query with one misspelt word, of five letters or more."""
    places = [place for place, word in enumerate(query.split()) if word.isalpha() and len(word) > _LEAST]
    parts = query.split()
    if places:
        place = rng.choice(places)
        parts[place] = misspell(rng, parts[place])
    return " ".join(parts)


def _respell(table: Table, word: str, hidden: Sequence[str] | set[str] = ()) -> str | None:
    if not most_edits(word) or is_word(word, [table]):
        return None
    corrections = (spelling.term for spelling in correct([table], word, 1 + len(hidden)))
    return next((term for term in corrections if term not in hidden), None)


def _form(side: Words, word: str) -> tuple[str, ...]:
    return tuple(token.term for token in analysis(side.table.source).tokens(word))


def _sides() -> Iterator[Words]:
    for language in _LANGUAGES:
        lines = (_DEMO / f"table.en-{language}.tsv").read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines]
        pairs = {(row[0].lower(), row[1].lower()): (float(row[2]), float(row[3])) for row in rows if len(row) > 3}
        table = Table.from_entries("en", language, [(*pair, *values) for pair, values in pairs.items()])
        if language == "de":
            yield _words(table, "queries.en.jsonl")
        yield _words(table.inverse(), f"documents.{language}.jsonl")


def _words(table: Table, name: str) -> Words:
    single = [term for term in table.sources if term.isalpha() and len(term) >= _LEAST]
    side = Words(table, single, [])
    forms = {_form(side, word) for word in single}
    rows = [json.loads(line) for line in (_DEMO / name).read_text(encoding="utf-8").splitlines()]
    seen = {token.word for row in rows for token in words(f"{row.get('title') or ''} {row['text']}", table.source)}
    side.unseen.extend(
        word
        for word in sorted(seen)
        if word.isalpha() and len(word) >= _LEAST and word not in table and _form(side, word) not in forms
    )
    return side


if __name__ == "__main__":
    main()
