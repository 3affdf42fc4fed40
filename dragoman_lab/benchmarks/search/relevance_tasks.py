"""The questions that relevance is fitted to and checked on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from dragoman_lab.benchmarks.search.reading_sets import read_task
from dragoman_lab.evaluation.benchmark import Benchmark, Split, json_lines, load_benchmark

Pair = tuple[str, str]
"""The languages of questions and of documents."""
LANGUAGES = ("en", "de", "es", "ru", "zh", "ar", "el", "hi", "th", "tr", "vi")
TRANSLATED = ("de", "zh", "ar", "ru", "hi")
"""Those that are asked from and to English too: their tables take long to train."""
RERANKED_PAIRS = (("en", "de"), ("de", "en"), ("en", "zh"), ("ru", "en"))
"""The pairs that are asked with reranking too, which takes most of the time."""
SETS = {"facqa": "id", "faquad": "pt", "drcd_dev": "zh", "tquad": "tr"}
_SUFFIXES = {"drcd_dev": "zht"}
"""What files have in place of the language."""
_RESEARCH = ("tquad",)
_SHORTEST = 3


class Task(NamedTuple):
    """Questions over a collection, by the name of each."""

    name: str
    collection: str
    benchmark: Benchmark

    @property
    def is_reranked(self) -> bool:
        """Whether it is asked with reranking too."""
        return (self.benchmark.source, self.benchmark.target) in RERANKED_PAIRS


def all_pairs() -> list[Pair]:
    """The pairs of questions' and documents' languages: some with English, and each with itself."""
    with_english = [pair for language in TRANSLATED for pair in (("en", language), (language, "en"))]
    return [*with_english, *((language, language) for language in LANGUAGES)]


def xquad_tasks(data: Path, split: Split, unit: str, pairs: Sequence[Pair]) -> Iterator[Task]:
    """XQuAD-R's questions of a part over its sentences or paragraphs."""
    for source, target in pairs:
        task = load_benchmark(data / "xquad_r", source, target, unit, split=split)
        yield Task(f"{split}-{unit}-{source}-{target}", f"xq-{unit}-{target}", task)


def short_task(data: Path, task: Task) -> Task:
    """Queries of few words: the answers of a task's questions, for all documents that hold them in their language."""
    source, unit, target = task.benchmark.source, task.benchmark.unit, task.benchmark.target
    texts = {row["id"]: row["text"] for row in json_lines(data / "xquad_r" / "corpus" / f"{unit}.{source}.jsonl.gz")}
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for row in json_lines(data / "xquad_r" / "queries" / f"{source}.jsonl.gz", ("id", "answer")):
        answer = row["answer"]
        if row["id"] not in task.benchmark.queries or len(answer) < _SHORTEST or not any(map(str.isalpha, answer)):
            continue
        holding = {f"{target}{key[len(source) :]}" for key, text in texts.items() if answer in text}
        queries[row["id"]] = answer
        qrels[row["id"]] = dict.fromkeys(
            (holding & set(task.benchmark.documents)) | set(task.benchmark.qrels[row["id"]]), 1
        )
    return Task(f"{task.name}-short", task.collection, replace(task.benchmark, queries=queries, qrels=qrels))


def nonsense_task(task: Task) -> Task:
    """Random letters of a task's language in place of its questions: nothing is relevant."""
    letters = sorted(
        {letter for text in task.benchmark.queries.values() for letter in text.lower() if letter.isalpha()}
    )
    queries = {}
    for query in task.benchmark.queries:
        random = Random(query)
        queries[query] = " ".join("".join(random.choices(letters, k=random.randint(3, 8))) for _ in range(4))
    return Task(f"{task.name}-nonsense", task.collection, replace(task.benchmark, queries=queries, qrels={}))


def other_tasks(data: Path, documents: int) -> Iterator[Task]:
    """Sets that nothing was fitted to; of large ones ``documents`` documents at even distances."""
    swahili = load_benchmark(data / "afriqa", "sw", "en", "passage", "sw.open")
    yield Task("afriqa-sw-en", "afriqa", fewer(swahili, documents, with_answers=True))
    for source, target in (("en", "de"), ("sw", "en"), ("en", "zh")):
        yield Task(
            f"flores-{source}-{target}",
            f"flores-{target}",
            load_benchmark(data / "flores200", source, target, "sentence"),
        )
    for name, language in SETS.items():
        folder = data / "research_only" / "qa" if name in _RESEARCH else data / "qa"
        suffix = _SUFFIXES.get(name, language)
        task = replace(read_task(folder, name, suffix, suffix, 0), source=language, target=language)
        yield Task(f"{name}-{language}", name, fewer(task, documents))


def fewer(task: Benchmark, documents: int, *, with_answers: bool = False) -> Benchmark:
    """A task with at most so many documents, and the questions whose relevant ones are all among them.

    ``with_answers`` takes those that are relevant to any question first: of few questions over many documents hardly
    any would be left.
    """
    relevant = {key for of_question in task.qrels.values() for key in of_question} if with_answers else set()
    keys = [key for key in task.documents if key in relevant][:documents]
    left = [key for key in task.documents if key not in relevant]
    keys += left[:: max(1, len(left) // max(1, documents - len(keys)))][: documents - len(keys)]
    chosen = {key: task.documents[key] for key in keys}
    qrels = {query: judged for query, judged in task.qrels.items() if set(judged) <= set(chosen)}
    return replace(task, documents=chosen, qrels=qrels, queries={query: task.queries[query] for query in qrels})
