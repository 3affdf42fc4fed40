"""How true probabilities are: the error by hand, and the command with readers that nobody trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_lab.benchmarks.reasoning import calibration
from tests.lab.benchmarks.search.samples import write_lines, write_xquad
from tests.support.backbones import tiny_reader, tiny_statement_reader


def test_the_error_is_the_mean_gap_of_bins() -> None:
    values, labels = [0.95, 0.95, 0.15, 0.15], [True, False, False, False]
    assert calibration.calibration_error(values, labels) == pytest.approx((2 * 0.45 + 2 * 0.15) / 4)
    assert calibration.calibration_error([1.0, 0.0], [True, False]) == 0.0


def test_answers_are_fitted_and_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_xquad(tmp_path)
    reader = tiny_reader(tmp_path / "reader")
    common = ["--model", str(reader), "--data", str(tmp_path), "--languages", "en,de", "--examples", "4"]
    calibration.main([*common, "--fit", "--threads", "1"])
    fitted = json.loads((reader / "config.json").read_text())["calibration"]
    assert set(fitted) == {"slope", "offset", "temperature", "other", "per_length", "length", "per_rank"}
    assert "one text: answered" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        calibration.main([*common, "--fit", "--split", "test"])


def test_statements_of_four_sets_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    leap = {"id": "l", "facts": ["A wine is an alcohol."], "implicit_rule": {"a": 1}, "statement": "A wine is red."}
    fol = {"story_id": 1, "premises": ["All cats purr."], "conclusion": "Tom purrs.", "language": "en"}
    strategy = {"id": "s", "facts": ["Tom is a cat."], "question": "Does Tom purr?", "language": "en"}
    write_lines(tmp_path / "leapofthought/train_part.jsonl.gz", [leap | {"answer": True, "lang": "en"}])
    folio = [fol | {"label": label, "example_id": n} for n, label in enumerate(("True", "False", "Uncertain"))]
    write_lines(tmp_path / "reasoning/folio_train.jsonl.gz", folio)
    write_lines(tmp_path / "reasoning/strategyqa_train.jsonl.gz", [strategy | {"answer": True}])
    sets = calibration.statement_sets(tmp_path, "tune", 3)
    assert {name: len(examples) for name, examples in sets.items()} == {
        "theories": 3, "LeapOfThought": 1, "FOLIO": 2, "StrategyQA": 1,
    }  # fmt: skip
    del sets["theories"]  # the tiny encoder reads 64 subwords
    monkeypatch.setattr(calibration, "statement_sets", lambda *given: sets)
    reader = tiny_statement_reader(tmp_path / "statements")
    calibration.main(["--model", str(reader), "--data", str(tmp_path), "--examples", "3", "--fit"])
    assert json.loads((reader / "config.json").read_text())["calibration"]["slope"] >= 0
    assert "FOLIO" in capsys.readouterr().out
