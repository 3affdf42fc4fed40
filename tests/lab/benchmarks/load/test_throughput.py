"""Searches a second of a real server over the demo."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.load import throughput
from dragoman_lab.benchmarks.load.throughput import busy_processors, figures, report
from dragoman_lab.benchmarks.memory import below
from tests.support.backbones import tiny_veco


@pytest.mark.slow
def test_searches_begin_when_embeddings_are_complete_and_answers_name_their_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "figures.json"
    arguments = "--rows psq default rerank-busy --clients 2 --queries 3 --turns 2 --warm-up 1 --output"
    monkeypatch.setattr(sys, "argv", ["throughput", *arguments.split(), str(output)])
    monkeypatch.setenv("DRAGOMAN_ENCODER", str(tiny_veco(tmp_path / "encoder")))  # the packaged one takes a minute
    before = set(below(os.getpid()))
    throughput.main()
    rows = {row["row"]: row for row in json.loads(output.read_text(encoding="utf-8"))["rows"]}
    methods = {name: row["methods"] for name, row in rows.items()}
    assert methods == {"psq": {"psq": 3}, "default": {"hybrid": 3}, "rerank-busy": {"hybrid": 3}}
    for row in rows.values():
        assert row["searches"] == 3 and row["refused"] == 0 and row["hits"] > 0
        assert 0 < row["p50"] <= row["p99"] and row["processor"] > 0
        assert math.isclose(row["this_is_faster"], 1)
    assert rows["psq"]["degraded"] == 0
    assert "| rerank-busy | 1 | this |" in capsys.readouterr().out
    assert set(below(os.getpid())) <= before


def test_rates_are_medians_of_turns_and_ratios_those_of_each_turn(capsys: pytest.CaptureFixture[str]) -> None:
    def turn(answered: int, milliseconds: list[float], **counts: object) -> dict[str, object]:
        empty = {"methods": {"hybrid": answered}, "reasons": {}, "refused": {}, "degraded": 0, "hits": answered}
        times = {"seconds": 2.0, "milliseconds": milliseconds, "processor_seconds": 0.03 * len(milliseconds)}
        return {"answered": answered, **times, **empty, **counts}

    fallen_back = {"methods": {"hybrid": 1, "psq": 3}, "reasons": {"dense: busy": 3}, "degraded": 3}
    turns = {
        "this": [turn(10, [1.0, 3.0]), turn(30, [5.0]), turn(20, [2.0])],
        "before": [turn(5, [4.0]), turn(10, [4.0]), turn(4, [4.0], refused={"429": 2}, **fallen_back)],
    }
    ours, other = (figures("default", 8, name, turns) for name in turns)
    assert (ours["per_second"], ours["p50"], ours["searches"]) == (10.0, 2.5, 4)
    assert (other["per_second"], other["this_is_faster"]) == (2.5, 3.0)
    assert (other["methods"], other["degraded"], other["refused"]) == ({"hybrid": 16, "psq": 3}, 3, 2)
    memory = {"this": {"idle": 900.4, "all_models": 2100.0, "failed": ["/v1/reason: 503"]}, "before": None}
    report([ours, other], memory)
    printed = capsys.readouterr().out
    assert "| default | 8 | before | 2.5 | 4.0 | 4.0 | hybrid 16, psq 3 | 3 | 2 | 30.0 | 3.00 |" in printed
    assert "memory, this: 900 MiB ready, 2100 MiB after one use of every model; failed: /v1/reason: 503" in printed


def test_processes_that_keep_processors_busy_end_with_the_measurement_and_with_its_process() -> None:
    before = set(below(os.getpid()))
    with busy_processors():
        spinning = set(below(os.getpid())) - before
        assert len(spinning) >= (os.cpu_count() or 1)
    assert not spinning & set(below(os.getpid()))
    with subprocess.Popen([sys.executable, "-c", throughput.SPIN], stdin=subprocess.PIPE) as orphan:
        assert orphan.stdin is not None
        orphan.stdin.close()
        assert orphan.wait(30) == 0
