"""All amounts of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

import regex

from dragoman.checking.amounts.amount import Amount, AmountKind, Reading
from dragoman.checking.amounts.folding import fold_with_places
from dragoman.checking.amounts.lexicon import Lexicon, load_lexicon
from dragoman.checking.amounts.lexing import Item, list_items
from dragoman.checking.amounts.parsing import Quantity, find_unit, read_quantity
from dragoman.checking.amounts.units import CURRENCIES, SIGNS

__all__ = ["read_amounts"]

_DECADE = regex.compile(r"(?:'?s|-?ern?|-?(?:х|ых|ті|ти|те)|'?(?:lar|ler|lı|li))(?!\p{L})| ?[年년]?[代대](?!表)|ها")
"""What follows a decade in digits."""
_SHORT_SCALE = regex.compile(r"(?:m|k|bn|b)(?![\p{L}\p{N}²³])| ?(?:md|m|k|bn)(?=[$€£])")
_SHORT_SCALES = {"m": 10**6, "k": 10**3, "bn": 10**9, "b": 10**9, "md": 10**9}
_HALF_AFTER = regex.compile(r"半|반|ครึ่ง")
_FRACTION = regex.compile(r"分[之の] ?$")
_DATE_IN_DIGITS = regex.compile(r"(?<!\d)\d{1,4}([./-])\d{1,2}\1\d{2,4}(?!\d)|(?<!\d)\d{1,2}[/.]\d{1,2}(?![\d/])")
_RANGE_OF_MONTHS = regex.compile(r" ?[-~至到] ?\d{1,2} ?月")
_POINTED_TIME = regex.compile(r"(\d|1\d|2[0-3])\.([0-5]\d)")
_RANGES = frozenset("- ~ to до bis à a al से تا الی 至 到 から 에서 tot ile".split())  # noqa: SIM905
"""What stands between the ends of a range."""
_CLOCK = regex.compile(r"(?:[:：]|(?<=\d)h)(\d{2})(?:[:：]\d{2})?(?![\d:]|[.,]\d)")
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民国": 1911, "民國": 1911}
_DECADE_BEFORE = regex.compile(
    r"(?:décadas?|années|anos|años|anni|jahre|década|thập niên|thập kỷ|tahun|ทศวรรษ(?:ที่)?)(?: \p{L}{1,3}){0,2}['\" ]*$"
)
_CAPITAL_MONTHS = frozenset({"en", "tr"})
"""Languages that write months with a capital, and have some that are common words."""
_BEFORE_ONLY = CURRENCIES | {"%"}
_UNIT_FIRST = frozenset({"sw", "vi", "th", "id", "ms", "lo", "km"})
"""Languages that write hour, day or year before the number as well."""


def read_amounts(text: str, language: str) -> list[Amount]:
    """The amounts of ``text`` in order, apart from each other; ``language`` is an ISO 639-1 code and settles words."""
    lexicon = load_lexicon(language)
    folded, places = fold_with_places(text)
    items = list_items(text, folded, places, lexicon)
    amounts = []
    extracts = _join_decades(_read_items(items, folded, lexicon), folded)
    for start, end, kind, readings, freedom in _share_units(extracts, folded):
        begin, stop = places[start], places[end - 1] + 1
        if text[stop - 1] == "." and stop - begin > 1:
            stop -= 1
        amounts.append(
            Amount(
                begin,
                stop,
                kind,
                readings,
                text[begin:stop],
                spelled=freedom != "written",
                free=freedom == "free",
                vague=freedom == "vague",
            )
        )
    return amounts


Freedom = Literal["written", "spelled", "free", "vague"]
"""How much a translator may leave out."""
Extract = tuple[int, int, AmountKind, tuple[Reading, ...], Freedom]


def _read_items(items: Sequence[Item], folded: str, lexicon: Lexicon) -> Iterator[Extract]:
    index = reached = 0
    while index < len(items):
        token = items[index]
        clock = _read_clock(items, index, folded)
        if clock is not None:
            end, minute, following = clock
            half = _find_half(items, index, following, folded)
            yield token.start, end, "time", _list_times(minute, half), "written"
            index = following
            continue
        quantity = None if _names_unit(items, index, folded) else read_quantity(items, index, folded, lexicon)
        if token.month is not None and not _is_plain_word(token, items, index, folded, lexicon):
            readings = (Reading(month=token.month), *_list_others(token, quantity))
            yield token.start, token.end, "date", readings, "spelled" if len(readings) > 1 else "written"
            index += 1
        elif token.weekday is not None:
            readings = (Reading(weekday=token.weekday), *_list_others(token, quantity))
            yield token.start, token.end, "date", readings, "spelled" if len(readings) > 1 else "written"
            index += 1
        elif quantity is not None:
            amount = _read_measure(items, index, quantity, folded, lexicon, reached)
            if amount is not None:
                yield amount
                reached = amount[1]
            index = quantity.following
        else:
            index += 1


def _join_decades(extracts: Iterable[Extract], folded: str) -> Iterator[Extract]:
    """``20 世纪 30 年代`` is the 1930s."""
    century: Extract | None = None
    for extract in extracts:
        start, end, kind, readings, freedom = extract
        if century is not None:
            last = readings[0].quantity
            if last is not None and last < 100 and start - century[1] <= 1 and _DECADE.search(folded, start, end + 3):
                whole = (century[3][0].quantity or 0) * 100 - 100 + last
                extract = (century[0], end, kind, (Reading(quantity=Fraction(whole)),), freedom)
            else:
                yield century
            century = None
        if extract[3][0].unit == "century" and len(extract[3]) == 1:
            century = extract
        else:
            yield extract
    if century is not None:
        yield century


def _share_units(extracts: Iterable[Extract], folded: str) -> Iterator[Extract]:
    """Of ``40-50 %`` both are percents."""
    before: Extract | None = None
    for extract in extracts:
        if before is not None:
            unit = extract[3][0].unit
            joined = folded[before[1] : extract[0]].strip() in _RANGES
            if joined and unit is not None and all(reading == Reading(reading.quantity) for reading in before[3]):
                readings = tuple(Reading(quantity=reading.quantity, unit=unit) for reading in before[3])
                before = (before[0], before[1], extract[2], readings, before[4])
            yield before
        before = extract
    if before is not None:
        yield before


def _list_others(token: Item, quantity: Quantity | None) -> tuple[Reading, ...]:
    """What a month or a weekday means besides: Τρίτη is the third, too."""
    if quantity is None or not token.numbers:
        return ()
    return tuple(Reading(quantity=reading) for reading in quantity.quantities)


def _names_unit(items: Sequence[Item], index: int, folded: str) -> bool:
    """Whether a word that is a number, too, is the unit of the digits after it: năm 2020 is a year and not five."""
    token, following = items[index], items[index + 1] if index + 1 < len(items) else None
    if not token.numbers or token.unit is None or following is None or not following.quantities:
        return False
    return folded[token.end : following.start].isspace()


def _is_plain_word(token: Item, items: Sequence[Item], index: int, folded: str, lexicon: Lexicon) -> bool:
    """Whether a word that is a month's name as well stands where no date is: may, march."""
    if folded[token.start : token.end].rstrip(".") not in lexicon.plain:
        return False
    if (
        token.capital
        if lexicon.language in _CAPITAL_MONTHS
        else lexicon.language == "fr" and folded[token.start] == "m"
    ):
        return False
    near = [items[place] for place in (index - 1, index + 1) if 0 <= place < len(items)]
    return not any(
        other.quantities and not other.roman and max(other.start - token.end, token.start - other.end) <= 4
        for other in near
    )


