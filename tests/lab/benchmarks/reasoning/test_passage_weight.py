"""The weight of the order of search: which answer it takes, and that the best one is written into the reader."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.question_answering import Calibration
from dragoman_lab.benchmarks.reasoning import passage_weight
from tests.support.backbones import tiny_reader

ASKED = [
    {"source": "de", "target": "en", "own": 0, "lengths": [9, 9], "answers": [[0, 2.0, 1.0], [1, 3.6, 0.0]]},
    {"source": "en", "target": "en", "own": 1, "lengths": [9, 9], "answers": [[0, 1.0, 0.0], [1, 9.0, 0.5]]},
    {"source": "en", "target": "de", "own": None, "lengths": [], "answers": []},
]


def test_f1_by_weight_is_that_of_the_best_answer_less_the_weight_times_its_place() -> None:
    assert passage_weight.by_weight(ASKED, 0.0) == pytest.approx({"all": 50 / 3, "same": 50, "across": 0})
    assert passage_weight.by_weight(ASKED, 2.0) == pytest.approx({"all": 50, "same": 50, "across": 50})
    assert passage_weight.by_weight(ASKED, 100.0) == pytest.approx({"all": 100 / 3, "same": 0, "across": 50})


def test_each_passage_is_read_and_its_answers_are_compared_with_the_reference(tmp_path: Path) -> None:
    scorer = SpanScorer(tiny_reader(tmp_path / "reader"))
    questions = {
        "de": {"q": {"text": "Wer baute die Brücke?", "para": "p", "answer": "Die Brücke"}},
        "en": {"q": {"text": "Who built the bridge?", "para": "p", "answer": "the bridge"}},
    }
    texts = {"p": "A mason built the bridge.", "o": "The ship carries salt."}
    (found,) = passage_weight.of_pair(scorer, questions, "de", "en", texts, {"q": ["o", "p"]})
    assert found["own"] == 1 and {place for place, _, _ in found["answers"]} == {0, 1}
    assert all(0 <= one <= 1 for _, _, one in found["answers"]) and len(found["lengths"]) == 2


def test_without_its_own_passage_a_question_has_those_behind_it_and_the_first_five_alone_count() -> None:
    scores = [10.0, 20.0, 8.0, 7.0, 6.0, 5.0]
    answers = [[place, score, float(place == 1)] for place, score in enumerate(scores)]
    entry = {"source": "en", "target": "en", "own": 1, "lengths": [1, 2, 3, 4, 5, 6], "answers": answers}
    left = passage_weight.remove_own(entry)
    assert left["own"] is None and left["lengths"] == [1, 3, 4, 5, 6]
    assert left["answers"] == [[place, score, 0.0] for place, score in enumerate((10.0, 8.0, 7.0, 6.0, 5.0))]
    assert passage_weight.best([[5, 99.0, 1.0]], 0.0) == 0.0
    best, none, right = passage_weight.probabilities(entry, Calibration())
    assert right and 0 < best <= 1 - none
    assert passage_weight.probabilities(passage_weight.remove_own(entry), Calibration())[2] is False


@pytest.mark.parametrize("fit", [False, True])
def test_the_best_weight_is_written_into_the_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fit: bool
) -> None:
    reader, kept = tiny_reader(tmp_path / "reader"), tmp_path / "passages.json"
    kept.write_text(json.dumps(ASKED))
    before = SpanScorer(reader).calibration
    given = ["--model", str(reader), "--data", str(tmp_path), "--work", str(tmp_path), "--output", str(kept)]
    monkeypatch.setattr(sys, "argv", ["passage_weight", *given, *(["--fit"] if fit else [])])
    passage_weight.main()
    after = SpanScorer(reader).calibration
    assert (after.per_rank, after.slope) == (2.0 if fit else before.per_rank, before.slope)
    assert "F1 of 3 questions" in capsys.readouterr().out
