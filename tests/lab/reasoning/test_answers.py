"""F1 and exact match of answers."""

from __future__ import annotations

import pytest

from dragoman_lab.reasoning.answers import exact, f1


@pytest.mark.parametrize(
    ("answer", "references", "language", "expected_f1", "expected_exact"),
    [
        ("The Black Forest!", ["black forest"], "en", 1, 1),
        ("in the Black Forest", ["Black Forest"], "en", 0.8, 0),
        ("black", ["red", "black forest"], "en", 2 / 3, 0),
        ("der Schwarzwald", ["Schwarzwald"], "de", 1, 1),
        ("黑森林里", ["黑森林"], "zh", 6 / 7, 0),
        ("1990年", ["1990 年"], "zh", 1, 1),
        ("", [], "en", 1, 1),
        ("something", [], "en", 0, 0),
        ("", ["something"], "en", 0, 0),
        ("ป่าดำ", ["ป่าดำ"], "th", 1, 1),
    ],
)
def test_answers_are_compared_as_in_squad(
    answer: str, references: list[str], language: str, expected_f1: float, expected_exact: float
) -> None:
    assert f1(answer, references, language) == pytest.approx(expected_f1)
    assert exact(answer, references, language) == expected_exact
