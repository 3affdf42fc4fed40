"""Hybrid and a reranker together, over a real service."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_lab.benchmarks.reranking import after_hybrid
from dragoman_lab.benchmarks.reranking.after_hybrid import Question
from tests.lab.benchmarks.search.samples import write_table, write_xquad


def slow_average_precision(question: Question, weight: float, depth: int) -> float:
    places = list(range(len(question.hybrid)))
    head, tail = places[:depth], places[depth:]
    head.sort(key=lambda place: -(question.hybrid[place] + weight * question.logits[place]))
    found, total = 0, 0.0
    for rank, place in enumerate([*head, *tail], 1):
        if question.relevant[place]:
            found += 1
            total += found / rank
    return total / max(1, question.count)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-5, 5), st.booleans()), min_size=1, max_size=8),
    st.sampled_from((0.0, 0.5, 1.0, 100.0)),
    st.integers(0, 9),
)
def test_the_best_are_ordered_by_both_scores_and_the_others_follow(
    hits: list[tuple[int, int, bool]], weight: float, depth: int
) -> None:
    hybrid, logits, relevant = (list(column) for column in zip(*hits, strict=True))
    question = Question("q", hybrid, logits, relevant, max(1, sum(relevant)))
    depth = min(depth, len(hits))
    assert question.average_precision(weight, depth) == pytest.approx(slow_average_precision(question, weight, depth))


@pytest.mark.slow
def test_weights_are_compared_for_tuning_and_one_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_xquad(tmp_path)
    write_table(tmp_path / "work")

    def run(*arguments: object) -> str:
        given = ["--model", "late", "--data", tmp_path, "--work", tmp_path / "work", "--languages", "de"]
        monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, [*given, *arguments])])
        after_hybrid.main()
        return capsys.readouterr().out

    tuned = run("--output", tmp_path / "tune")
    assert "| 0.0 | 1.0000 | 1.0000 | 1.0000 |" in tuned
    kept = json.loads((tmp_path / "tune" / "en-de.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in kept["questions"]] == ["en-q0", "en-q1"]
    for one in kept["questions"]:
        assert one["logits"] == sorted(one["logits"], reverse=True), "late agrees with the hits' order here"
        assert one["relevant"] == [True, False, False]
    tested = run("--output", tmp_path / "test", "--split", "test", "--weight", 0.1, "--depth", 2)
    assert "| de-en | 1.0000 | 1.0000 |" in tested and "| mean | 1.0000 | 1.0000 |" in tested
    with pytest.raises(SystemExit):
        run("--output", tmp_path / "other", "--split", "test")
    assert "--weight is chosen on tuning questions" in capsys.readouterr().err
