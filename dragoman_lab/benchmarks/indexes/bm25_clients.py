"""BM25 of one index from 1, 8 and 64 threads: latency and searches per second of queries seen first and seen again.

    python -m dragoman_lab.benchmarks.indexes.bm25_clients --data DATA --table runs/first_stage/tables/en-de.tsv

English questions of XQuAD-R, translated (psq, smt), and its German ones (none) search German sentences of XQuAD-R,
alone and among `--paragraphs` of four sentences of DATA/parallel. Each round refreshes the index and asks all questions
for the first time (cold) and again (warm), for the best hundred hits with the statistics behind their scores. Without
`--table` the demo's is used, which has few translations.

With `--baseline CHECKOUT[:lucene]`, once or more, the indexes of other checkouts answer too, in processes of their own,
and rounds alternate between all. `:lucene` turns off the arrays in memory that earlier versions had, and `:2` is the
index of a checkout in two shards. Figures are medians over the rounds; ratios are those to this checkout. The last
lines compare the hits.

`--words 20 --hits 1000` asks long questions, each of several of XQuAD-R, for many hits:

    python -m dragoman_lab.benchmarks.indexes.bm25_clients --data DATA --table runs/first_stage/tables/en-de.tsv \
        --paragraphs 560000 --words 20 --hits 1000 --queries 100 --clients 1 8 --baseline BEFORE --baseline .:2
"""

from __future__ import annotations

import argparse
import copy
import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

SENTENCES = 4
ROOT = Path(__file__).resolve().parents[3]
Figures = dict[str, tuple[float, float, float, float]]
"""By what was measured: median and 95th percentile of the latency in milliseconds, searches per second, and
milliseconds of processor time per search, of all threads."""


