"""Accuracy of language detection for short queries, where collections are in 15 languages and there is no table.

    python -m dragoman_lab.benchmarks.languages.short_queries --data DATA --split tune --size 2000

Queries are questions of XQuAD-R for tuning cut to 2 to 4 words, utterances of xSID, and entries of dictionaries of 2 to
4 words (`DATA/xquad_r`, `DATA/tagging/slots`, `DATA/dictionaries`). A text belongs to one split by its checksum, so
that the splits share none. `--size` texts are drawn of it by a fixed seed, as many of each language, and in each as
many of each source that has the language. Each is detected with no reader known, with English readers, and with readers
of the query's own language.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.engine.query.language import detect
from dragoman_lab.evaluation.benchmark import part_of

Part = Literal["learn", "tune", "test"]

LANGUAGES = ("ar", "de", "el", "en", "es", "fr", "hi", "id", "it", "nl", "pt", "ru", "tr", "vi", "zh")
"""The languages of the collections: of nine of them letters alone can tell little, as all are written in Latin."""
SEED = 41
_LONGEST = 80


class Query(NamedTuple):
    """A short query, its language, and where it is from."""

    text: str
    language: str
    source: str


class Wrong(NamedTuple):
    """A query that was taken for one in another language."""

    query: Query
    taken: str
    probability: float


def part(text: str) -> Part:
    """The split that a text belongs to by its checksum: half are to learn from, a quarter each to tune and test."""
    first = hashlib.sha256(text.casefold().encode()).digest()[0]
    return "learn" if first < 128 else "tune" if first < 192 else "test"


def cut_question(question: str, draw: random.Random) -> str:
    """Two to four words of a question in a row; without spaces, two characters count as a word."""
    spaced = " " in question.strip()
    units = question.split() if spaced else [question[at : at + 2] for at in range(0, len(question), 2)]
    count = draw.randint(2, 4)
    start = draw.randrange(max(1, len(units) - count + 1))
    return (" " if spaced else "").join(units[start : start + count])


def questions(data_folder: Path, language: str) -> Iterator[str]:
    """The tuning questions of XQuAD-R in a language, cut; without parts all of whose words the English one has."""
    draw = random.Random(f"{SEED} {language}")
    english = {row["qid"]: row["text"].casefold() for row in _questions(data_folder, "en")}
    for row in _questions(data_folder, language):
        short = cut_question(row["text"], draw)
        if language == "en" or not _words(short) <= _words(english[row["qid"]]):
            yield short


def utterances(data_folder: Path, language: str) -> Iterator[str]:
    """The utterances of xSID in a language."""
    for line in lines_of(data_folder / "tagging" / "slots" / language / "xsid07.valid.conll.gz"):
        if line.startswith("# text = "):
            yield line.removeprefix("# text = ")


def titles(data_folder: Path, language: str) -> Iterator[str]:
    """Entries of two to four words of the dictionaries of a language and English; those the same in both are left out.

    WordNets are not read, as many of their entries are names of species and persons.
    """
    for text, translation in _pairs(data_folder, language):
        words = 2 if language in ("ja", "th", "zh") else 1 + text.count(" ")
        if 2 <= words <= 4 and len(text) > 1 and text.casefold() != translation.casefold() and "(" not in text:
            yield text


def _pairs(data_folder: Path, language: str) -> Iterator[tuple[str, str]]:
    """The entries of a language's dictionaries, each with its translation."""
    other = "de" if language == "en" else "en"
    for name in (f"{language}-{other}", f"{other}-{language}"):
        for line in lines_of(data_folder / "dictionaries" / f"{name}.tsv.gz"):
            first, second = line.split("\t")[:2]
            yield (first, second) if name.startswith(language) else (second, first)


def _written_alike(data_folder: Path, languages: Sequence[str]) -> set[str]:
    """Entries of the dictionaries of two languages or more: nobody can tell which one they are in."""
    seen: set[str] = set()
    twice: set[str] = set()
    for language in languages:
        entries = {text.casefold() for text, _ in _pairs(data_folder, language)}
        twice |= entries & seen
        seen |= entries
    return twice


