"""Names in Latin letters, searched in documents of other scripts.

    python -m dragoman_lab.benchmarks.search.names_across_scripts --data DATA --output runs/names --split tune

The names are the persons, places and organisations that the shipped tagger finds in English sentences. Each is a query
by itself, over the translations of these sentences; relevant are the translations of all that have the name. The
measure is recall at 10: of the relevant sentences, ten at most, those that are among the first ten hits. Searches are
by `psq`, without any table (`--tables none`), with those of the demo, or with the public dictionaries of the data.

`--split tune` has sentences of parallel text, and single names of dictionaries as documents. Entries of dictionaries
are divided by a digest of the English side. `--split test` has the sentences of FLORES-200 devtest: for one
measurement. `names.json` has each name with its hits, and what they were found by.
"""

from __future__ import annotations

import argparse
import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import regex

import dragoman
from dragoman.demo import __path__ as demo_path
from dragoman.files.atomic import atomic_file
from dragoman_lab.benchmarks.retrieval.first_stage import make_tables

LANGUAGES = {
    "test": "he ar fa ur hi bn ta th ko ja zh ru uk bg el",
    "tune": "ar fa hi th ja zh ru el",
}
SENTENCES, PAIRS, DEPTH = 1_012, 2_000, 10
LABELS = frozenset({"PER", "LOC", "ORG"})
LEAST_SCORE = 0.8
_PARALLEL = ("tatoeba", "tico19", "joshua_indian", "bible", "cldr_names")
_NAME = regex.compile(r"(?:\p{Lu}\p{L}+)(?:[ -]\p{Lu}\p{L}+){0,3}")


@dataclass(frozen=True, slots=True)
class Task:
    """Documents in one language, and the places of those that are relevant to each name."""

    kind: str
    language: str
    documents: Sequence[str]
    names: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Row:
    """What a search for one name found."""

    kind: str
    language: str
    name: str
    relevant: int
    recall: float
    hits: list[tuple[str, bool, list[tuple[str, str, str]]]]
    """Each hit's text, whether it is relevant, and its highlights: query term, document term, kind."""


