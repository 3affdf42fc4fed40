"""Questions a second, with a reader that nobody trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_lab.benchmarks.reasoning import reading_speed
from dragoman_lab.benchmarks.reasoning.reading_speed import Question, figures_of, questions
from tests.lab.benchmarks.search.conftest import Run
from tests.lab.benchmarks.search.samples import QUESTIONS, SENTENCES, write_xquad
from tests.support.backbones import tiny_reader


@pytest.mark.slow
def test_reader_and_service_read_questions_of_both_kinds(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_EMBED", "on_demand")
    write_xquad(tmp_path)
    reader = tiny_reader(tmp_path / "reader")
    report = run(
        reading_speed, "--model", reader, "--data", tmp_path / "xquad_r", "--languages", "en,de", "--threads", 1,
        "--clients", 2, "--seconds", 0.2,
    )  # fmt: skip
    assert [(row["by"], row["kind"]) for row in report["rows"]] == [
        (by, kind) for by in ("reader", "service") for kind in ("one language", "two languages")
    ]
    for row in report["rows"]:
        assert row["questions"] >= 2
        assert row["subwords_per_second"] > row["questions_per_second"] > 0
        assert 0 < row["median"] <= row["p95"]
    assert set(report["peak_mebibytes"]) == {"reader", "service, process 1", "service, process 2"}
    assert all(peak > 50 for peak in report["peak_mebibytes"].values())


def test_languages_take_turns_and_paragraphs_are_the_questions_own(tmp_path: Path) -> None:
    write_xquad(tmp_path)
    for shift, targets in ((0, ("en", "de")), (1, ("de", "en"))):
        assert questions(tmp_path / "xquad_r", ["en", "de"], "tune", 0, shift) == [
            Question(QUESTIONS[source][number], SENTENCES[target][number], source, target)
            for number, (source, target) in enumerate(zip(("en", "de"), targets, strict=True))
        ]


def test_rates_are_over_all_seconds() -> None:
    found = figures_of(4, 400, 2.0, [10.0, 20.0, 30.0])
    assert (found["questions_per_second"], found["subwords_per_second"], found["median"]) == (2.0, 200.0, 20.0)
