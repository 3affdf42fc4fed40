"""Times of day: with a colon, with a point, with an h between hour and minutes, and with the half of the day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import itemgetter

import regex

from dragoman.checking.amounts.amount import Reading
from dragoman.checking.amounts.lexing import Item

__all__ = [
    "find_half",
    "find_quarters",
    "list_clock_hours",
    "list_times",
    "read_clock",
    "read_half_hour",
    "read_hours_and_minutes",
    "read_quarter",
]

_POINTED_TIME = regex.compile(r"(\d|1\d|2[0-3])\.([0-5]\d)")
_CLOCK = regex.compile(r"(?:[:：]|(?<=\d)(?P<hours> ?h ?))(\d{2})(?:[:：]\d{2})?(?![\d:]|[.,]\d)")
_BEFORE_HALF = frozenset({"de", "nl", "af", "sv", "da", "nb", "lb"})
"""Languages whose *half six* is half past five."""
FoundTime = tuple[int, int, tuple[Reading, ...]]
"""The last token of a time, its minute, and what else it may be read as."""
_QUARTER_BEFORE = {
    "de": {"viertel vor ": -15, "viertel nach ": 15},
    "en": {"quarter to ": -15, "quarter past ": 15, "quarter after ": 15, "quarter before ": -15},
}
_QUARTER_AFTER = {
    "es": regex.compile(r" (?:y|(?P<before>menos)) cuarto(?!\p{L}| de)"),
    "fr": regex.compile(r" ?h(?:eures?)? (?:et|(?P<before>moins le)) quart(?!\p{L})"),
}
_QUARTERS = {
    "de": regex.compile(r"(?:eine[rn]? )?(?P<three>(?:drei|3)[ -]?)?viertel[ -]?stunden?(?!\p{L})"),
    "en": regex.compile(r"(?:a |one )?(?P<three>(?:three|3)[ -])?quarters? of an hour(?!\p{L})"),
    "fr": regex.compile(r"(?:(?P<three>(?:trois|3) quarts)|un quart) d'heure(?!\p{L})"),
    "es": regex.compile(r"(?:(?P<three>(?:tres|3) cuartos)|un cuarto) de hora(?!\p{L})"),
}
_FARTHEST_HALF = 12
"""Code points between a time and the half of its day."""
_NIGHT = 18
"""A half of the day that ends in the other one: ten at night is p.m., two at night a.m."""


def read_clock(items: Sequence[Item], index: int, folded: str) -> tuple[int, int, tuple[Reading, ...], int] | None:
    """End, minute of the day, other readings and next token of a time with a colon or an h; ``2 h 30`` may last so."""
    token = items[index]
    if not token.quantities or token.roman or not folded[token.start : token.end].isdecimal():
        return None
    match = _CLOCK.match(folded, token.end)
    hour = int(token.quantities[0]) if token.end - token.start <= 2 else 99
    if match is None or hour > 24 or int(match.group(2)) > 59:
        return None
    following = index + 1
    while following < len(items) and items[following].start < match.end():
        following += 1
    minute = hour * 60 + int(match.group(2))
    lasting = (Reading(quantity=Fraction(minute, 60), unit="h"),) if match.group("hours") else ()
    return match.end(), minute, lasting, following


def read_half_hour(items: Sequence[Item], index: int, folded: str, language: str) -> FoundTime | None:
    """Place and minute of *halb sechs* or *half past five* that begins at token ``index``: the hour's token ends it."""
    hour = items[index + 1] if index + 1 < len(items) else None
    half = items[index].numbers
    if hour is None or len(half) != 1 or half[0].quantity != Fraction(1, 2) or len(hour.numbers) != 1:
        return None
    word, gap = hour.numbers[0], folded[items[index].end : hour.start]
    if word.scale or word.ordinal or not 1 <= word.quantity <= 12:
        return None
    if language in _BEFORE_HALF and gap == " ":
        return index + 1, int(word.quantity) * 60 - 30, ()
    return (index + 1, int(word.quantity) * 60 + 30, ()) if language == "en" and gap == " past " else None