def main() -> None:
    """Measure all languages, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--split", choices=LANGUAGES, default="tune")
    parser.add_argument("--languages", help="comma-separated; default: all of the split")
    parser.add_argument("--tables", choices=("none", "demo", "dictionaries"), default="none")
    arguments = parser.parse_args()
    languages = (arguments.languages or LANGUAGES[arguments.split].replace(" ", ",")).split(",")
    arguments.output.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for language in languages:
        chosen = table_files(arguments.data, arguments.output, arguments.tables, language)
        for task in tasks(arguments.data, arguments.output, arguments.split, language):
            rows += measure(task, chosen)
    with atomic_file(arguments.output / f"{arguments.split}-{arguments.tables}.json") as unfinished:
        unfinished.write_text(json.dumps([asdict(row) for row in rows], ensure_ascii=False), encoding="utf-8")
    print(report(rows))  # noqa: T201


def tasks(data: Path, output: Path, split: str, language: str) -> Iterator[Task]:
    """What is measured in one language."""
    if split == "test":
        english = [row["text"] for row in _records(data / "flores200" / "en.jsonl.gz")]
        documents = [row["text"] for row in _records(data / "flores200" / f"{language}.jsonl.gz")]
    else:
        documents, english = zip(*_parallel(data, language), strict=True)
        words = dict(_entries(data, language))
        yield Task("words", language, list(words.values()), {name: [n] for n, name in enumerate(words)})
    yield Task("sentences", language, documents, find_names(english, output))


def find_names(sentences: Sequence[str], output: Path) -> dict[str, list[int]]:
    """The names in English sentences, with the places of all that have them; kept in the output folder."""
    digest = zlib.crc32("\n".join(sentences).encode())
    path = output / f"found-{digest:08x}.json"
    if path.exists():
        return {name: places for name, places in json.loads(path.read_text(encoding="utf-8")).items() if places}
    names = {
        tag.text
        for tags in dragoman.tag(sentences)
        for tag in tags
        if tag.label in LABELS and tag.score >= LEAST_SCORE and tag.text[0].isupper() and len(tag.text) > 2
    }
    places: dict[str, list[int]] = defaultdict(list)
    for name in sorted(names):
        written = regex.compile(rf"(?<!\w){regex.escape(name)}(?!\w)")
        places[name] += [place for place, sentence in enumerate(sentences) if written.search(sentence)]
    with atomic_file(path) as unfinished:
        unfinished.write_text(json.dumps(places), encoding="utf-8")
    return {name: at for name, at in places.items() if at}


def table_files(data: Path, output: Path, tables: str, language: str) -> list[Path]:
    """The table files of English and a language, of the demo or of dictionaries; none where there are none."""
    if tables == "dictionaries":
        dictionaries = make_tables(data, language, output / "tables", permissive=True, knowledge="dictionaries")
        return [table.path for table in dictionaries]
    of_demo = Path(demo_path[0]) / f"table.en-{language}.tsv"
    return [of_demo] if tables == "demo" and of_demo.exists() else []


def measure(task: Task, tables: Sequence[Path]) -> list[Row]:
    """Search for each name of a task."""
    with dragoman.open(embed="on_demand") as database:
        for path in tables:
            database.tables.add(path.stem.replace(".", "-"), path, source="en", target=task.language)
        collection = database.collection("documents", language=task.language)
        collection.add({"id": str(place), "text": text} for place, text in enumerate(task.documents))
        return [_measure_name(collection, task, name) for name in task.names]


def _measure_name(collection: Any, task: Task, name: str) -> Row:
    relevant = {str(place) for place in task.names[name]}
    answer = collection.search(name, query_language="en", method="psq", rerank=False, top_k=DEPTH)
    hits = [
        (
            hit.snippet,
            hit.id in relevant,
            [(mark.query_term, mark.document_term, mark.match) for mark in hit.highlights],
        )
        for hit in answer
    ]
    recall = sum(right for _, right, _ in hits) / min(len(relevant), DEPTH)
    return Row(task.kind, task.language, name, len(relevant), recall, hits)


def _records(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _parallel(data: Path, language: str) -> list[tuple[str, str]]:
    """Sentences with a name in their English, drawn with a fixed seed."""
    pairs: dict[str, str] = {}
    for path in sorted((data / "parallel" / f"{language}-en").glob("*.tsv.gz")):
        if path.name.startswith(_PARALLEL):
            for text, english in _rows(path):
                if regex.search(r"[a-z] \p{Lu}\p{Ll}", english):
                    pairs.setdefault(text, english)
    return Random(0).sample(sorted(pairs.items()), min(SENTENCES, len(pairs)))


def _entries(data: Path, language: str) -> list[tuple[str, str]]:
    """Names of dictionaries, of the half for tuning, each with its name in the language."""
    folder, pairs = data / "dictionaries", {}
    for path, inverted in ((folder / f"{language}-en.tsv.gz", False), (folder / f"en-{language}.tsv.gz", True)):
        if path.exists():
            for left, right in _rows(path):
                word, name = (right, left) if inverted else (left, right)
                if _NAME.fullmatch(name) and zlib.crc32(name.encode()) % 2 == 0:
                    pairs.setdefault(name, word)
    return Random(0).sample(sorted(pairs.items()), min(PAIRS, len(pairs)))


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) >= 2 and fields[0] and fields[1]:
                yield fields[0], fields[1]


def report(rows: Sequence[Row]) -> str:
    """Recall by language as a table of Markdown, and how many first hits are relevant."""
    lines = ["| kind | language | names | recall at 10 | right first hits of all names | of those with a hit |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for kind, language in dict.fromkeys((row.kind, row.language) for row in rows):
        some = [row for row in rows if (row.kind, row.language) == (kind, language)]
        first = [row.hits[0][1] for row in some if row.hits]
        recall = sum(row.recall for row in some) / len(some)
        right = sum(first)
        lines.append(
            f"| {kind} | {language} | {len(some)} | {recall:.3f} | {right / len(some):.3f} |"
            f" {right / max(1, len(first)):.3f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
