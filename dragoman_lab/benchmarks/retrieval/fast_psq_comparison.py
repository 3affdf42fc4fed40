"""Comparison of Dragoman's PSQ with the package fast_psq: same table, analysis, documents and machine, in one run.

    pip install fast_psq
    python -m dragoman_lab.benchmarks.retrieval.fast_psq_comparison --data DATA --tables runs/first_stage/tables \
        --languages de,ru

Both use the tokens of Dragoman's analysis and the merged table of index terms, built from the output files of
`benchmarks/retrieval/first_stage.py`. Effectiveness is MAP@100 on XQuAD-R sentences (`--split`). Index time is from
raw text to an index on disk. Queries per second include analysis and translation of the query and the best hundred
hits, in a first and in a second pass over the questions. `--distractors` adds foreign sentences of DATA/parallel to the
documents. Rounds alternate between the systems; medians are reported. With `--own-tokenizer`, fast_psq uses its own
tokenizer and the table of words.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import fast_psq.index
import ir_measures
import numpy as np
from fast_psq.search import search_query
from fast_psq.tokenizer import PSQTokenizer
from fast_psq.utils import read_inverted_index, write_inverted_index
from fast_psq.vectorizer import PSQVectorizer
from ir_measures import AP

from dragoman.engine.query.translation import identical
from dragoman.engine.settings import Settings
from dragoman.indexes import BM25, IndexedDocument, LuceneIndex
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.query import Bridge, psq
from dragoman.lexicon.table.compose import Member, analyse_table, merge
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import Analysis
from dragoman.store.tables.table_reader import read_table
from dragoman_lab.benchmarks.retrieval.distractors import distractors
from dragoman_lab.evaluation.benchmark import SPLITS, Benchmark, load_benchmark

DEPTH = 100


@dataclass
class Measured:
    """One system on one language."""

    average_precision: float
    index_seconds: list[float]
    """Time until the documents are searchable and their files written, without fsync in both systems."""
    sync_seconds: list[float]
    """Only ours: a commit with fsync; the service does it in the background."""
    first: list[float]
    """Queries per second in the first pass, when every term is new to the index."""
    again: list[float]
    """Queries per second in the second pass, when all terms were searched before."""


Tokenizer = Callable[[str], list[str]]


def own_tokenizer(language: str) -> Tokenizer:
    """The tokenizer of fast_psq (Moses, without stop words, as they need a download)."""
    tokens = PSQTokenizer(language)
    return lambda text: list(tokens.tokenize(" ".join(text.split())))


def tokenizer(language: Analysis) -> Tokenizer:
    """The index terms of a text, as tokens for fast_psq."""
    return lambda text: [token.term for token in language.tokens(text) if token.term]


class FastPsq:
    """fast_psq's functions in the order of its command line, with default arguments."""

    def __init__(self, table: Table, source: Tokenizer, target: Tokenizer, background: Sequence[str]) -> None:
        matrix: dict[str, dict[str, float]] = {}
        for term in table.targets:
            if " " not in term:
                entries = table.inverse().translations(term)
                matrix[term] = {e.term: e.p_forward for e in entries if " " not in e.term and e.p_forward > 0}
        matrix = {term: row for term, row in matrix.items() if row}
        self.vectorizer = PSQVectorizer.from_dict(matrix, source_tokenizer=target, target_tokenizer=source)
        counts = Counter(term for text in background for term in source(text))
        with tempfile.NamedTemporaryFile("w", suffix=".cnt") as file:
            file.writelines(f"{count} {term}\n" for term, count in counts.items())
            file.flush()
            self.vectorizer.load_query_term_importance(file.name)
        self.arguments = argparse.Namespace(
            min_token_score=1e-9, max_translated_doc_length=-1, max_translated_doc_ratio=-1
        )

    def index(self, documents: dict[str, str], folder: Path) -> None:
        ids, texts = list(documents), list(documents.values())
        for shard, start in enumerate(range(0, len(ids), 5000)):
            translated, lengths = self.vectorizer.translate(texts[start : start + 5000], return_lengths=True)
            chunk = fast_psq.index.prune_chunk(self.arguments, translated, lengths).astype(np.float32).tocsr()
            path = folder / f"vecpsq-{shard}.pkl"
            write_inverted_index(False, path, np.array(ids[start : start + 5000]), chunk)
        self.shards = [read_inverted_index(path) for path in sorted(folder.glob("*.pkl"))]

    def search(self, queries: dict[str, str]) -> dict[str, dict[str, float]]:
        vectors = self.vectorizer.make_target_vectors(list(queries.values())).astype(np.float32)
        results = search_query(vectors, list(queries), self.shards, DEPTH)
        return {query: {str(key): float(score) for key, score in hits} for query, hits in results.items()}


