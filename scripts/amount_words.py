"""Writes the number words, months, weekdays, units and currencies of CLDR that ``dragoman.checking.amounts`` reads.

``python scripts/amount_words.py`` asks ICU (icu4py) to spell numbers and dates in each language. What follows from
shorter entries by the package's own rules is left out.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import regex
from icu4py.messageformat import MessageFormat

from dragoman.checking.amounts.folding import fold_text
from dragoman.checking.amounts.lexical.lexicon import CONTINUOUS, Lexicon, NumberWord, load_lexicon
from dragoman.checking.amounts.lexical.spelled import add_words, split_compound

LANGUAGES = """
af am ar az be bg bn bs ca cs cy da de el en es et fa fi fil fr ga gu ha he hi hr ht hu hy id ig is it ja ka
kk km kn ko ky lo lt lv mk ml mr ms mt my nb ne nl pa pl ps pt ro ru si sk sl so sq sr sv sw ta te th tr uk ur
uz vi yo yue zh zu
""".split()  # noqa: SIM905
GENDERS = """
 -masculine -feminine -neuter -common -masculine-plural -feminine-plural -plural -n -r -s -m -native -native-attributive
-attributive -construct -definite -reale -count -alternate -construct-feminine -construct-masculine -masculine-personal
-feminine-adjective -masculine-adjective
""".split()  # noqa: SIM905
CASES = ("", "-genitive", "-dative", "-accusative", "-locative", "-prepositional", "-instrumental", "-ablative")
RULES = [
    f"%spellout-{kind}{gender}{case}" for kind in ("cardinal", "ordinal") for gender in ("", *GENDERS) for case in CASES
]
NUMBERS = [
    *range(2, 100),
    *range(100, 1000, 100),
    1000,
    2000,
    3000,
    5000,
    10000,
    100000,
    10**6,
    2 * 10**6,
    5 * 10**6,
    10**7,
    10**9,
    10**12,
]
UNITS = {
    "kilometer": "km", "meter": "m", "centimeter": "cm", "millimeter": "mm", "mile": "mi",
    "foot": "ft", "inch": "in", "yard": "yd", "light-year": "ly", "nautical-mile": "nmi",
    "kilogram": "kg", "gram": "g", "milligram": "mg", "metric-ton": "t", "pound": "lb",
    "ounce": "oz", "liter": "l", "milliliter": "ml", "gallon": "gal", "cubic-meter": "m³",
    "cubic-kilometer": "km³", "square-kilometer": "km²", "square-meter": "m²", "square-mile": "mi²",
    "hectare": "ha", "acre": "acre", "kilometer-per-hour": "km/h", "mile-per-hour": "mph",
    "meter-per-second": "m/s", "celsius": "°C", "fahrenheit": "°F",
    "second": "s", "minute": "min", "hour": "h",
    "day": "d", "week": "wk", "month": "mo", "year": "y", "century": "century",
    "decade": "decade", "byte": "B", "kilobyte": "kB", "megabyte": "MB",
    "gigabyte": "GB", "terabyte": "TB", "bit": "bit", "watt": "W", "kilowatt": "kW",
    "megawatt": "MW", "gigawatt": "GW", "horsepower": "hp", "kilowatt-hour": "kWh",
    "calorie": "cal", "kilocalorie": "kcal", "joule": "J", "hertz": "Hz",
    "kilohertz": "kHz", "megahertz": "MHz", "gigahertz": "GHz",
    "percent": "%", "permille": "‰", "hectopascal": "hPa", "volt": "V",
    "ampere": "A", "degree": "°",
}  # fmt: skip
CURRENCIES = """
USD EUR GBP JPY CNY INR RUB KRW TRY BRL THB VND IDR IRR ILS CHF
""".split()  # noqa: SIM905
COUNTS = (1, 2, 3, 5, 11, 100)


@lru_cache(maxsize=1000)
def make_format(pattern: str, language: str) -> MessageFormat:
    return MessageFormat(f"{{n, {pattern}}}", language)


def spell(pattern: str, language: str, argument: Any) -> str:
    """What ICU writes for one argument of ``pattern``, folded as texts are."""
    text = str(make_format(pattern, language).format({"n": argument}))
    if language not in CONTINUOUS:
        text = text.replace("\u200b", " ")
    folded = fold_text(text.replace("\u00ad", ""))
    return regex.sub(r"[\-' .]+", " ", folded).strip() if language not in CONTINUOUS else folded.replace(" ", "")


def write_language(language: str) -> dict[str, Any]:
    """All words of ``language`` by kind."""
    return {
        "numbers": make_numbers(language),
        "months": dict(
            spell_dates(language, ("MMMM", "LLLL", "MMM", "LLL"), [datetime.date(2023, n, 1) for n in range(1, 13)])
        ),
        "weekdays": dict(spell_dates(language, ("EEEE", "cccc"), [datetime.date(2024, 1, n) for n in range(1, 8)])),
        "units": {**spell_units(language), **spell_currencies(language)},
        "halves": spell_halves(language),
    }


def spell_dates(language: str, skeletons: tuple[str, ...], days: list[datetime.date]) -> Iterator[tuple[str, int]]:
    """The names of months or weekdays, numbered from 1."""
    for skeleton in skeletons:
        for index, day in enumerate(days, start=1):
            locale = f"{language}-u-ca-gregory-nu-latn"
            name = spell(f"date, ::{skeleton}", locale, datetime.datetime(day.year, day.month, day.day, 12))
            if not any(sign.isdigit() for sign in name) and len(name) > 1:
                yield name, index
                dated = spell("date, ::dMMMM", locale, datetime.datetime(day.year, day.month, 1, 12))
                for word in dated.split(" ") if "MMMM" in skeletons else ():
                    if word[:3] == name[:3] and word.isalpha():
                        yield word, index  # the genitive beside a day


def spell_halves(language: str) -> dict[str, int]:
    """The words before or after an hour that say which half of the day it is in."""
    halves: dict[str, int] = {}
    for hour in (9, 15):
        time = spell("date, ::hm", f"{language}-u-nu-latn", datetime.datetime(2024, 1, 1, hour, 30))
        word = regex.sub(r"[\d:.]+( |$)|\d+", "", time).strip(" :.")
        if word:
            halves[word] = hour // 12 * 12
    return halves


def spell_units(language: str) -> dict[str, str]:
    """Names and abbreviations of units in all plural forms."""
    names: dict[str, str] = {}
    for unit, symbol in UNITS.items():
        for width in ("unit-width-full-name", "unit-width-short"):
            for count in COUNTS:
                add_name(names, spell(f"number, ::unit/{unit} {width}", f"{language}-u-nu-latn", count), symbol)
    return names


def spell_currencies(language: str) -> dict[str, str]:
    """Names and signs of currencies."""
    names: dict[str, str] = {}
    for currency in CURRENCIES:
        for count in COUNTS:
            for width in ("unit-width-full-name", "unit-width-short"):
                pattern = f"number, ::currency/{currency} {width} precision-integer"
                add_name(names, spell(pattern, f"{language}-u-nu-latn", count), currency)
    return names


def add_name(names: dict[str, str], written: str, symbol: str) -> None:
    """Take in what is written beside the number."""
    name = regex.sub(r"\d+", " ", written).strip(" .-")
    short = len(name) <= 2 and name.isalpha() and not regex.search(r"[\p{Han}\p{Hangul}\p{Katakana}]", name)
    if name and "  " not in name and not short and name.upper() != symbol:
        names.setdefault(name, symbol)


def make_numbers(language: str) -> dict[str, int | str]:
    """Number words from which the package's rules put together all others."""
    if language in ("zh", "ja", "yue") or (language != "en" and spell("spellout", language, 23) == "twenty three"):
        return {}  # read sign by sign; without rules
    base = load_lexicon(language)
    numbers: dict[str, int | str] = {}
    lexicon = replace(base, numbers={})
    rules = choose_rules(language)
    for quantity in [1, *NUMBERS]:
        for rule in rules:
            phrase = spell(f"spellout,{rule}", language, quantity)
            if not phrase or regex.search(r"\d", phrase):
                continue
            for atom, entry in find_atoms(phrase, quantity, "-ordinal" in rule and "ordinal", lexicon, language):
                if str(entry).endswith("o") and quantity > 1000:
                    continue
                if atom in numbers and not str(entry).endswith("o"):
                    continue
                if atom in numbers and numbers[atom] != entry and not str(numbers[atom]).endswith("o"):
                    continue  # a rule of ordinals that a language lacks spells the cardinal
                numbers[atom] = entry
                lexicon = replace(lexicon, numbers={**lexicon.numbers, atom: parse(entry)})
    return numbers


