"""A date, time or era is the same in any language, script and notation, and another one is another amount."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.checking.amounts import compare_amounts
from tests.checking.amounts.locales import LANGUAGES, write

EQUAL = [
    ("de", "im 18. und 19. Jahrhundert", "in the 1700s and 1800s"),
    ("zh", "7月25日0—24时，新增病例5例", "On July 25 there were 5 new cases"),
    ("zh", "7月25日0—24时", "From 0:00 to 24:00 on July 25"),
    ("de", "am 25. Juli von 0 bis 24 Uhr", "on July 25"),
    ("de", "um 8 am Abend", "at 8 p.m."),
    ("ja", "１８２５～６９年", "1825-1869"),
    ("ja", "ブラックフライデーの売上高", "sales on Black Friday"),
    ("de", "Eine am Mittwoch vorgelegte Umfrage", "a survey published on Wednesday"),
    ("zh", "花费了1小时45分钟", "it took an hour and 45 minutes"),
    ("de", "am 3. Mai 2020", "on May 3, 2020"),
    ("de", "03.05.2020", "May 3, 2020"),
    ("de", "03.05.2020", "5/3/2020"),
    ("fr", "le 3 mai 2020", "2020-05-03"),
    ("en", "2020-05-03", "3 May 2020"),
    ("ru", "3 мая 2020 года", "May 3, 2020"),
    ("el", "στις 3 Μαΐου 2020", "May 3, 2020"),
    ("ar", "3 مايو 2020", "May 3, 2020"),
    ("ar", "٣ أيار ٢٠٢٠", "3 May 2020"),
    ("hi", "3 मई 2020", "May 3, 2020"),
    ("th", "3 พฤษภาคม 2563", "May 3, 2020"),
    ("ja", "令和2年5月3日", "May 3, 2020"),
    ("ja", "2020年5月3日", "2020/05/03"),
    ("zh", "2020年5月3日", "May 3, 2020"),
    ("fa", "۳ مه ۲۰۲۰", "May 3, 2020"),
    ("bn", "৩ মে ২০২০", "May 3, 2020"),
    ("de", "im 19. Jahrhundert", "in the 19th century"),
    ("fr", "au XIXe siècle", "in the 19th century"),
    ("es", "en el siglo XIX", "in the nineteenth century"),
    ("ru", "в XIX веке", "in the 19th century"),
    ("el", "τον 19ο αιώνα", "in the 19th century"),
    ("ar", "في القرن التاسع عشر", "in the 19th century"),
    ("hi", "19वीं सदी में", "in the 19th century"),
    ("th", "ในศตวรรษที่ 19", "in the 19th century"),
    ("ja", "19世紀に", "in the 19th century"),
    ("zh", "在十九世纪", "in the 19th century"),
    ("fa", "در قرن نوزدهم", "in the 19th century"),
    ("bn", "উনিশ শতকে", "in the 19th century"),
    ("de", "um 17:30 Uhr", "at 5:30 p.m."),
    ("de", "um 17 Uhr", "at 5 p.m."),
    ("fr", "à 17h", "at 5 p.m."),
    ("fr", "à 17h30", "at 5:30 p.m."),
    ("fr", "à 17 h 30", "at 5:30 p.m."),
    ("es", "a las 17:30", "at 5:30 p.m."),
    ("es", "a las 5 de la tarde", "at 5 p.m."),
    ("es", "dos horas y media", "2 h 30"),
    ("es", "dos horas y media", "2.5 hours"),
    ("ru", "в 17 часов", "at 5 p.m."),
    ("ru", "в 17:30", "at 5:30 p.m."),
    ("el", "στις 5 μ.μ.", "at 5 p.m."),
    ("el", "στις 17:00", "at 5 p.m."),
    ("ar", "الساعة 5 مساءً", "at 5 p.m."),
    ("hi", "शाम 5 बजे", "at 5 p.m."),
    ("th", "เวลา 17.30 น.", "at 5:30 p.m."),
    ("th", "เวลา 17:00 น.", "at 5 p.m."),
    ("ja", "午後5時", "at 5 p.m."),
    ("ja", "17時30分", "5:30 p.m."),
    ("zh", "下午5点", "at 5 p.m."),
    ("zh", "17点30分", "5:30 p.m."),
    ("de", "halb sechs", "half past five"),
    ("de", "44 v. Chr.", "44 BC"),
    ("fr", "44 av. J.-C.", "44 BC"),
    ("ru", "44 год до н. э.", "44 BC"),
    ("zh", "公元前44年", "44 BC"),
    ("ja", "紀元前44年", "44 BC"),
    ("th", "44 ปีก่อนคริสตกาล", "44 BC"),
    ("ja", "昭和39年", "1964"),
    ("zh", "民国38年", "1949"),
    ("th", "พ.ศ. 2500", "1957"),
    ("de", "in den 1990er-Jahren", "in the 1990s"),
    ("de", "in den Neunzigerjahren", "in the nineties"),
    ("fr", "dans les années 90", "in the 1990s"),
    ("es", "en los años noventa", "in the nineties"),
    ("ru", "в 90-х годах", "in the 1990s"),
    ("ru", "в девяностых", "in the 1990s"),
    ("ar", "في التسعينيات", "in the 1990s"),
    ("hi", "1990 के दशक में", "in the 1990s"),
    ("th", "ทศวรรษ 1990", "the 1990s"),
    ("ja", "1990年代", "the 1990s"),
    ("zh", "90年代", "the 1990s"),
    ("zh", "二十世纪九十年代", "the 1990s"),
    ("el", "τη δεκαετία του 1990", "the 1990s"),
    ("fr", "le 1er août", "August 1"),
    ("de", "1,5 Stunden", "90 minutes"),
    ("de", "anderthalb Stunden", "90 minutes"),
    ("es", "Al 23 de julio", "on 23 July"),
    ("zh", "今年5月1日起", "since May 1 this year"),
    ("es", "2 horas 30 minutos", "150 minutes"),
    ("zh", "上午9点到下午6点", "9 a.m. to 6 p.m."),
    ("de", "am 3.5.", "on May 3"),
    ("de", "vom 24.12. bis zum 6.1. geschlossen", "closed from December 24 to January 6"),
    ("de", "am 5. 3. 2020", "on March 5, 2020"),
    ("de", "um Viertel vor neun", "at 8:45"),
    ("de", "um Viertel nach 9", "at a quarter past nine"),
    ("ru", "без четверти девять", "at a quarter to nine"),
    ("es", "a las ocho y cuarto", "at 8:15"),
    ("es", "a las nueve menos cuarto", "at 8:45"),
    ("fr", "à huit heures et quart", "at 8:15"),
    ("de", "drei viertel Stunden", "45 minutes"),
    ("de", "eine Dreiviertelstunde", "three quarters of an hour"),
    ("fr", "un quart d'heure", "15 minutes"),
    ("es", "tres cuartos de hora", "45 minutes"),
    ("ru", "три четверти часа", "three quarters of an hour"),
    ("de", "Do., 5. März", "Thursday, March 5"),
    ("de", "Samstag, 5. März", "Sat., March 5"),
    ("fr", "sam. 5 mars", "Sat., March 5"),
    ("de", "Er saß da", "There he sat."),
    ("ja", "5日(土)", "Saturday the 5th"),
    ("de", "am 3.5. und 4.5.", "on May 3 and May 4"),
    ("de", "500 v. Chr.", "500 BCE"),
    ("de", "14 n. Chr.", "AD 14"),
    ("zh", "公元前221年", "221 B.C."),
    ("de", "von 100 v. Chr. bis 100 n. Chr.", "from 100 BC to AD 100"),
    ("el", "τον 5ο αιώνα π.Χ.", "in the 5th century BC"),
    ("es", "en el año 44 a. C.", "in 44 BC"),
    ("ar", "عام 44 قبل الميلاد", "in 44 BC"),
    ("hi", "44 ईसा पूर्व", "44 BCE"),
    ("ja", "午前10時から午後5時まで", "from 10 a.m. to 5 p.m."),
    ("hi", "सुबह 10 बजे से शाम 5 बजे तक", "from 10 a.m. to 5 p.m."),
]
DIFFERENT = [
    ("de", "im 19. Jahrhundert", "in the 1900s"),
    ("de", "in den 1800er Jahren", "in the 1700s"),
    ("zh", "7月25日0—23时，新增病例5例", "On July 25 there were 5 new cases"),
    ("ru", "3 минуты 30,47 секунды", "3 minutes and 30.47 minutes"),
    ("de", "im dritten Quartal", "in the fourth quarter"),
    ("es", "Al 23 de julio", "on 23 January"),
    ("ru", "сорокалетний стаж", "40 minutes"),
    ("ru", "на 90 суток", "for 90 minutes"),
    ("ru", "1 марта", "March 2"),
    ("zh", "1月中旬和3月", "March and March"),
    ("es", "A las dos semanas, a finales de los 80", "Within eighty weeks, in the late eighties"),
    ("fr", "à 17 h 30", "at 5:20 p.m."),
    ("es", "dos horas y media", "2 h 20"),
    ("ja", "17時30分", "5:20 p.m."),
    ("de", "halb sechs", "half past six"),
    ("ru", "в 17 часов", "at 4 p.m."),
    ("zh", "上午9点到下午6点", "9 p.m. to 6 p.m."),
    ("de", "am 3.5.", "on May 4"),
    ("de", "am 3.5.", "on June 3"),
    ("de", "am 5. 3. 2020", "on April 5, 2020"),
    ("de", "um Viertel vor neun", "at 9:15"),
    ("es", "a las ocho y cuarto", "at 8:45"),
    ("de", "drei viertel Stunden", "15 minutes"),
    ("de", "drei Viertelstunden", "30 minutes"),
    ("de", "Do., 5. März", "Tuesday, March 5"),
    ("ja", "5日(土)", "Sunday the 5th"),
    ("de", "44 v. Chr.", "AD 44"),
    ("de", "500 v. Chr.", "500 AD"),
    ("fr", "44 av. J.-C.", "44 CE"),
    ("es", "44 a. C.", "AD 44"),
    ("ru", "44 г. до н. э.", "AD 44"),
    ("el", "44 π.Χ.", "44 A.D."),
    ("ar", "44 قبل الميلاد", "44 AD"),
    ("hi", "44 ईसा पूर्व", "44 AD"),
    ("th", "44 ปีก่อนคริสตกาล", "AD 44"),
    ("ja", "紀元前221年", "221 AD"),
    ("zh", "公元前221年", "221 AD"),
    ("zh", "公元前5世纪", "the 5th century AD"),
    ("ja", "午前10時から午後5時まで", "from 10 p.m. to 5 p.m."),
    ("hi", "सुबह 10 बजे से शाम 5 बजे तक", "from 10 p.m. to 5 p.m."),
]


@pytest.mark.parametrize(("language", "text", "english"), EQUAL)
def test_the_same_date_is_accepted(language: str, text: str, english: str) -> None:
    assert compare_amounts(text, language, english, "en") == []
    assert compare_amounts(english, "en", text, language) == []


@pytest.mark.parametrize(("language", "text", "english"), DIFFERENT)
def test_another_date_is_seen(language: str, text: str, english: str) -> None:
    assert compare_amounts(text, language, english, "en")
    assert compare_amounts(english, "en", text, language)


ANY = st.sampled_from(LANGUAGES)
DAYS = st.datetimes(datetime.datetime(1900, 1, 1, 12), datetime.datetime(2099, 12, 28, 12))


@given(ANY, ANY, DAYS, DAYS, st.booleans())
def test_dates_are_accepted_in_any_order_of_their_parts(
    first: str, second: str, day: datetime.datetime, other: datetime.datetime, native: bool
) -> None:
    first_day, second_day = (write("date, ::yMMMMd", f"{code}-u-ca-gregory", day) for code in (first, second))
    assert compare_amounts(first_day, first, second_day, second) == []
    if {day.year, day.month, day.day} != {other.year, other.month, other.day}:
        changed = write("date, ::yMMMMd", f"{second}-u-ca-gregory", other)
        assert compare_amounts(first_day, first, changed, second)
