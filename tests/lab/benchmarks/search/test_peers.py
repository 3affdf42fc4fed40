"""The pipeline of other libraries beside the service: one set, with a stand-in for the other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.search import peers
from dragoman_lab.evaluation.benchmark import BenchmarkError
from tests.lab.benchmarks.search.conftest import Run
from tests.lab.benchmarks.search.samples import write_table, write_xquad


def _python_of_the_stand_in(folder: Path) -> Path:
    """A program that starts the stand-in for whatever script it is given."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -m tests.lab.benchmarks.search.peer_stand_in "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.slow
def test_quality_and_speed_of_both_in_one_language_and_across_two(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_xquad(tmp_path)
    write_table(tmp_path / "work")
    written = run(
        peers, "--work", tmp_path / "work", "--peer", _python_of_the_stand_in(tmp_path), "--clients", 1, 2,
        "--queries", 4, "--turns", 2, "--warm-up", 1,
    )  # fmt: skip
    assert written["split"] == "tune"
    same, across = written["directions"]
    assert (same["source"], same["target"], same["queries"], same["documents"]) == ("en", "en", 2, 3)
    assert across["quality"]["dragoman"]["MAP@100"] == 1
    for row in (same, across):
        assert row["cosine"] > peers.LEAST_COSINE
        assert row["weight"] == 0.5, "the best weight on the questions for tuning"
        assert row["methods"] == {"hybrid": 2}
        assert set(row["quality"]["peer"]) == {"MAP@100", "R@10"}
        for speed, clients in zip(row["speed"], (1, 2), strict=True):
            assert speed["clients"] == clients and speed["ours_is_faster"] > 0
            assert [speed[name]["searches"] for name in (peers.OURS, peers.PEER)] == [4, 4]
            assert speed["dragoman"]["refused"] == 0
    assert "| en to de | peer | " in capsys.readouterr().out


def test_the_test_questions_need_weights_that_were_chosen_before(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        run(peers, "--work", tmp_path, "--peer", "python", "--split", "test")


def test_a_peer_that_does_not_start_is_named(tmp_path: Path) -> None:
    write_xquad(tmp_path)
    task = peers.load_benchmark(tmp_path / "xquad_r", "en", "de", "sentence", split="tune")
    with pytest.raises(BenchmarkError, match="does it have the packages"), peers.serve_peer("false", tmp_path, task):
        pass