SOURCES: dict[str, Callable[[Path, str], Iterator[str]]] = {
    "XQuAD-R": questions,
    "xSID": utterances,
    "dictionaries": titles,
}


def draw_queries(data_folder: Path, split: Part, size: int, languages: Sequence[str] = LANGUAGES) -> list[Query]:
    """``size`` queries of a split: as many of each language, give or take one, taken from its sources in turn."""
    queries: list[Query] = []
    alike = _written_alike(data_folder, languages)
    for place, language in enumerate(languages):
        count = size // len(languages) + (place < size % len(languages))
        pools = []
        for name, read in SOURCES.items():
            usable = {text for text in read(data_folder, language) if part(text) == split and len(text) <= _LONGEST}
            texts = sorted(text for text in usable if text.casefold() not in alike)
            random.Random(f"{SEED} {split} {language} {name}").shuffle(texts)
            if texts:
                pools.append([Query(text, language, name) for text in texts])
        taken = [
            query for row in zip(*(pool[:count] + [None] * count for pool in pools), strict=False) for query in row
        ]
        queries += [query for query in taken if query is not None][:count]
    return queries


def wrong(queries: Iterable[Query], languages: Sequence[str], readers: Callable[[Query], Sequence[str]]) -> list[Wrong]:
    """The queries that are taken for ones in another language, with readers of these languages."""
    mistakes = []
    for query in queries:
        taken = detect(query.text, {"en", *languages}, lambda language, word: False, readers=readers(query))
        if taken.language != query.language:
            mistakes.append(Wrong(query, taken.language, taken.probability))
    return mistakes


def summary(queries: Sequence[Query], languages: Sequence[str]) -> str:
    """A Markdown table of accuracy, by language and by source, and the queries that are wrong with English readers."""
    readers: dict[str, Callable[[Query], Sequence[str]]] = {
        "no reader known": lambda query: (),
        "English readers": lambda query: ("en",),
        "own readers": lambda query: (query.language,),
    }
    faults = {name: wrong(queries, languages, choose) for name, choose in readers.items()}
    shown = ["| | queries | " + " | ".join(readers) + " |", "|---" * (len(readers) + 2) + "|"]
    groups: dict[str, list[Query]] = defaultdict(list)
    for query in queries:
        for name in (query.language, query.source, "all"):
            groups[name].append(query)
    for name in [*languages, *(source for source in SOURCES if source in groups), "all"]:
        total = len(groups[name])
        counts = [
            Counter({True: sum(name in _names(mistake.query) for mistake in wrong_queries)})[True]
            for wrong_queries in faults.values()
        ]
        cells = " | ".join(f"{100 * (1 - count / max(1, total)):.1f}%" for count in counts)
        shown.append(f"| {name} | {total} | {cells} |")
    shown.append("")
    shown += [
        f"{mistake.query.language} as {mistake.taken} {mistake.probability:.2f}: {mistake.query.text}"
        for mistake in faults["English readers"]
    ]
    return "\n".join(shown)


def _names(query: Query) -> tuple[str, str, str]:
    return query.language, query.source, "all"


def _questions(data_folder: Path, language: str) -> Iterator[dict[str, str]]:
    rows = map(json.loads, lines_of(data_folder / "xquad_r" / "queries" / f"{language}.jsonl.gz"))
    return (row for row in rows if part_of(row) == "tune")


def _words(text: str) -> set[str]:
    return {word.strip("?.,;:¿\"'") for word in text.casefold().split()}


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file; none where there is no such file."""
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (line.rstrip("\n") for line in lines)


def main() -> None:
    """Print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=("tune", "test"), default="tune")
    parser.add_argument("--size", type=int, default=200, help="how many queries; default: 200")
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="codes, separated by commas")
    arguments = parser.parse_args()
    languages = arguments.languages.split(",")
    print(summary(draw_queries(arguments.data, arguments.split, arguments.size, languages), languages))  # noqa: T201


if __name__ == "__main__":
    main()
