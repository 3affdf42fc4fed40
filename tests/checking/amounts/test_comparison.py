"""Two sentences are compared by what their amounts mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.checking.amounts import compare_amounts, read_amounts
from dragoman.checking.amounts.comparing.comparison import _drop_converted, _pair
from dragoman.deadline import DeadlinePassed, deadline

EQUAL = [
    ("Rund 2.500 Hafenarbeiter", "de", "About 2,500 dockers", "en"),
    ("١٬٢٣٤٫٥", "ar", "1,234.5", "en"),
    ("१२,३४,५६७", "hi", "1,234,567", "en"),
    (
        "Die siebtgrößte Stadt hat 1,2 Mio. Einwohner.",
        "de",
        "The seventh-largest city has 1.2 million inhabitants.",
        "en",
    ),
    ("В XIX веке здесь жило 2,5 млн человек.", "ru", "In the 19th century 2.5 million people lived here.", "en"),
    ("2008年8月8日晚上8点，约9.1万人参加。", "zh", "About 91,000 people took part on August 8, 2008, at 8 p.m.", "en"),
    ("令和5年3月に、約1億2000万人が住んでいた。", "ja", "About 120 million people lived there in March 2023.", "en"),
    ("เมื่อวันที่ 5 พฤษภาคม พ.ศ. 2563 มีผู้เสียชีวิต 25 คน", "th", "On 5 May 2020, 25 people died.", "en"),
    ("25 लाख लोगों ने 3 मई को मतदान किया।", "hi", "2.5 million people voted on 3 May.", "en"),
    ("오후 3시에 약 2만 5천 명이 모였다.", "ko", "About 25,000 people gathered at 3 p.m.", "en"),
    ("שלושה ילדים אכלו עשרים וחמישה תפוחים ביום שני.", "he", "Three children ate twenty-five apples on Monday.", "en"),
    ("في القرن التاسع عشر عاش ٢٫٥ مليون نسمة هنا.", "ar", "In the 19th century 2.5 million people lived here.", "en"),
    ("Desde la década de los 90", "es", "Since the 1990s", "en"),
    ("Ein Mann und eine Frau", "de", "One man and a woman", "en"),
    ("Un perro y otra persona", "es", "A dog and a second person", "en"),
    ("Der Weg ist 10 Meilen lang.", "de", "The way is 16.1 km long.", "en"),
    ("从 20 世纪 30 年代中期开始", "zh", "From the mid-1930s", "en"),
    ("Der Zug fährt um 15:30 Uhr.", "de", "The train leaves at 3:30 p.m.", "en"),
    ("Hunderte von Menschen", "de", "Hundreds of people", "en"),
    ("Zehntausende Menschen", "de", "Tens of thousands of people", "en"),
    ("数十万人が参加した。", "ja", "Hundreds of thousands of people took part.", "en"),
    ("超过三百多万人口", "zh", "More than three million inhabitants", "en"),
    ("Depuis le XIXe siècle", "fr", "Since the 19th century", "en"),
    ("τη δεκαετία του '80", "el", "in the 1980s", "en"),
    ("In den nächsten zehn Jahren", "de", "In the next decade", "en"),
    ("A unos seis pies (1,8 m)", "es", "About 6 feet", "en"),
    ("Los trenes van a 402 km/h.", "es", "The trains go at 250 mph.", "en"),
    ("Alrededor de las 8:00, dos de los 8 barcos", "es", "At about 8 a.m., both of the 8 ships", "en"),
]
DIFFERENT = [
    (
        "Rund 2.500 Hafenarbeiter haben gestern in Hamburg die Arbeit niedergelegt.",
        "de",
        "More than 1,000 workers were lost in the disaster in Hong Kong.",
        "en",
        {"2.500", "1,000"},
    ),
    ("20.000 Menschen", "de", "1200 people", "en", {"20.000", "1200"}),
    ("Drei Kinder spielten.", "de", "Five children played.", "en", {"Drei", "Five"}),
    ("В мае", "ru", "In June", "en", {"мае", "June"}),
    ("5 किमी दूर", "hi", "5 miles away", "en", {"5 किमी", "5 miles"}),
    ("Тысячи людей", "ru", "Millions of people", "en", {"Тысячи", "Millions"}),
    ("Es kostet 5 Euro.", "de", "It costs $5.", "en", {"5 Euro", "$5"}),
    ("5 Männer, 5 Frauen, 2 Kinder", "de", "5 men, 2 women, 2 children", "en", {"5", "2"}),
    ("Dos casos en 4 a 7 días", "es", "Seven cases in 4 to 7 days", "en", {"Dos", "Seven"}),
    ("El lunes cerró; el lunes abrió.", "es", "It closed on Monday and opened on Friday.", "en", {"Friday"}),
    ("Desde el 12 de marzo, la COVID-19", "es", "Since 12 March, COVID-12", "en", {"19", "12"}),
    ("A unos seis pies (1,8 m)", "es", "About two feet (1.8 m)", "en", {"seis pies", "two feet"}),
    ("Los trenes van a 402 km/h.", "es", "The trains go at 251 mph.", "en", {"402 km", "251 mph"}),
    ("De 2 a 4 años, y 5 años después", "es", "From 2 to 4 years, and 5 weeks later", "en", {"5 años", "5 weeks"}),
    ("Con 8.000 millones", "es", "With 8,000 thousand", "en", {"8.000 millones", "8,000 thousand"}),
    ("Το πλοίο είχε 4 κανόνια, 4 αξιωματικούς.", "el", "The ship had 4 guns, two officers.", "en", {"4", "two"}),
    ("下午 2 点停了两辆车", "zh", "At 1pm two vans stopped", "en", {"1"}),
    ("Hace cinco años", "es", "A decade ago", "en", {"cinco años"}),
]


@pytest.mark.parametrize(("source", "source_language", "target", "target_language"), EQUAL)
def test_equal_amounts_raise_nothing(source: str, source_language: str, target: str, target_language: str) -> None:
    assert compare_amounts(source, source_language, target, target_language) == []


@pytest.mark.parametrize(("source", "source_language", "target", "target_language", "amounts"), DIFFERENT)
def test_different_amounts_are_told_with_their_places(
    source: str, source_language: str, target: str, target_language: str, amounts: set[str]
) -> None:
    mismatches = compare_amounts(source, source_language, target, target_language)
    assert {amount for mismatch in mismatches for amount in (mismatch.source, mismatch.text)} - {None} == amounts
    for mismatch in mismatches:
        if mismatch.source_span:
            assert source[slice(*mismatch.source_span)] == mismatch.source
        if mismatch.target_span:
            assert target[slice(*mismatch.target_span)] == mismatch.text


def test_codes_say_what_differs() -> None:
    (number,) = compare_amounts("20.000", "de", "1200", "en")
    (date,) = compare_amounts("В мае", "ru", "In June", "en")
    (unit,) = compare_amounts("5 km", "de", "5 miles", "en")
    assert (number.code, date.code, unit.code) == ("number", "date", "unit")


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(("en", "de", "zh", "ar", "th", "ko")))
def test_any_two_texts_can_be_compared(source: str, target: str, language: str) -> None:
    assert compare_amounts(source, language, source, language) == []
    for mismatch in compare_amounts(source, language, target, "en"):
        assert mismatch.source_span or mismatch.target_span


def test_of_a_long_list_each_amount_that_is_lacking_is_seen() -> None:
    mismatches = compare_amounts("5 km, " * 400, "de", "7 miles, " * 300, "en")
    assert len(mismatches) == 400
    assert compare_amounts("5 km, " * 400, "de", "5 km, " * 400, "en") == []


def test_comparing_asks_the_deadline() -> None:
    amounts = read_amounts("5 km, 6 km, 7 km", "de")
    for compare in (lambda: _pair(amounts, [], dual=False), lambda: _drop_converted(amounts, amounts)):
        with deadline(0), pytest.raises(DeadlinePassed):
            compare()
