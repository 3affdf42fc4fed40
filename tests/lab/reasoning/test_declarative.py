"""Statements made of questions: where a rule fits, the answer stands in the place of what was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_lab.reasoning.declarative import make_statement

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ru", "th", "tr", "vi", "zh")


@pytest.mark.parametrize(
    ("language", "question", "answer", "expected"),
    [
        ("en", "Who built the bridge?", "Anna Weiss", "Anna Weiss built the bridge."),
        ("en", "Which team won the cup in 1931?", "Salmara", "Salmara won the cup in 1931."),
        ("en", "How many boats were lost?", "40", "40 boats were lost."),
        ("en", "When did the bridge fall?", "1931", None),
        ("de", "Wann wurde die Brücke gebaut?", "1931", "1931 wurde die Brücke gebaut."),
        ("es", "¿Quién construyó el puente?", "Ana", "Ana construyó el puente."),
        ("ru", "Кто построил мост?", "Анна", "Анна построил мост."),
        ("el", "Πότε χτίστηκε η γέφυρα;", "1931", "1931 χτίστηκε η γέφυρα."),
        ("ar", "من بنى الجسر؟", "آنا", "آنا بنى الجسر."),
        ("hi", "पुल कब बना?", "1931", "पुल 1931 बना।"),
        ("th", "ใครสร้างสะพาน", "แอนนา", "แอนนา สร้างสะพาน"),
        ("tr", "Köprüyü kim yaptı?", "Anna", "Köprüyü Anna yaptı."),
        ("vi", "Ai đã xây cầu?", "Anna", "Anna đã xây cầu."),
        ("zh", "谁建了桥？", "安娜", "安娜建了桥。"),
        ("sw", "Nani alijenga daraja?", "Anna", None),
    ],
)
def test_the_answer_takes_the_place_of_the_question_word(
    language: str, question: str, answer: str, expected: str | None
) -> None:
    assert make_statement(question, answer, language) == expected


@given(st.sampled_from(LANGUAGES), st.text(max_size=80), st.text(min_size=1, max_size=20))
def test_any_question_makes_a_statement_that_asks_nothing_or_none(language: str, question: str, answer: str) -> None:
    statement = make_statement(question, answer, language)
    assert statement is None or not set("?？؟") & set(statement)