def _read_clock(items: Sequence[Item], index: int, folded: str) -> tuple[int, int, int] | None:
    """End, minute of the day and next token of a time with a colon."""
    token = items[index]
    if not token.quantities or token.roman or not folded[token.start : token.end].isdecimal():
        return None
    match = _CLOCK.match(folded, token.end)
    hour = int(token.quantities[0]) if token.end - token.start <= 2 else 99
    if match is None or hour > 24 or int(match.group(1)) > 59:
        return None
    following = index + 1
    while following < len(items) and items[following].start < match.end():
        following += 1
    return match.end(), hour * 60 + int(match.group(1)), following


def _find_half(items: Sequence[Item], index: int, following: int, folded: str) -> int | None:
    """The half of the day that is named beside a time."""
    for place in (following, index - 1, following + 1):
        if 0 <= place < len(items) and items[place].half is not None:
            gap = (
                items[place].start - items[following - 1].end
                if place >= following
                else items[index].start - items[place].end
            )
            if gap <= 12:
                return items[place].half
    return None


def _list_times(minute: int, half: int | None) -> tuple[Reading, ...]:
    minutes = [minute] if minute >= 780 or (minute < 60 and half is None) else [minute % 720, minute % 720 + 720]
    if half is not None and len(minutes) > 1:
        minutes = minutes[1:] if half else minutes[:1]
    return tuple(Reading(minute=time) for time in minutes)


