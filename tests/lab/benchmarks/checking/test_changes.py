"""Sentences are changed in one amount, and in what it means."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.checking.amounts import compare_amounts
from dragoman_lab.benchmarks.checking.changes import make_changes, turn_round

SENTENCE = "On Monday, 5 June 1995, seven ships sailed 2,500 kilometers."
TRANSLATIONS = {
    "de": "Am Montag, dem 5. Juni 1995, fuhren sieben Schiffe 2.500 Kilometer.",
    "ru": "В понедельник, 5 июня 1995 года, семь кораблей прошли 2500 километров.",
    "ja": "1995年6月5日月曜日、七隻の船が2500キロメートルを航行した。",
    "th": "วันจันทร์ที่ 5 มิถุนายน ค.ศ. 1995 เรือเจ็ดลำแล่นไป 2,500 กิโลเมตร",
    "ar": "في يوم الاثنين 5 يونيو 1995 أبحرت سبع سفن مسافة 2500 كيلومتر.",
}


def test_each_kind_of_change_is_made() -> None:
    kinds = {change.kind for change in make_changes(SENTENCE, "en", random.Random(1))}
    assert kinds == {"digits", "month", "weekday", "unit", "number word"}


@pytest.mark.parametrize("language", TRANSLATIONS)
@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_a_change_is_told_and_its_absence_is_not(language: str, seed: int) -> None:
    assert compare_amounts(TRANSLATIONS[language], language, SENTENCE, "en") == []
    for change in make_changes(SENTENCE, "en", random.Random(seed)):
        assert change.text != SENTENCE
        assert compare_amounts(TRANSLATIONS[language], language, change.text, "en")


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("It ended 3–2 today.", "It ended 2–3 today."),
        ("From 1990 to 1995", "From 1995 to 1990"),
        ("On 3-5-2020 it was 2:2.", None),
        ("A320-200 and 1.5-2", None),
    ],
)
def test_two_numbers_of_one_expression_are_turned_round(text: str, turned: str | None) -> None:
    change = turn_round(text)
    assert (change.text if change else None) == turned
