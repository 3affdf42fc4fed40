"""The table of answers by languages, from a reader that nobody trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_lab.benchmarks.reasoning import xquad_qa
from tests.lab.benchmarks.search.conftest import Run
from tests.lab.benchmarks.search.samples import SENTENCES, write_xquad
from tests.support.backbones import tiny_reader


def test_every_pair_of_languages_is_measured(run: Run, tmp_path: Path) -> None:
    write_xquad(tmp_path)
    reader = tiny_reader(tmp_path / "reader")
    report = run(xquad_qa, "--model", reader, "--data", tmp_path / "xquad_r", "--languages", "en,de")
    assert report["questions"] == 2  # those of articles for tuning
    assert {(a, b) for a, row in report["pairs"].items() for b in row} == {(a, b) for a in SENTENCES for b in SENTENCES}
    diagonal = [report["pairs"][one][one]["f1"] for one in SENTENCES]
    assert report["diagonal"]["f1"] == pytest.approx(sum(diagonal) / 2)
    assert (tmp_path / "out" / "f1.png").stat().st_size > 1000


def test_agreement_is_the_mean_over_questions_in_percent() -> None:
    found = xquad_qa.agreement(["the week", "flowers"], ["a week", "flowers and water"], "en")
    assert found == {"f1": pytest.approx(75.0), "exact": 50.0}
    thai = xquad_qa.agreement(["หนึ่ง สัปดาห์"], ["หนึ่ง"], "th")
    assert thai["by_spaces"] == pytest.approx(200 / 3)
