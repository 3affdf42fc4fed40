"""Comparison of our BM25 with the package bm25s: same index terms, k1, b, documents and machine, in one run.

    pip install bm25s
    python -m dragoman_lab.benchmarks.retrieval.bm25_comparison --data DATA --languages de,en

Questions and sentences of XQuAD-R in one language. Both search the index terms of our analysis, by Lucene's BM25. Index
time is from raw text to an index that can be searched; analysis is a part of it. Queries per second include analysis
and the best hundred hits, one query at a time, in a first and in a second pass over the questions. `--distractors` adds
sentences of DATA/parallel to the documents. Rounds alternate between the systems; medians are reported.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Protocol

import bm25s
import ir_measures
from ir_measures import AP

from dragoman.engine.query.translation import BM25_OF
from dragoman.indexes import BM25, IndexedDocument, LuceneIndex
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.query import monolingual
from dragoman.lexicon.text.tokens import Analysis
from dragoman_lab.benchmarks.retrieval.distractors import distractors
from dragoman_lab.evaluation.benchmark import SPLITS, load_benchmark

DEPTH = 100
PARAMETERS: BM25 = BM25_OF["none"]
Run = dict[str, dict[str, float]]


class System(Protocol):
    """A search engine of one language."""

    def index(self, documents: dict[str, str], folder: Path) -> None:
        """Index documents by id."""

    def search(self, query: str) -> dict[str, float]:
        """The scores of the best hits, best first."""


class Dragoman:
    """The modules that the service uses."""

    def __init__(self, language: Analysis) -> None:
        self.language = language

    def index(self, documents: dict[str, str], folder: Path) -> None:
        self.ids = list(documents)
        name = self.language.language
        rows = [IndexedDocument(key, name, text) for key, text in enumerate(documents.values())]
        self.lucene = LuceneIndex(folder)
        self.lucene.add(rows, {name: self.language})
        self.lucene.refresh()

    def search(self, query: str) -> dict[str, float]:
        index_query = monolingual(self.language.tokens(query))
        hits = self.lucene.search(index_query, self.language.language, DEPTH, PARAMETERS)
        return {self.ids[hit.key]: hit.score for hit in hits}


class Bm25s:
    """bm25s with scores computed when documents are indexed, as is its way."""

    def __init__(self, language: Analysis) -> None:
        self.language = language

    def terms(self, text: str) -> list[str]:
        return [token.term for token in self.language.tokens(text) if token.term]

    def index(self, documents: dict[str, str], folder: Path) -> None:
        self.ids = list(documents)
        self.engine = bm25s.BM25(method="lucene", k1=PARAMETERS.k1, b=PARAMETERS.b)
        self.engine.index([self.terms(text) for text in documents.values()], show_progress=False)

    def search(self, query: str) -> dict[str, float]:
        count = min(DEPTH, len(self.ids))
        places, scores = self.engine.retrieve([self.terms(query)], k=count, show_progress=False)
        pairs = zip(places[0].tolist(), scores[0].tolist(), strict=True)
        return {self.ids[place]: score for place, score in pairs if score > 0}


def measure(system: System, queries: dict[str, str], documents: dict[str, str]) -> tuple[list[float], Run]:
    """One round: seconds of indexing, queries per second in both passes, and the run."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        system.index(documents, Path(folder))
        figures = [time.perf_counter() - started]
        for _ in range(2):
            started = time.perf_counter()
            run = {query: system.search(text) for query, text in queries.items()}
            figures.append(len(queries) / (time.perf_counter() - started))
        if isinstance(system, Dragoman):
            system.lucene.close()
    return figures, run


def main() -> None:
    """Compare on each language and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--languages", default="de,es,ru,zh,ar")
    parser.add_argument("--split", choices=SPLITS, default="tune", help="of XQuAD-R's questions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--distractors", type=int, default=0)
    arguments = parser.parse_args()
    print("| language | documents | MAP@100: ours / bm25s | index seconds | queries/s, first | queries/s, again |")  # noqa: T201
    print("|---|---|---|---|---|---|")  # noqa: T201
    for language in arguments.languages.split(","):
        task = load_benchmark(arguments.data / "xquad_r", language, language, "sentence", split=arguments.split)
        documents = task.documents | distractors(arguments.data, language, arguments.distractors)
        systems: tuple[System, System] = Dragoman(analysis(language)), Bm25s(analysis(language))
        rounds = [[measure(system, task.queries, documents) for system in systems] for _ in range(arguments.rounds + 1)]
        cells = [language, str(len(documents))]
        maps = [ir_measures.calc_aggregate([AP @ DEPTH], task.qrels, run)[AP @ DEPTH] for _, run in rounds[-1]]
        cells.append(f"{maps[0]:.4f} / {maps[1]:.4f}")
        for place in range(3):
            ours, theirs = (statistics.median(figures[side][0][place] for figures in rounds[1:]) for side in range(2))
            cells.append(f"{ours:.2f} / {theirs:.2f}" if place == 0 else f"{ours:.0f} / {theirs:.0f}")
        print(f"| {' | '.join(cells)} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
