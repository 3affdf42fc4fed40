"""Judged hits: searches of questions whose relevant documents are known, with the signals of each hit.

A task is asked once for each way of searching, and the signals of its hits are kept in a folder, so that fitting and
measuring begin where they were stopped.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.search.ranked import RankedDocument, Retrieval, place_of
from dragoman.engine.search.relevance.judging import BEST, Judge
from dragoman.engine.search.relevance.signals import SIGNALS
from dragoman.engine.search.request import Method, RerankOptions, SearchQuery
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from dragoman_lab.benchmarks.search.relevance_tasks import Task
from dragoman_lab.evaluation.benchmark import Benchmark, json_lines
from dragoman_lab.evaluation.serving import TableFile

Floats = NDArray[np.float64]
Removal = Literal["document", "paragraph", "article"]
"""What is taken out of a collection: the relevant documents alone, or all of their paragraphs or articles."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way of searching."""

    method: Method
    rerank: int = 0
    """How many hits are reranked."""
    late: bool = True
    """Whether late interaction orders the hits of hybrid search."""

    @property
    def name(self) -> str:
        """What it is called in tables and files."""
        return self.method + (" rerank" if self.rerank else "") + ("" if self.late else " early")


REMOVALS: tuple[Removal, ...] = ("document", "paragraph", "article")
_PATIENCE = 1_800.0
"""How long models may take, seconds: nothing is to be left out on a busy machine."""
DEPTH = 100
"""How many documents are ranked: enough for ten where those of an article are taken out."""
METHODS = (*(Way(method) for method in ("psq", "smt", "none", "dense", "hybrid")), Way("hybrid", late=False))
RERANKED = (Way("psq", 10), Way("hybrid", 10))


@dataclass(frozen=True, slots=True)
class Hits:
    """The ten best hits of a question, best first."""

    relevant: Floats
    """(hits,) 1 or 0"""
    signals: Floats
    """(hits, signals)"""
    kinds: list[str]
    """The set of signals of each."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its hits, and with those that it has when what is relevant is taken out."""

    task: str
    way: str
    question: str
    hits: Hits
    removed: Mapping[Removal, Hits]


_PLACE = re.compile(r"(?P<paragraph>(?P<article>[a-z]{2}-a\d{3})-p\d{2})(-s\d{2,})?$")


class Searcher:
    """A service in this process with a folder that is kept, and its answers. It is started for what is not kept yet."""

    def __init__(self, start: Callable[[], Runtime], folder: Path) -> None:
        self._start, self._folder = start, folder

    @cached_property
    def _runtime(self) -> Runtime:
        return self._start()

    def ask(self, task: Task, way: Way, questions: int, skip: int = 0) -> list[Asked]:
        """A sample of a task's questions after the first ``skip``, with their hits; those of earlier runs are read.

        These are kept once all of them were asked, with the names of their signals. Where one is missing they are asked
        anew.
        """
        places = f"{skip}-{skip + questions}" if skip else f"{questions}"
        path = self._folder / "hits" / f"{task.name}-{way.name.replace(' ', '-')}-{places}.jsonl"
        if not _has_all_signals(path):
            self._fill(task.collection, task.benchmark, embed=way.method in ("dense", "hybrid"))
            lines = [self._ask(task, query, way) for query in sample(task.benchmark, questions, skip)]
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            unfinished.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            unfinished.replace(path)
        return [
            Asked(
                task.name,
                way.name,
                row["question"],
                _read(row["hits"], row["signals"]),
                {removal: _read(row["removed"][removal], row["signals"]) for removal in REMOVALS},
            )
            for row in json_lines(path, ("question",))
        ]

    def _fill(self, name: str, task: Benchmark, *, embed: bool) -> None:
        """A collection of the task's documents, with embeddings if wanted; one that is there is taken as it is."""
        library = self._runtime.collections
        if name not in {info.name for info in library.all()}:
            library.create(name, task.target)
            lines = (json.dumps({"id": key, "text": text}).encode() + b"\n" for key, text in task.documents.items())
            library.import_documents(name, lines)
        if embed:
            key = library.get(name).key
            self._runtime.dense.open_present([key])
            self._runtime.dense.embed(key)

    def _ask(self, task: Task, query: str, way: Way) -> dict[str, Any]:
        request = SearchQuery(
            query=task.benchmark.queries[query],
            query_language=task.benchmark.source,
            collections=[task.collection],
            method=way.method,
            top_k=DEPTH,
            rerank=RerankOptions(way.rerank) if way.rerank else False,
        )
        retrieval = self._runtime.search.rank(request)
        late = [stage for stage in retrieval.degraded if stage.stage in ("dense", "late", "rerank")]
        if late:
            raise RuntimeError(f"{task.name}: {late[0].reason}")
        if not way.late:
            _undo_late(retrieval)
        documents = retrieval.documents
        ids = self._runtime.collections.ids_by_keys([document.key for document in documents])
        relevant = relevant_documents(task.benchmark, query)
        keys = {document.key for document in documents if ids[document.key] in relevant}
        removed: dict[Removal, Any] = {}
        for removal in REMOVALS:
            parts = {part_of(document, removal) for document in relevant}
            left = [document for document in documents if part_of(ids[document.key], removal) not in parts]
            removed[removal] = _judge(retrieval, left, set())
        signals = {"question": query, "signals": SIGNALS}
        return {**signals, "hits": _judge(retrieval, documents, keys), "removed": removed}


