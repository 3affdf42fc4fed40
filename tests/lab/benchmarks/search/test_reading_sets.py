"""Questions of reading comprehension as a retrieval benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_lab.benchmarks.search import reading_sets
from dragoman_lab.benchmarks.search.reading_sets import read_task
from dragoman_lab.evaluation.benchmark import BenchmarkError
from tests.lab.benchmarks.search.conftest import Run
from tests.lab.benchmarks.search.samples import QUESTIONS, write_lines, write_reading_set


def test_questions_with_answers_and_their_passages(tmp_path: Path) -> None:
    for language in ("en", "de"):
        write_reading_set(tmp_path, "small", language)
    task = read_task(tmp_path, "small", "en", "en", 0)
    assert list(task.queries.values()) == QUESTIONS["en"][:2]
    assert task.qrels == {"small_0_EN": {"small-en-0": 1, "small-en-3": 1}, "small_1_EN": {"small-en-1": 1}}
    assert len(task.documents) == 4 and not task.translated_queries
    across = read_task(tmp_path, "small", "en", "de", 1)
    assert across.translated_queries == {"small_0_EN": QUESTIONS["de"][0]}
    assert across.qrels == {"small_0_EN": {"small-de-0": 1, "small-de-3": 1}}


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    write_reading_set(tmp_path, "small", "en")
    with pytest.raises(BenchmarkError, match=r"small\.de\.contexts"):
        read_task(tmp_path, "small", "en", "de", 0)
    write_reading_set(tmp_path, "small", "de")
    write_lines(tmp_path / "small.de.jsonl.gz", [])
    with pytest.raises(BenchmarkError, match="question small_0_EN has no counterpart in de"):
        read_task(tmp_path, "small", "en", "de", 0)


@pytest.mark.slow
def test_search_in_one_language_beside_bm25(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_sets, "ONE_LANGUAGE", {"small": "de"})
    write_reading_set(tmp_path / "qa", "small", "de")
    report = run(reading_sets, "--sets", "small")
    (row,) = report["tasks"]
    assert (row["unit"], row["queries"]) == ("small", 2)
    assert {name: one["MAP@100"] for name, one in row["systems"].items()} == {"default": 1.0, "bm25": 1.0}