class Dragoman:
    """The same with the modules that the service uses."""

    def __init__(self, table: Table, source: Analysis, target: Analysis) -> None:
        self.table, self.source, self.target = table, source, target

    def index(self, documents: dict[str, str], folder: Path) -> None:
        self.ids = list(documents)
        rows = [IndexedDocument(key, self.target.language, text) for key, text in enumerate(documents.values())]
        self.lucene = LuceneIndex(folder)
        self.lucene.add(rows, {self.target.language: self.target})
        self.lucene.refresh()

    def search(self, queries: dict[str, str]) -> dict[str, dict[str, float]]:
        language = self.target.language
        bridge = Bridge(partial(identical, analysis, language), lambda term: self.lucene.sounding(language, term))
        results = {}
        for query, text in queries.items():
            translated = psq(self.source.tokens(text), self.table, bridge)
            hits = self.lucene.search(translated, language, DEPTH, BM25(0.2, 0.3))
            results[query] = {self.ids[hit.key]: hit.score for hit in hits}
        return results


def table_of(path: Path, language: str) -> Table:
    """A table file, read like an upload."""
    return read_table(iter([path.read_bytes()]), "en", language, "tsv", Settings.load()).table


def measure(system: FastPsq | Dragoman, task: Benchmark, documents: dict[str, str], result: Measured) -> None:
    """One round: index, search all queries, record the times."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        system.index(documents, Path(folder))
        result.index_seconds.append(time.perf_counter() - started)
        for rates in (result.first, result.again):
            started = time.perf_counter()
            run = system.search(task.queries)
            rates.append(len(task.queries) / (time.perf_counter() - started))
        if isinstance(system, Dragoman):
            started = time.perf_counter()
            system.lucene.commit(1)
            result.sync_seconds.append(time.perf_counter() - started)
            system.lucene.close()
    result.average_precision = ir_measures.calc_aggregate([AP @ DEPTH], task.qrels, run)[AP @ DEPTH]


def background(data_folder: Path, language: str) -> list[str]:
    """The English side of the parallel text, for fast_psq's prior of query terms."""
    texts = []
    for path in sorted((data_folder / "parallel" / f"{language}-en").glob("*.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            texts += [line.rstrip("\n").split("\t")[-1] for line in stream]
    return texts


def main() -> None:
    """Compare on each language and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--languages", default="de,es,ru,zh,ar")
    parser.add_argument("--split", choices=SPLITS, default="tune", help="of XQuAD-R's questions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--distractors", type=int, default=0)
    parser.add_argument("--own-tokenizer", action="store_true", help="fast_psq with its own tokenizer, over words")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    lines = [
        "| en to | documents | MAP@100: ours / fast_psq | index seconds "
        "| queries/s, terms asked for the first time | queries/s, terms asked before |",
        "|---|---|---|---|---|---|",
    ]
    for language in arguments.languages.split(","):
        task = load_benchmark(
            arguments.data / "xquad_r",
            "en",
            language,
            "sentence",
            split=arguments.split,
        )
        documents = task.documents | distractors(arguments.data, language, arguments.distractors)
        source, target = analysis("en"), analysis(language)
        members = [
            Member(table_of(arguments.tables / f"en-{language}{kind}.tsv", language), name, 1, "statistical", weight)
            for kind, name, weight in (("", "trained", 0.7), (".dictionary", "dictionary", 0.3))
        ]
        merged = merge(members)
        table = analyse_table(merged, source, target)
        prior = background(arguments.data, language)
        if arguments.own_tokenizer:
            other = FastPsq(merged, own_tokenizer("en"), own_tokenizer(language), prior)
        else:
            other = FastPsq(table, tokenizer(source), tokenizer(target), prior)
        systems = {Dragoman(table, source, target): Measured(0, [], [], [], []), other: Measured(0, [], [], [], [])}
        for _ in range(arguments.rounds + 1):
            for system, result in systems.items():
                with contextlib.redirect_stderr(io.StringIO()):
                    measure(system, task, documents, result)
        ours, theirs = systems.values()
        index = [statistics.median(result.index_seconds[1:]) for result in (ours, theirs)]
        first = [statistics.median(result.first[1:]) for result in (ours, theirs)]
        again = [statistics.median(result.again[1:]) for result in (ours, theirs)]
        commit = statistics.median(ours.sync_seconds[1:])
        lines.append(
            f"| {language} | {len(documents)} | {ours.average_precision:.4f} / {theirs.average_precision:.4f} "
            f"| {index[0]:.2f} / {index[1]:.2f} ({index[1] / index[0]:.2f}x as fast; commit {commit:.2f}) "
            f"| {first[0]:.0f} / {first[1]:.0f} ({first[0] / first[1]:.2f}x) "
            f"| {again[0]:.0f} / {again[1]:.0f} ({again[0] / again[1]:.2f}x) |"
        )
        print(lines[-1], flush=True)  # noqa: T201
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
