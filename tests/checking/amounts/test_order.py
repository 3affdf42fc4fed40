"""The order of two amounts in one expression."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.checking.amounts import compare_amounts

COUPLES = [
    ("de", "Sie gewannen das Spiel 3:2.", "They won the match 3-2.", "They won the match 2-3."),
    ("de", "Mischen Sie Mehl und Wasser 5 : 4.", "Mix flour and water at 5:4.", "Mix flour and water at 4:5."),
    ("de", "Das dauert 5 bis 7 Tage.", "That takes 5-7 days.", "That takes 7-5 days."),
    ("de", "Das Spiel endete 21:15.", "The match ended 21-15.", "The match ended 15-21."),
    ("fr", "Le taux est de 40 à 50 %.", "The rate is 40–50%.", "The rate is 50–40%."),
    ("es", "De lunes a viernes está abierto.", "It is open Monday to Friday.", "It is open Friday to Monday."),
    ("ru", "Война шла с 1904–1905 гг.", "The war lasted from 1904 to 1905.", "The war lasted from 1905 to 1904."),
    ("de", "Die Bücherei hat von 8:00 bis 18:00 auf.", "The library opens 8:00 to 18:00.", "It opens 18:00 to 8:00."),
    ("de", "Von März 1871 bis April 1871", "From March 1871 to April 1871", "From April 1871 to March 1871"),
    ("de", "Vom 4. August bis 4. Oktober", "From 4 August to 4 October", "From October 4 to August 4"),
    ("es", "Del 2 de marzo al 2 de julio", "From 2 March to July 2", "From July 2 to March 2"),
    ("ja", "8時15分から9時15分まで", "From 8:15 to 9:15", "From 9:15 to 8:15"),
    ("ja", "8月3日から9月4日まで", "From August 3 to September 4", "From September 4 to August 3"),
    ("de", "Sie verloren 4 zu 6.", "They lost 4-6.", "They lost 6-4."),
    ("ru", "Счёт 4 к 6", "The score is 4-6", "The score is 6-4"),
    ("el", "Το σκορ είναι 4 προς 6", "The score is 4-6", "The score is 6-4"),
    ("es", "Votaron 40 contra 60.", "They voted 40-60.", "They voted 60-40."),
    ("fr", "Ils ont voté 40 contre 60.", "They voted 40-60.", "They voted 60-40."),
    ("fr", "De 40 jusqu'à 60 jours", "From 40 to 60 days", "From 60 to 40 days"),
    ("nl", "Ze stemden 40 tegen 60.", "They voted 40-60.", "They voted 60-40."),
    ("pl", "Od 4 do 6 dni", "From 4 to 6 days", "From 6 to 4 days"),
    ("ar", "النتيجة 4 مقابل 6", "The score is 4-6", "The score is 6-4"),
    ("th", "คะแนน 4 ต่อ 6", "The score is 4-6", "The score is 6-4"),
    ("hi", "अंक 4 के मुकाबले 6", "The score is 4-6", "The score is 6-4"),
    ("ja", "試合は3対2で終わった。", "The match ended 3-2.", "The match ended 2-3."),
    ("ja", "5〜7日かかる。", "It takes 5 to 7 days.", "It takes 7 to 5 days."),
    ("zh", "比赛以3比2结束。", "The match ended 3-2.", "The match ended 2-3."),
    ("hi", "इसमें 5 से 7 दिन लगते हैं।", "It takes 5 to 7 days.", "It takes 7 to 5 days."),
    ("de", "Von 9 bis 17 Uhr", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("de", "Von 9 Uhr bis 17 Uhr", "From 9am to 5pm", "From 5pm to 9am"),
    ("fr", "De 9 h à 17 h", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("es", "De 9 a 17 horas", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("ru", "С 9 до 17 часов", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("hi", "सुबह 9 बजे से शाम 5 बजे तक", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("ar", "من الساعة 9 صباحا إلى 5 مساء", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("ja", "午前9時から午後5時まで", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("zh", "上午9点到下午5点", "From 9 a.m. to 5 p.m.", "From 5 p.m. to 9 a.m."),
    ("ar", "يستغرق من 5 إلى 7 أيام.", "It takes from 5 to 7 days.", "It takes from 7 to 5 days."),
]
ANY_ORDER = [
    ("ru", "Между 1990 и 1995 годами", "Between 1995 and 1990"),
    ("de", "Zwischen 9 und 4 Kilo", "Between 4 and 9 kilos"),
    ("de", "Nachts waren es −9 bis −4 °C.", "At night it was -4 to -9 °C."),
    ("de", "Minus 9 bis minus 4 Grad", "Minus 4 to minus 9 degrees"),
    ("de", "Vom 3. bis 5. Mai", "From May 3 to May 5"),
    ("de", "Juni 1990 bis 1991", "June 1990 to 1991"),
    ("de", "Fünf oder sechs Tage", "Six or five days"),
    ("de", "Er stieg von 5 auf 7.", "It rose to 7 from 5."),
    ("de", "Am 3-5-2020 fing es an.", "It began on 5-3-2020."),
    ("de", "3 Hunde und 2 Katzen", "2 cats and 3 dogs"),
    ("de", "Zuerst 3:2, dann 2:3.", "First 3-2, then 2-3."),
    ("de", "Von 22:00-10:00 Uhr", "From 10 p.m. to 10 a.m."),
]


@pytest.mark.parametrize(("language", "text", "right", "wrong"), COUPLES)
def test_what_is_turned_round_is_seen(language: str, text: str, right: str, wrong: str) -> None:
    for english, mismatched in ((right, False), (wrong, True)):
        assert bool(compare_amounts(text, language, english, "en")) is mismatched
        assert bool(compare_amounts(english, "en", text, language)) is mismatched


@pytest.mark.parametrize(("language", "text", "english"), ANY_ORDER)
def test_what_has_no_order_is_no_mismatch(language: str, text: str, english: str) -> None:
    assert compare_amounts(text, language, english, "en") == []
    assert compare_amounts(english, "en", text, language) == []


def test_a_mismatch_has_both_expressions() -> None:
    (mismatch,) = compare_amounts("Es endete 3:2.", "de", "It ended 2-3.", "en")
    assert (mismatch.code, mismatch.source, mismatch.text) == ("number", "3:2", "2-3")
    assert (mismatch.source_span, mismatch.target_span) == ((10, 13), (9, 12))


@given(
    st.integers(2, 999),
    st.integers(2, 999),
    st.sampled_from([":", "-", "–"]),
    st.sampled_from(["de", "ru", "hi", "th"]),
)
def test_each_couple_of_different_numbers_has_an_order(first: int, second: int, joint: str, language: str) -> None:
    text, turned = f"{first}{joint}{second}", f"{second}-{first}"
    assert bool(compare_amounts(text, language, turned, "en")) is (first != second)
    assert compare_amounts(text, language, f"{first}-{second}", "en") == []
