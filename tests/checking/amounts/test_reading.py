"""Amounts are read by what they mean, in any script and with the separators of any locale."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from icu4py.messageformat import MessageFormat

from dragoman.checking.amounts import Amount, read_amounts

ZEROS = [character for character in map(chr, range(0x20000)) if unicodedata.decimal(character, -1) == 0]
LOCALES = """
ar bg bn cs de de-AT de-CH el en en-IN es es-MX et fa fi fr fr-CH he hi hu id it it-CH ja ko mr my nb ne nl pl ps pt
pt-PT ro ru sl sv sw ta th tr uk ur uz vi zh
""".split()  # noqa: SIM905
SPELLED = "en de fr es pt nl ru uk bg el tr ar he hi ta th ja zh pl cs sv da nb ro".split()  # noqa: SIM905
PIECES = "0 1 12 999 1.000 1,5 ' / : - 万 三 百 km % $ twenty million and мая XIX".split()  # noqa: SIM905
ANY_LANGUAGE = st.sampled_from([*SPELLED, "ar", "ko", "vi", "sw", "fa", "ur", "bn", "xx"])


def quantities(amount: Amount) -> set[Fraction | None]:
    return {reading.quantity for reading in amount.readings}


def spell(pattern: str, language: str, number: int | float) -> str:
    return str(MessageFormat(f"{{n, {pattern}}}", language).format({"n": number}))


@given(st.sampled_from(LOCALES), st.integers(1, 10**9))
def test_whole_numbers_of_all_locales_are_read_back(locale: str, number: int) -> None:
    (amount,) = read_amounts(spell("number", locale, number), locale.partition("-")[0])
    assert number in quantities(amount)


@given(st.sampled_from(LOCALES), st.integers(1, 10**6), st.integers(1, 9))
def test_decimals_of_all_locales_are_read_back(locale: str, whole: int, tenths: int) -> None:
    (amount,) = read_amounts(spell("number", locale, whole + tenths / 10), locale.partition("-")[0])
    assert Fraction(whole * 10 + tenths, 10) in quantities(amount)


@given(st.sampled_from(ZEROS), st.integers(0, 10**12))
def test_digits_of_all_scripts_are_read(zero: str, number: int) -> None:
    (amount,) = read_amounts("".join(chr(ord(zero) + int(digit)) for digit in str(number)), "en")
    assert quantities(amount) == {Fraction(number)}


@given(st.sampled_from(SPELLED), st.integers(2, 9999))
def test_number_words_are_read_back(language: str, number: int) -> None:
    amounts = read_amounts(spell("spellout", language, number), language)
    assert len(amounts) == 1
    assert number in quantities(amounts[0])


@given(st.text(max_size=80), ANY_LANGUAGE)
def test_any_text_can_be_read(text: str, language: str) -> None:
    end = 0
    for amount in read_amounts(text, language):
        assert end <= amount.start < amount.end <= len(text)
        assert text[amount.start : amount.end] == amount.text
        assert amount.readings
        end = amount.end


@given(
    st.lists(
        st.sampled_from(
            [
                "0",
                "1",
                "12",
                "999",
                "1.000",
                "1,5",
                "'",
                "/",
                ":",
                "-",
                "万",
                "三",
                "百",
                "km",
                "%",
                "$",
                "twenty",
                "million",
                "and",
                "мая",
                "XIX",
            ]
        ),
        max_size=60,
    )
)
def test_any_row_of_amounts_can_be_read(pieces: list[str]) -> None:
    for joint in ("", " "):
        for language in ("en", "ru", "zh"):
            text = joint.join(pieces)
            assert all(text[amount.start : amount.end] == amount.text for amount in read_amounts(text, language))


def test_long_rows_of_digits_are_read_in_bounds() -> None:
    assert read_amounts("7" * 50_000, "en")
    assert read_amounts("1," * 2000, "en")
    assert read_amounts("三" * 20_000, "zh")
    assert read_amounts("zwei" * 10_000, "de") == []


READ = [
    ("Die siebtgrößte Stadt", "de", [7]),
    ("dreiundzwanzig", "de", [23]),
    ("quatre-vingt-dix", "fr", [90]),
    ("三百二十", "zh", [320]),
    ("2.5万", "ja", [25_000]),
    ("1.2 lakh", "en", [120_000]),
    ("2 crore", "en", [20_000_000]),
    ("5 मिलियन", "hi", [5_000_000]),
    ("1,3 Mio.", "de", [1_300_000]),
    ("2,5 млн", "ru", [2_500_000]),
    ("a dozen", "en", [12]),
    ("two dozen", "en", [24]),
    ("two and a half million", "en", [2_500_000]),
    ("3억 5000만", "ko", [350_000_000]),
    ("XIX век", "ru", [19]),
    ("siglo XIX", "es", [19]),
    ("19 世紀", "ja", [19]),
    ("6½", "en", [Fraction(13, 2)]),
    ("1'234'567", "de", [1_234_567]),
    ("12,34,567", "hi", [1_234_567]),
    ("١٬٢٣٤٫٥", "ar", [Fraction(12345, 10)]),
    ("twenty-three", "en", [23]),
    ("ثلاثة وعشرون ألفا", "ar", [23_000]),
    ("elfu mbili", "sw", [2000]),
    ("1990s", "en", [1990]),
    ("令和5年", "ja", [2023]),
    ("พ.ศ. 2563", "th", [2020]),
    ("£30m", "en", [30_000_000]),
]


@pytest.mark.parametrize(("text", "language", "numbers"), READ)
def test_numbers_are_read(text: str, language: str, numbers: list[int | Fraction]) -> None:
    amounts = read_amounts(text, language)
    assert len(amounts) == len(numbers)
    assert all(number in quantities(amount) for amount, number in zip(amounts, numbers, strict=True))


def test_digits_that_are_younger_than_pythons_unicode_are_read() -> None:
    (amount,) = read_amounts("\U00010d42\U00010d40", "en")  # Garay
    assert quantities(amount) == {Fraction(20)}


def test_an_ambiguous_separator_has_both_readings() -> None:
    (amount,) = read_amounts("1.200", "de")
    assert quantities(amount) == {Fraction(1200), Fraction(6, 5)}


def test_kinds_and_units_are_told() -> None:
    amounts = read_amounts("On 3 May it cost $5, 20 km away, for 30% at 3:30 pm", "en")
    assert [amount.kind for amount in amounts] == ["number", "date", "money", "measure", "percent", "time"]
    assert [amount.readings[0].unit for amount in amounts] == [None, None, "USD", "km", "%", None]
    assert amounts[1].readings[0].month == 5
    assert amounts[5].readings[0].minute == 15 * 60 + 30