def choose_rules(language: str) -> list[str]:
    """One of all rules that spell alike; rules that a language lacks spell as its first does."""
    rules: dict[tuple[str, ...], str] = {}
    for rule in RULES:
        spelled = tuple(
            spell(f"spellout,{rule}", language, quantity) for quantity in (1, 2, 3, 4, 5, 21, 34, 100, 1000)
        )
        rules.setdefault(spelled, rule)
    return list(rules.values())


def parse(entry: int | str) -> NumberWord:
    return NumberWord(Fraction(str(entry).rstrip("o")), ordinal=str(entry).endswith("o"))


def find_atoms(
    phrase: str, quantity: int, ordinal: Any, lexicon: Lexicon, language: str
) -> Iterator[tuple[str, int | str]]:
    """``phrase`` as an entry unless it follows from shorter ones; of a multiple of a power of ten the power alone."""
    if read_phrase(phrase, lexicon) == quantity:
        return
    scale = next(
        (power for power in (10**12, 10**9, 10**7, 10**6, 10**5, 10**4, 1000, 100) if quantity % power == 0), 0
    )
    if scale and quantity >= scale:
        for index in range(1, len(phrase)):
            rest = phrase[index:].strip()
            if not (lexicon.joined or lexicon.continuous or phrase[index] == " ") or (
                " " in phrase and phrase[index] != " "
            ):
                continue
            long_enough = len(rest) > 1 or language in CONTINUOUS
            if long_enough and read_phrase(phrase[:index].strip(), lexicon) == quantity // scale:
                yield rest, f"{scale}o" if ordinal else scale
                return
    yield phrase, f"{quantity}o" if ordinal else quantity