def read_quarter(items: Sequence[Item], index: int, folded: str, language: str) -> FoundTime | None:
    """Place, minute and hour of *Viertel vor neun* or *ocho y cuarto* that begins at token ``index``."""
    first = items[index]
    if language in _QUARTER_BEFORE:
        following = items[index + 1] if index + 1 < len(items) else None
        minutes = _QUARTER_BEFORE[language].get(folded[first.start : following.start]) if following else None
        hour = _read_hour(following) if following and minutes else None
        return (index + 1, hour * 60 + (minutes or 0), (Reading(quantity=Fraction(hour)),)) if hour else None
    hour = _read_hour(first) if language in _QUARTER_AFTER else None
    match = _QUARTER_AFTER[language].match(folded, first.end) if hour else None
    if hour is None or match is None:
        return None
    last = index
    while last + 1 < len(items) and items[last + 1].start < match.end():
        last += 1
    minute = hour * 60 + (-15 if match.group("before") else 15)
    return last, minute, (Reading(quantity=Fraction(hour)),)


def _read_hour(token: Item) -> int | None:
    """A number from 1 to 12, in digits or words."""
    quantities = token.quantities or tuple(word.quantity for word in token.numbers if not word.ordinal)
    if len(quantities) != 1 or quantities[0] not in range(1, 13):
        return None
    return int(quantities[0])


def find_quarters(folded: str, start: int, language: str) -> tuple[int, tuple[Reading, ...]] | None:
    """End and readings of quarters of an hour that begin here: drei Viertelstunden."""
    match = _QUARTERS[language].match(folded, start) if language in _QUARTERS else None
    if match is None:
        return None
    count = 3 if match.group("three") else 1
    minutes = Reading(quantity=Fraction(count * 15), unit="min")
    # another language may say it in words of its own, of which only the number is read
    said = Reading(quantity=Fraction(count)) if count > 1 else Reading(quantity=Fraction(4))
    return match.end(), (minutes, Reading(quantity=Fraction(count, 4), unit="h"), said)


def find_half(items: Sequence[Item], index: int, following: int, folded: str) -> int | None:
    """The half of the day that is named beside a time: the nearest one that belongs to no other."""
    near: list[tuple[int, int]] = []
    for place in (following, index - 1, following + 1):
        if not 0 <= place < len(items):
            continue
        half = items[place].half
        if half is None:
            continue
        if place >= following:
            if _belongs_after(items, place, following):
                continue
            gap = items[place].start - items[following - 1].end
        else:
            if _belongs_before(items, place):
                continue
            gap = items[index].start - items[place].end
        near.append((gap, half))
    gap, half = min(near, key=itemgetter(0), default=(_FARTHEST_HALF + 1, None))
    return half if gap <= _FARTHEST_HALF else None


def _belongs_before(items: Sequence[Item], place: int) -> bool:
    """Whether a half before a time is that of the time before it: at 1pm two vans."""
    before = items[place - 1] if place else None
    return before is not None and bool(before.quantities) and items[place].start <= before.end + 1


def _belongs_after(items: Sequence[Item], place: int, following: int) -> bool:
    """Whether a half after a time is nearer to the hour after it: from 9 in the morning to 6, 上午9点到下午6点."""
    after = items[place + 1] if place + 1 < len(items) else None
    if after is None or not (after.quantities or after.numbers):
        return False
    return after.start - items[place].end < items[place].start - items[following - 1].end


def list_times(minute: int, half: int | None) -> tuple[Reading, ...]:
    """The minutes of the day that a time may mean, with the half of the day if it is known."""
    minutes = [minute] if minute >= 780 or (minute < 60 and half is None) else [minute % 720, minute % 720 + 720]
    if half == _NIGHT:
        half = 12 if minute % 720 >= 5 * 60 else 0
    if half is not None and len(minutes) > 1:
        minutes = minutes[1:] if half else minutes[:1]
    return tuple(Reading(minute=time) for time in minutes)


def read_hours_and_minutes(written: str) -> tuple[Reading, ...]:
    """``2.30`` may be a time."""
    match = _POINTED_TIME.fullmatch(written)
    return list_times(int(match.group(1)) * 60 + int(match.group(2)), None) if match else ()


def list_clock_hours(quantities: Iterable[Fraction], unit: str | None) -> tuple[Reading, ...]:
    """Hours after noon may be a time: ``17h`` is five, as ``17 часов``."""
    hours = [int(quantity) for quantity in quantities if 12 < quantity <= 24 and quantity.denominator == 1]
    return tuple(Reading(minute=hour * 60) for hour in hours) if unit == "h" else ()