def _read_measure(
    items: Sequence[Item], index: int, quantity: Quantity, folded: str, lexicon: Lexicon, reached: int
) -> Extract | None:
    before, after = find_unit(items, quantity, index, folded)
    unit, start, end = None, quantity.start, quantity.end
    if (
        before is not None
        and before.start >= reached
        and (
            before.unit in _BEFORE_ONLY
            or folded[before.start : before.end] in SIGNS
            or (lexicon.language in _UNIT_FIRST and before.end - before.start > 1)
            or before.unit in ("century", "decade")
        )
    ):
        unit, start = before.unit, before.start
        if unit == "mo" and lexicon.language == "vi":
            unit = "month"
    decade = _DECADE.match(folded, quantity.end) if quantity.end - quantity.start in (2, 3, 4) else None
    if decade is not None and after is not None and after.start < decade.end():
        after = None
    if after is not None and (unit is None or after.unit == "century"):
        unit, end = after.unit, after.end
        quantity.following += 1
    if quantity.roman and unit != "century" and quantity.end - quantity.start < 2:
        return None
    quantities = _list_quantities(quantity, unit, folded, lexicon)
    if _HALF_AFTER.match(folded, end):
        quantities += tuple(reading + Fraction(1, 2) for reading in quantities)
    readings = tuple(Reading(quantity=reading, unit=unit) for reading in quantities)
    if multiplier := _SHORT_SCALE.match(folded, quantity.end):
        factor = _SHORT_SCALES[multiplier.group().strip()]
        readings += tuple(
            Reading(quantity=reading * factor, unit=unit if unit in CURRENCIES else None) for reading in quantities
        )
    half = _find_half(items, index, quantity.following, folded)
    if unit == "clock" or (half is not None and quantities[0] <= 24 and unit in (None, "h")):
        hours = [quantity for quantity in quantities if quantity <= 24]
        readings += tuple(time for hour in hours for time in _list_times(int(hour * 60), half))
    if unit is None and _RANGE_OF_MONTHS.match(folded, quantity.end):
        readings = tuple(Reading(quantity=reading, unit="month") for reading in quantities)
    if lexicon.language == "zh" and folded.startswith("成", end):
        readings += tuple(Reading(quantity=reading * 10, unit="%") for reading in quantities)
    readings += _read_hours_and_minutes(folded[quantity.start : quantity.end])
    if unit is None and quantity.end - quantity.start <= 2 and _is_dated(folded, quantity.start, quantity.end):
        readings += tuple(Reading(month=int(reading)) for reading in quantities if 1 <= reading <= 12)
    fraction = _FRACTION.search(folded, max(0, start - 3), start) is not None
    return start, end, _name_kind(quantity, unit, readings), readings, _name_freedom(quantity, unit, fraction=fraction)


def _read_hours_and_minutes(written: str) -> tuple[Reading, ...]:
    """``2.30`` may be a time."""
    match = _POINTED_TIME.fullmatch(written)
    return _list_times(int(match.group(1)) * 60 + int(match.group(2)), None) if match else ()


def _is_dated(folded: str, start: int, end: int) -> bool:
    """Whether digits are part of a date in digits."""
    return any(
        match.start() <= start and end <= match.end()
        for match in _DATE_IN_DIGITS.finditer(folded, max(0, start - 10), end + 10)
    )


def _name_freedom(quantity: Quantity, unit: str | None, *, fraction: bool) -> Freedom:
    if quantity.vague:
        return "vague"
    covid = quantity.code and quantity.quantities[0] == 19
    if (quantity.roman and unit != "century") or fraction or covid:
        return "free"
    return "spelled" if quantity.spelled or quantity.roman else "written"


def _list_quantities(quantity: Quantity, unit: str | None, folded: str, lexicon: Lexicon) -> tuple[Fraction, ...]:
    """All that the number may mean as a year: 96 after 1995-, 90s, the years of Thai and Japanese eras."""
    quantities = list(quantity.quantities)
    if quantity.roman or quantities[0].denominator != 1:
        return tuple(quantities)
    first = int(quantities[0])
    decade = (
        quantity.decade
        or unit == "decade"
        or _DECADE.match(folded, quantity.end) is not None
        or _DECADE_BEFORE.search(folded, max(0, quantity.start - 24), quantity.start) is not None
    )
    if decade and 10 <= first < 100 and first % 10 == 0:
        quantities.append(Fraction(1900 + first))
    written = folded[quantity.start : quantity.end]
    if len(written) == 2 and (
        pair := regex.search(r"(?<!\d)(\d{2})\d{2}[-/]$", folded[max(0, quantity.start - 6) : quantity.start])
    ):
        quantities.append(Fraction(int(pair.group(1)) * 100 + first))
    if lexicon.language == "th" and 2300 <= first <= 2650:
        quantities.append(Fraction(first - 543))
    era = folded[max(0, quantity.start - 2) : quantity.start]
    if era in _ERAS:
        quantities.append(Fraction(_ERAS[era] + first))
    return tuple(quantities)


def _name_kind(quantity: Quantity, unit: str | None, readings: tuple[Reading, ...]) -> AmountKind:
    if readings[-1].minute is not None and unit in (None, "clock", "h") and (unit or readings[0].quantity is None):
        return "time"
    if unit in ("%", "‰"):
        return "percent"
    if unit in CURRENCIES:
        return "money"
    if unit == "month":
        return "date"
    if unit == "century" or quantity.ordinal or quantity.roman or quantity.code:
        return "ordinal"
    return "measure" if unit is not None else "number"