def part_of(document: str, removal: Removal) -> str:
    """The paragraph or article that a document of XQuAD-R is of, by its id; the id of others, or of the document."""
    place = _PLACE.match(document)
    return document if place is None or removal == "document" else place[removal]


def with_english(task: Task) -> bool:
    """Whether a task is of English and another language."""
    return task.benchmark.source != task.benchmark.target and "en" in (task.benchmark.source, task.benchmark.target)


def ways_of(task: Task, methods: Sequence[str]) -> list[Way]:
    """The ways of searching, by some methods, in which a task is asked."""
    return [way for way in METHODS if way.method in methods and (way.late or with_english(task))]


def _undo_late(retrieval: Retrieval) -> None:
    """Order the documents as they were before late interaction."""
    for document in retrieval.documents:
        document.late, document.ranked, document.score = None, None, document.first_stage
    retrieval.documents.sort(key=lambda document: (-document.score, place_of(document)))


def _judge(retrieval: Retrieval, documents: list[RankedDocument], relevant: set[int]) -> dict[str, Any]:
    """The signals of the best of some documents, as if they were all that was ranked."""
    retrieval.documents = documents
    judge = Judge(retrieval)
    judge.note_reranked()
    signals, kinds = judge.judge(documents[:BEST])
    return {
        "relevant": [int(document.key in relevant) for document in documents[:BEST]],
        "signals": [[None if np.isnan(signal) else float(signal) for signal in row] for row in signals],
        "kinds": kinds,
    }


def _has_all_signals(path: Path) -> bool:
    """Whether hits are kept there with all signals."""
    if not path.exists():
        return False
    with path.open(encoding="utf-8") as lines:
        return set(SIGNALS) <= set(json.loads(next(lines, "{}")).get("signals", ()))


def _read(hits: Mapping[str, Any], names: Sequence[str]) -> Hits:
    signals = np.array(hits["signals"], np.float64).reshape(-1, len(names))
    signals = signals[:, [names.index(name) for name in SIGNALS]]
    return Hits(np.array(hits["relevant"], np.float64), signals, hits["kinds"])


@contextmanager
def open_searcher(folder: Path, tables: Sequence[TableFile]) -> Iterator[Searcher]:
    """A service on the data of ``folder``, with these tables active."""
    with ExitStack() as services:
        yield Searcher(lambda: services.enter_context(_start(folder, tables)), folder)


@contextmanager
def _start(folder: Path, tables: Sequence[TableFile]) -> Iterator[Runtime]:
    settings = Settings.from_defaults(
        data_dir=folder / "data", embed="on_demand", worker_mode="thread", worker_seconds=_PATIENCE,
        worker_hung_seconds=_PATIENCE, rerank_seconds=_PATIENCE,
    )  # fmt: skip
    runtime = Runtime(settings)
    try:
        runtime.start(serving=False)
        present = {table.name for table in runtime.tables.all()}
        for table in tables:
            name = table.path.stem.replace(".", "-")
            if name not in present:
                upload = Upload(name, table.source, table.target, kind=table.kind, weight=table.weight, activate=True)
                with table.path.open("rb") as stream:
                    runtime.tables.upload(upload, iter(lambda: stream.read(1 << 20), b""))
        yield runtime
    finally:
        runtime.close()


def sample(task: Benchmark, questions: int, skip: int = 0) -> list[str]:
    """So many of a task's questions, others in each pair of languages, so that all pairs together ask most there are.

    Of all, in an order that is the same in every language, the first ``skip`` are left out.
    """
    left = sorted(task.queries, key=lambda query: (_digest(query), query))[skip:]
    return Random(f"{task.source}-{task.target}").sample(left, min(questions, len(left)))


def is_removed(question: str) -> bool:
    """Whether a question is of the half that is asked of collections without its relevant documents."""
    return _digest("removed-" + question.split("-", 1)[-1]) % 2 == 0


def _digest(question: str) -> int:
    """A number that goes by the id of a question without its language."""
    return zlib.crc32(question.split("-", 1)[-1].encode())


def relevant_documents(task: Benchmark, query: str) -> set[str]:
    """The relevant documents, with all that have the same text as one of them."""
    texts = {task.documents[key] for key in task.qrels.get(query, ())}
    return {key for key, text in task.documents.items() if text in texts}
