"""Judged hits: which questions are asked, and what is kept of them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from dragoman.engine.core.errors import InvalidRequest
from dragoman_lab.benchmarks.search.relevance_judged import Asked, Searcher, Way, open_searcher, sample
from dragoman_lab.benchmarks.search.relevance_tasks import xquad_tasks
from dragoman_lab.evaluation.benchmark import Benchmark
from tests.lab.benchmarks.search.samples import write_xquad


def benchmark(source: str, target: str, questions: int) -> Benchmark:
    queries = {f"{source}-q{number}": "?" for number in range(questions)}
    return Benchmark(source, target, "sentence", queries, {}, {}, {})


def test_pairs_ask_other_questions_and_leave_out_the_same_ones() -> None:
    english, german = (benchmark(source, "de", 100) for source in ("en", "de"))

    def numbers(chosen: list[str]) -> set[str]:
        return {question.partition("-")[2] for question in chosen}

    assert len(numbers(sample(english, 30))) == 30
    assert sample(english, 30) == sample(english, 30)
    assert numbers(sample(english, 30)) != numbers(sample(german, 30))
    left = numbers(sample(english, 100, skip=40))
    assert len(left) == 60 and left == numbers(sample(german, 100, skip=40))


def comparable(asked: list[Asked]) -> list[Any]:
    return [json.loads(json.dumps(asdict(question), default=np.ndarray.tolist)) for question in asked]


def test_kept_hits_are_not_asked_again_unless_a_signal_is_missing(tmp_path: Path) -> None:
    write_xquad(tmp_path)
    (task,) = xquad_tasks(tmp_path, "tune", "sentence", [("de", "de")])
    kept = tmp_path / "hits" / f"{task.name}-psq-2.jsonl"
    with open_searcher(tmp_path, []) as searcher:
        asked = searcher.ask(task, Way("psq"), 2)
        assert [question.hits.relevant[0] for question in asked] == [1, 1]
        content = kept.read_text(encoding="utf-8")
        unable = Searcher(cast(Any, None), tmp_path)
        assert comparable(unable.ask(task, Way("psq"), 2)) == comparable(asked)
        kept.write_text(content.replace('"lead"', '"of an earlier version"'), encoding="utf-8")
        assert comparable(searcher.ask(task, Way("psq"), 2)) == comparable(asked)
    assert kept.read_text(encoding="utf-8") == content


def test_hits_of_a_task_that_is_broken_off_are_not_kept(tmp_path: Path) -> None:
    write_xquad(tmp_path)
    (task,) = xquad_tasks(tmp_path, "tune", "sentence", [("de", "de")])
    queries = {**task.benchmark.queries, "de-q9": "x" * 100_000}
    broken = task._replace(benchmark=replace(task.benchmark, queries=queries))
    with open_searcher(tmp_path, []) as searcher, pytest.raises(InvalidRequest):
        searcher.ask(broken, Way("psq"), 3)
    assert not list(tmp_path.glob("hits/*"))
