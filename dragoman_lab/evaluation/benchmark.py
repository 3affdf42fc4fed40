"""Reads benchmark folders: queries, documents and relevance judgements as files.

There are three layouts, with plain or gzipped files:

- judged: ``queries/<language>.jsonl`` (``id``, ``text``), ``corpus/<unit>.<language>.jsonl`` (``id``, ``text``)
  and ``qrels/<unit>.<language>.trec`` or ``qrels/<queries>.trec``; judgements of documents outside the chosen
  corpus are left out. The human translation of a query is the query with the same ``qid`` (or the same id after
  its language prefix) in ``queries/<target>.jsonl``, or its ``text_pivot`` field.
- parallel: ``<language>.jsonl`` files whose lines with the same ``id`` are translations of each other: each
  sentence is a query for its translation.
- sample: ``queries.<language>.jsonl``, ``documents.<language>.jsonl`` and ``qrels.trec``, as in the demo.

Only ``text`` is indexed: a title in the corpus may be in the language of the queries.

XQuAD-R's questions have two parts, told by the article in their field ``para`` (``de-a007-p02``): those of articles
a000 to a011 are for tuning, the others for the one measurement that is reported. Queries without such a field have no
parts.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Split = Literal["tune", "test", "all"]
SPLITS: tuple[Split, ...] = ("tune", "test", "all")
_PARAGRAPH = re.compile(r"[a-z]{2,3}-a(\d{3})-p\d+")
_TUNING_ARTICLES = 12


class BenchmarkError(ValueError):
    """A benchmark folder has a missing file or an invalid line; the message names it."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One retrieval task: queries of one language over documents of another."""

    source: str
    target: str
    unit: str
    queries: dict[str, str]
    translated_queries: dict[str, str]
    """By query id, the human translation of the query into the documents' language; may be empty."""
    documents: dict[str, str]
    qrels: dict[str, dict[str, int]]
    split: Split | None = None
    """The part of the queries that was read; None if they have no parts."""


Keep = Callable[[dict[str, Any]], bool]


def load_benchmark(
    folder: Path,
    source: str,
    target: str,
    unit: str,
    queries: str | None = None,
    keep: Keep = lambda query: True,
    split: Split = "all",
) -> Benchmark:
    """Read one task from a benchmark folder.

    ``queries`` names the query file if it isn't the language code; ``keep`` filters queries by their fields; ``split``
    chooses a part of queries that have parts.

    Raises:
        BenchmarkError: a file is missing, a line is malformed, or no query that is used has a relevant document.
    """
    parts: set[str | None] = set()

    def is_used(row: dict[str, Any]) -> bool:
        part = part_of(row)
        parts.add(part)
        return (part is None or split in ("all", part)) and keep(row)

    if (folder / "corpus").is_dir():
        task = _read_judged(folder, source, target, unit, queries or source, is_used)
    elif _find(folder, f"{target}.jsonl") is not None:
        task = _read_parallel(folder, source, target, unit, is_used)
    else:
        task = _read_sample(folder, source, target, unit, is_used)
    judged = {query: rels for query, rels in task.qrels.items() if query in task.queries and rels}
    if not judged:
        raise BenchmarkError(f"{folder}: no query of {source} has a relevant {unit} in {target}")
    return Benchmark(
        source,
        target,
        unit,
        {query: task.queries[query] for query in judged},
        {query: text for query, text in task.translated_queries.items() if query in judged},
        task.documents,
        judged,
        split if parts - {None} else None,
    )


def part_of(query: Mapping[str, Any]) -> Split | None:
    """The part that a query's paragraph puts it into, or None if it has no such field."""
    paragraph = _PARAGRAPH.fullmatch(str(query.get("para", "")))
    if paragraph is None:
        return None
    return "tune" if int(paragraph[1]) < _TUNING_ARTICLES else "test"


def _read_judged(folder: Path, source: str, target: str, unit: str, name: str, keep: Keep) -> Benchmark:
    corpus = {line["id"]: line["text"] for line in json_lines(_require(folder, f"corpus/{unit}.{target}.jsonl"))}
    rows = [row for row in json_lines(_require(folder, f"queries/{name}.jsonl")) if keep(row)]
    pivot = {row["id"]: row["text_pivot"] for row in rows if row.get("pivot", target) == target and "text_pivot" in row}
    human = _find(folder, f"queries/{target}.jsonl")
    if human is not None:
        by_key = {_key(row): row["text"] for row in json_lines(human)}
        pivot = {row["id"]: by_key[_key(row)] for row in rows if _key(row) in by_key}
    judgements = _find(folder, f"qrels/{unit}.{name}.trec") or _require(folder, f"qrels/{name}.trec")
    return Benchmark(
        source,
        target,
        unit,
        {row["id"]: row["text"] for row in rows},
        pivot,
        corpus,
        _qrels(judgements, corpus),
    )


def _read_parallel(folder: Path, source: str, target: str, unit: str, keep: Keep) -> Benchmark:
    corpus = {line["id"]: line["text"] for line in json_lines(_require(folder, f"{target}.jsonl"))}
    rows = [row for row in json_lines(_require(folder, f"{source}.jsonl")) if keep(row)]
    return Benchmark(
        source,
        target,
        unit,
        {row["id"]: row["text"] for row in rows},
        {row["id"]: corpus[row["id"]] for row in rows if row["id"] in corpus},
        corpus,
        {row["id"]: {row["id"]: 1} for row in rows if row["id"] in corpus},
    )


def _read_sample(folder: Path, source: str, target: str, unit: str, keep: Keep) -> Benchmark:
    corpus = {line["id"]: line["text"] for line in json_lines(_require(folder, f"documents.{target}.jsonl"))}
    rows = [row for row in json_lines(_require(folder, f"queries.{source}.jsonl")) if keep(row)]
    return Benchmark(
        source,
        target,
        unit,
        {row["id"]: row["text"] for row in rows},
        {},
        corpus,
        _qrels(_require(folder, "qrels.trec"), corpus),
    )


def _key(row: dict[str, Any]) -> str:
    """The key that a query and its translations share."""
    return str(row.get("qid") or re.sub(r"^[a-z]{2,3}-", "", row["id"]))


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _require(folder: Path, name: str) -> Path:
    path = _find(folder, name)
    if path is None:
        raise BenchmarkError(f"{folder}: neither {name} nor {name}.gz exists")
    return path


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, plain or gzip, that are not blank, with their numbers."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for line_number, line in enumerate(stream, 1):
            if line.strip():
                yield line_number, line


def json_lines(path: Path, needed: Sequence[str] = ("id", "text")) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, plain or gzip, each of which has the strings `needed`.

    Raises:
        BenchmarkError: a line that is no such object.
    """
    for line_number, line in text_lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BenchmarkError(f"{path}:{line_number}: not JSON: {error}") from None
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in needed):
            named = " and ".join(f'"{name}"' for name in needed)
            raise BenchmarkError(f"{path}:{line_number}: needs the strings {named}")
        yield row


def _qrels(path: Path, corpus: dict[str, str]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line_number, line in text_lines(path):
        fields = line.split()
        if len(fields) != 4 or not re.fullmatch(r"-?\d+", fields[3]):
            raise BenchmarkError(f"{path}:{line_number}: needs `query 0 document relevance`")
        if fields[2] in corpus and int(fields[3]) > 0:
            qrels.setdefault(fields[0], {})[fields[2]] = int(fields[3])
    return qrels