def records(path: Path) -> list[Any]:
    """The records of a file with one a line."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def paragraphs(data_folder: Path, count: int) -> list[str]:
    """Runs of German sentences, which overlap if there are too few; if these are too few as well, shorter runs too."""
    sentences: list[str] = []
    for path in sorted((data_folder / "parallel" / "de-en").glob("*.tsv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            sentences += [line.split("\t", 1)[0] for line in stream]
    step = max(1, min(SENTENCES, len(sentences) // max(count, 1)))
    runs = [divmod(step * place, len(sentences)) for place in range(count)]
    return [" ".join(sentences[start : start + max(1, SENTENCES - turn)]) for turn, start in runs]


def join_questions(texts: list[str], words: int) -> list[str]:
    """The questions, each with as many of the next ones as it takes to have so many words."""
    joined = []
    for place in range(len(texts)):
        text = texts[place]
        for following in texts[place + 1 :] + texts[:place]:
            if len(text.split()) >= words:
                break
            text += f" {following}"
        joined.append(text)
    return joined


class Engine:
    """The index of the checkout that Python imports, and the translated queries."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        from dragoman.indexes import IndexedDocument, LuceneIndex
        from dragoman.indexes.analysis.pipeline import analysis

        data_folder, count, queries = arguments.data, arguments.paragraphs[0], arguments.queries
        self.hits_wanted, self.words = arguments.hits, arguments.words
        if arguments.shards > 1:
            from dragoman.indexes.lucene.sharded_index import ShardedIndex
            from dragoman.indexes.shard_pool import ShardPool

            self.index: Any = ShardedIndex(folder, ShardPool(os.cpu_count() or 1), arguments.shards)
        else:
            self.index = LuceneIndex(folder)
        texts = [record["text"] for record in records(data_folder / "xquad_r" / "corpus" / "sentence.de.jsonl.gz")]
        texts += paragraphs(data_folder, count)
        self.analyses = {"de": analysis("de")}
        started = time.perf_counter()
        self._add([IndexedDocument(key, "de", text) for key, text in enumerate(texts)])
        self.index.commit(1)
        self.index_seconds = time.perf_counter() - started
        self.extra = IndexedDocument(len(texts), "de", "Zusatz")
        self.queries = {
            method: translations[:: max(1, len(translations) // queries)]
            for method, translations in self._translate_queries(data_folder, arguments.table).items()
        }

    def _add(self, documents: list[Any]) -> None:
        from dragoman.indexes.documents import analyse_documents, batches

        for batch in batches(documents):
            self.index.write(analyse_documents(batch, self.analyses))

    def _translate_queries(self, data_folder: Path, table: Path) -> dict[str, list[Any]]:
        from dragoman.engine.query.translation import BM25_OF, identical
        from dragoman.engine.settings import Settings
        from dragoman.indexes.analysis.pipeline import analysis
        from dragoman.lexicon.query import Bridge, monolingual, psq
        from dragoman.lexicon.smt import smt
        from dragoman.lexicon.table.compose import Member, analyse_table, merge
        from dragoman.store.tables.table_reader import read_table

        self.parameters = BM25_OF
        german, english = analysis("de"), analysis("en")
        read = read_table(iter([table.read_bytes()]), "en", "de", "tsv", Settings.load()).table
        words = merge([Member(read, "table", 1)])
        terms = analyse_table(words, english, german)
        bridge = Bridge(partial(identical, analysis, "de"))
        questions = {
            language: join_questions(
                [record["text"] for record in records(data_folder / "xquad_r" / "queries" / f"{language}.jsonl.gz")],
                self.words,
            )
            for language in ("en", "de")
        }
        asked = [english.tokens(text) for text in questions["en"]]
        return {
            "psq": [psq(tokens, terms, bridge) for tokens in asked],
            "smt": [smt(tokens, words) for tokens in asked],
            "none": [monolingual(german.tokens(text)) for text in questions["de"]],
        }

    def round(self, clients: int) -> Figures:
        """Ask all queries twice after a refresh, from this many threads."""
        figures: Figures = {}
        for method, queries in self.queries.items():
            self._add([self.extra])
            self.index.refresh()
            self.index.rank_with_statistics(queries[0], "de", 1)
            asked = copy_queries(queries)
            for state in ("cold", "warm"):
                figures[f"{method} {state}"] = self._ask(method, asked, clients)
        return figures

    def _ask(self, method: str, queries: list[Any], clients: int) -> tuple[float, float, float, float]:
        parameters = self.parameters[method]

        def ask(query: Any) -> float:
            started = time.perf_counter()
            self.index.rank_with_statistics(query, "de", self.hits_wanted, parameters)
            return time.perf_counter() - started

        def share(client: int) -> list[float]:
            return [ask(query) for query in queries[client::clients]]

        started, processor = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(clients) as pool:
            latencies = sorted(itertools.chain.from_iterable(pool.map(share, range(clients))))
        rate = len(queries) / (time.perf_counter() - started)
        used = 1e3 * (time.process_time() - processor) / len(queries)
        return 1e3 * statistics.median(latencies), 1e3 * latencies[len(latencies) * 95 // 100], rate, used

    def hits(self) -> dict[str, list[list[tuple[int, float]]]]:
        """The best ten hits of every query."""
        return {
            method: [
                [
                    tuple(hit)
                    for hit in self.index.rank_with_statistics(query, "de", 10, self.parameters[method])[0].hits
                ]
                for query in queries
            ]
            for method, queries in self.queries.items()
        }


def copy_queries(queries: list[Any]) -> list[Any]:
    """The queries as new objects; what several of them share is still shared."""
    return copy.deepcopy(queries)


def serve(arguments: argparse.Namespace) -> None:
    """Answer the parent's lines: a number of clients measures a round, 0 lists the hits."""
    if arguments.lucene:
        from dragoman.indexes.memory import snapshot  # type: ignore[import-not-found]

        snapshot._MAX_INDEX_TOKENS = 0
    with tempfile.TemporaryDirectory() as folder:
        sys.setswitchinterval(0.0002)  # as a server has it
        engine = Engine(arguments, Path(folder))
        print(json.dumps(engine.index_seconds), flush=True)  # noqa: T201
        for line in sys.stdin:
            clients = int(line)
            print(json.dumps(engine.round(clients) if clients else engine.hits()), flush=True)  # noqa: T201
        engine.index.close()


class Process:
    """An engine in a process that imports one checkout."""

    def __init__(self, name: str, arguments: argparse.Namespace, count: int) -> None:
        checkout, _, way = name.partition(":")
        self.name = name
        command = [sys.executable, "-P", __file__, "--serve", "--data", str(arguments.data)]
        command += [
            "--table",
            str(arguments.table),
            "--paragraphs",
            str(count),
            "--queries",
            str(arguments.queries),
            "--words",
            str(arguments.words),
            "--hits",
            str(arguments.hits),
            "--shards",
            way if way.isdecimal() else "1",
        ] + ["--lucene"] * (way == "lucene")
        environment = os.environ | {"PYTHONPATH": str(Path(checkout).resolve())}
        self._process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment)
        self.index_seconds = float(self._line())

    def ask(self, clients: int) -> Any:
        """The engine's answer to a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{clients}\n")
        self._process.stdin.flush()
        return json.loads(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the index of {self.name} failed")
        return line

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(count: int, arguments: argparse.Namespace) -> None:
    """Measure all checkouts with one collection and print the table."""
    engines = [Process(name, arguments, count) for name in [str(ROOT), *arguments.baseline]]
    measured: dict[tuple[int, str], list[list[tuple[float, ...]]]] = defaultdict(lambda: [[] for _ in engines])
    for clients in arguments.clients:
        for round_index in range(arguments.rounds + 1):
            for place, engine in enumerate(engines):
                for what, figures in engine.ask(clients).items():
                    if round_index:  # the first round is for Java's compiler
                        measured[clients, what][place].append(figures)
    say = lambda line: print(line, flush=True)  # noqa: T201, E731
    say(
        f"\n{count} paragraphs more; seconds of indexing: "
        + " / ".join(f"{engine.index_seconds:.1f}" for engine in engines)
    )
    say("| clients | queries | median ms | ratio | 95% ms | searches/s | processor ms |\n" + "|---" * 7 + "|")
    for (clients, what), runs in measured.items():
        medians = [[statistics.median(column) for column in zip(*run, strict=True)] for run in runs]
        ratios = [f"{medians[0][0] / row[0]:.2f}" for row in medians[1:]]
        cells = [
            " / ".join(f"{row[column]:.{digits}f}" for row in medians)
            for column, digits in ((0, 3), (1, 2), (2, 0), (3, 3))
        ]
        say(f"| {clients} | {what} | {cells[0]} | {' / '.join(ratios)} | {' | '.join(cells[1:])} |")
    ours = engines[0].ask(0)
    for engine in engines[1:]:
        theirs = engine.ask(0)
        for method, hits in ours.items():
            same = sum(
                [key for key, _ in a] == [key for key, _ in b] for a, b in zip(hits, theirs[method], strict=True)
            )
            say(f"{method}: {same} of {len(hits)} queries have the ten best of {engine.name} in its order")
    for engine in engines:
        engine.close()


def main() -> None:
    """Compare on each size of collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", type=Path, default=ROOT / "dragoman" / "demo" / "table.en-de.tsv")
    parser.add_argument("--paragraphs", type=int, nargs="+", default=[0, 40_000, 100_000])
    parser.add_argument("--baseline", action="append", default=[], metavar="CHECKOUT[:lucene]")
    parser.add_argument("--queries", type=int, default=300, help="about how many of each method")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64], help="threads that ask at a time")
    parser.add_argument("--hits", type=int, default=100, help="the best of each query that are asked for")
    parser.add_argument("--words", type=int, default=0, help="how many each question has at least")
    parser.add_argument("--shards", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--lucene", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments)
        return
    for count in arguments.paragraphs:
        compare(count, arguments)


if __name__ == "__main__":
    main()