def read_phrase(phrase: str, lexicon: Lexicon) -> Fraction | None:
    """What the package reads in ``phrase`` so far."""
    words: list[NumberWord] = []
    tokens = phrase.split(" ")
    index = 0
    while index < len(tokens):
        for stop in range(len(tokens), index, -1):
            piece = " ".join(tokens[index:stop])
            if piece in lexicon.numbers:
                words.append(lexicon.numbers[piece])
                break
            if stop == index + 1 and (compound := split_word(piece, lexicon)):
                words += compound
                break
            if words and stop < len(tokens) and piece in lexicon.connectors:
                break
        else:
            return None
        index = stop
    return add_words(words, lexicon) if words else None


def split_word(piece: str, lexicon: Lexicon) -> tuple[NumberWord, ...]:
    for prefix in lexicon.prefixes:
        if piece.startswith(prefix) and piece[len(prefix) :] in lexicon.numbers:
            return (lexicon.numbers[piece[len(prefix) :]],)
    return split_compound(piece, lexicon) if lexicon.joined or lexicon.continuous else ()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("dragoman/checking/amounts/data"))
    parser.add_argument("--languages", nargs="*", default=LANGUAGES)
    options = parser.parse_args()
    for language in options.languages:
        text = json.dumps(write_language(language), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        (options.to / f"{language}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
