"""Search on sets that nothing was tuned on: questions of reading comprehension over the passages they were written for.

    python -m dragoman_lab.benchmarks.search.reading_sets --data DATA --output runs/search/reading
    python -m dragoman_lab.benchmarks.search.reading_sets --data DATA --output runs/search/zh --work runs/search \
        --sets bipar_valid

In one language: the questions of jaquad (Japanese), cmrc2018 (Chinese), iapp (Thai), piaf (French), pquad_valid
(Persian) and arcd (Arabic), each over all passages of its set; `default` (only the query and the collection) beside
`bm25` in that language. bipar_valid: English questions over Chinese passages and back, `default` beside `psq` and
`human`, BM25 with the same question in the passages' language; it needs `--work` for a table, and its licence permits
research alone.

Relevant is the passage that a question was written for; passages that repeat its text count as well. Questions without
an answer are left out. Of the others 500 at even distances in the file's order are asked, or all with `--questions 0`.
These sets are for one measurement of what is chosen elsewhere: variants are not to be compared on them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman_lab.benchmarks.search.measuring import measure_task, systems, write_report
from dragoman_lab.benchmarks.search.quality import tables_of
from dragoman_lab.evaluation.benchmark import Benchmark, BenchmarkError
from dragoman_lab.evaluation.search_client import open_search_client

ONE_LANGUAGE = {"jaquad": "ja", "cmrc2018": "zh", "iapp": "th", "piaf": "fr", "pquad_valid": "fa", "arcd": "ar"}
TWO_LANGUAGES = {"bipar_valid": ("en", "zh")}
UNIT = "passage"


def main() -> None:
    """Measure all sets, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="folder that keeps trained tables, for sets in two languages")
    parser.add_argument("--url", help="a running service, with its own tables; default: one is started")
    parser.add_argument("--sets", default=",".join(ONE_LANGUAGE))
    parser.add_argument("--questions", type=int, default=500, help="of each set, at even distances; 0: all")
    parser.add_argument("--permissive", action="store_true", help="train only on data with permissive licences")
    arguments = parser.parse_args()
    names = arguments.sets.split(",")
    if unknown := [name for name in names if name not in ONE_LANGUAGE | TWO_LANGUAGES]:
        parser.error(f"unknown set {unknown[0]}; there are {', '.join(ONE_LANGUAGE | TWO_LANGUAGES)}")
    foreign = [language for name in names for language in TWO_LANGUAGES.get(name, ()) if language != "en"]
    if foreign and not arguments.url and not arguments.work:
        parser.error("--work is required for sets in two languages without --url")
    tables = []
    if foreign and not arguments.url:
        tables = tables_of(arguments.data, foreign, arguments.work, arguments.permissive)
    rows = []
    with open_search_client(arguments.url, tables) as client:
        for name in names:
            for task in tasks(arguments.data, name, arguments.questions):
                chosen = systems("default,bm25" if task.source == task.target else "default,psq,human", None, None)
                collection = client.collection(f"{name}-{task.target}", task.target, task.documents)
                folder = arguments.output / f"{name}-{task.source}-{task.target}"
                rows.append({**measure_task(folder, client, collection, task, chosen), "unit": name})
                text = write_report(arguments.output, {"questions": arguments.questions}, rows)
    print(text)  # noqa: T201


def tasks(data_folder: Path, name: str, questions: int) -> Iterator[Benchmark]:
    """The tasks of a set: one, or both directions."""
    if name in ONE_LANGUAGE:
        language = ONE_LANGUAGE[name]
        yield read_task(data_folder / "qa", name, language, language, questions)
        return
    for source, target in (TWO_LANGUAGES[name], TWO_LANGUAGES[name][::-1]):
        yield read_task(data_folder / "research_only" / "qa", name, source, target, questions)


def read_task(folder: Path, name: str, source: str, target: str, questions: int) -> Benchmark:
    """The questions of one language over the passages of another, which are parallel if they are two.

    Raises:
        BenchmarkError: a file is missing, or a question has no counterpart.
    """
    passages = {row["id"]: row["text"] for row in _rows(folder / f"{name}.{target}.contexts.jsonl.gz")}
    repeated: dict[str, list[str]] = {}
    for key, text in passages.items():
        repeated.setdefault(text, []).append(key)
    asked = [row for row in _rows(folder / f"{name}.{source}.jsonl.gz") if row["answers"]]
    if 0 < questions < len(asked):
        asked = [asked[index * len(asked) // questions] for index in range(questions)]
    human: dict[str, str] = {}
    relevant = {row["id"]: row["context_id"] for row in asked}
    if source != target:
        other = {_shared_id(row["id"]): row for row in _rows(folder / f"{name}.{target}.jsonl.gz")}
        if alone := [row["id"] for row in asked if _shared_id(row["id"]) not in other]:
            raise BenchmarkError(f"{name}: question {alone[0]} has no counterpart in {target}")
        human = {row["id"]: other[_shared_id(row["id"])]["question"] for row in asked}
        relevant = {row["id"]: other[_shared_id(row["id"])]["context_id"] for row in asked}
    if lost := [key for key in relevant.values() if key not in passages]:
        raise BenchmarkError(f"{name}: there is no passage {lost[0]}")
    return Benchmark(
        source,
        target,
        UNIT,
        {row["id"]: row["question"] for row in asked},
        human,
        passages,
        {query: dict.fromkeys(repeated[passages[key]], 1) for query, key in relevant.items()},
    )


def _shared_id(key: str) -> str:
    """A question's id without its language, which parallel questions share."""
    return re.sub(r"_[A-Z]{2}$", "", key)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise BenchmarkError(f"{path}: no such file")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


if __name__ == "__main__":
    main()
