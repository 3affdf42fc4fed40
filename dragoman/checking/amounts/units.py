"""Units: what each measures, how much of it, and whether two amounts say the same."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["CURRENCIES", "SIGNS", "SPEEDS", "agree", "are_roundings", "classify", "convert", "equals_converted"]

SIGNS = {
    "%": "%", "‰": "‰", "$": "USD", "€": "EUR", "£": "GBP", "¥": "¥", "₹": "INR", "₽": "RUB", "₺": "TRY", "₩": "KRW",
    "₪": "ILS", "฿": "THB", "₫": "VND", "₴": "UAH", "₦": "NGN", "৳": "BDT", "°": "°", "℃": "°C", "℉": "°F", "㎞": "km",
    "㎏": "kg", "㎡": "m²", "㎝": "cm", "㎜": "mm", "㍍": "m", "㌔": "kilo", "﷼": "IRR",
}  # fmt: skip
_CURRENCIES = """
USD EUR GBP JPY CNY INR RUB KRW TRY BRL THB VND IDR IRR IRT ILS SAR EGP PKR CHF CAD AUD MXN SEK NOK DKK PLN CZK HUF UAH
ZAR NGN KES TZS BGN RON BDT AED HKD SGD TWD NZD ARS cent penny kopeck ¥ 元
"""
CURRENCIES = frozenset(_CURRENCIES.split())

_MEASURES: dict[str, dict[str, str]] = {
    "length": {"m": "1", "km": "1000", "cm": "1/100", "mm": "1/1000", "mi": "1609.344", "ft": "0.3048", "in": "0.0254",
               "yd": "0.9144", "nmi": "1852", "ly": "9460730472580800"},
    "mass": {"g": "1", "kg": "1000", "mg": "1/1000", "t": "1000000", "lb": "453.59237", "oz": "28.349523"},
    "volume": {"l": "1", "ml": "1/1000", "gal": "3.785411784", "m³": "1000", "km³": "1000000000000",
               "ft³": "28.316846592"},
    "area": {"m²": "1", "km²": "1000000", "mi²": "2589988.110336", "ha": "10000", "acre": "4046.8564224",
             "ft²": "0.09290304"},
    "speed": {"m/s": "1", "km/h": "5/18", "mph": "0.44704", "kn": "0.514444", "km/s": "1000", "km/min": "50/3",
              "m/min": "1/60", "m/h": "1/3600", "mi/s": "1609.344", "mi/min": "26.8224"},
    "time": {"s": "1", "min": "60", "h": "3600", "d": "86400", "wk": "604800", "mo": "2629746", "y": "31556952",
             "decade": "315569520", "century": "3155695200"},
    "data": {"bit": "1/8", "B": "1", "kB": "1000", "MB": "1000000", "GB": "1000000000", "TB": "1000000000000"},
    "power": {"W": "1", "kW": "1000", "MW": "1000000", "GW": "1000000000", "hp": "735.49875"},
    "energy": {"J": "1", "kWh": "3600000", "cal": "4.184", "kcal": "4184"},
    "frequency": {"Hz": "1", "kHz": "1000", "MHz": "1000000", "GHz": "1000000000"},
    "share": {"%": "1", "‰": "1/10"},
}  # fmt: skip
_FACTORS = {
    unit: (dimension, Fraction(factor)) for dimension, units in _MEASURES.items() for unit, factor in units.items()
}
_ALIKE = (
    {"lb", "GBP", "EGP"}, {"°", "°C", "°F"}, {"kilo", "km", "kg"},
    {"USD", "AUD", "CAD", "NZD", "HKD", "SGD", "TWD", "MXN"},
    {"INR", "PKR", "IDR"}, {"clock", "h"}, {"元", "CNY"}, {"元", "JPY"}, {"元", "USD", "HKD", "TWD"},
    {"¥", "JPY", "CNY"}, {"¥", "元"}, {"IRR", "IRT"}, {"mo", "month"},
    {"s", "clock"}, {"century", "y"}, {"decade", "y"},
    {"kilo", "km", "km/h"}, {"kilo", "km", "km/s"}, {"kilo", "km", "km/min"}, {"mi", "mph"}, {"mi", "mi/s"},
    {"mi", "mi/min"}, {"m", "m/s"}, {"m", "m/min"}, {"m", "m/h"},
)  # fmt: skip
"""Units that one word names: pounds, degrees, kilos, dollars, yuan; a day that is counted and one of a month."""
SPEEDS = {("mi", "h"): "mph"} | {
    (length, time): f"{'km' if length == 'kilo' else length}/{time}"
    for length, times in (("km", "h min s"), ("kilo", "h min s"), ("m", "s min h"), ("mi", "s min"))
    for time in times.split()
}
"""What a length in a time is: kilometres an hour."""
_TOLERANCE = Fraction(3, 100)
_FINEST = Fraction(1, 10**6)


def classify(unit: str | None) -> str | None:
    """What a unit measures; None for one that isn't read."""
    if unit is None:
        return None
    if unit in CURRENCIES:
        return "money"
    if unit in ("°C", "°F", "°"):
        return "temperature"
    return _FACTORS[unit][0] if unit in _FACTORS else unit


def agree(first: str | None, second: str | None) -> bool:
    """Whether the same quantity of both may be the same amount."""
    if first is None or second is None or first == second:
        return True
    return any(first in alike and second in alike for alike in _ALIKE)


def convert(quantity: Fraction, unit: str | None, other: str | None) -> Fraction | None:
    """``quantity`` of ``unit`` in the other unit; None where they don't measure the same."""
    if unit is None or other is None:
        return None
    if (unit, other) == ("°C", "°F"):
        return quantity * 9 / 5 + 32
    if (unit, other) == ("°F", "°C"):
        return (quantity - 32) * 5 / 9
    if unit in _FACTORS and other in _FACTORS and _FACTORS[unit][0] == _FACTORS[other][0]:
        return quantity * _FACTORS[unit][1] / _FACTORS[other][1]
    return None


def equals_converted(quantity: Fraction, unit: str | None, other_quantity: Fraction, other: str | None) -> bool:
    """Whether both are the same measure but for rounding."""
    if unit == other:
        return False
    converted, rounding = convert(quantity, unit, other), convert(_round(quantity), unit, other)
    if converted is None or rounding is None:
        return False
    if classify(unit) == "temperature":
        rounding = _round(quantity) * 2
    least = _TOLERANCE * max(abs(other_quantity), Fraction(1))
    return abs(converted - other_quantity) <= min(least, rounding + _round(other_quantity))


def _round(quantity: Fraction) -> Fraction:
    """Half of what the last digit counts that is no zero: how much of a quantity may be rounded off."""
    if not quantity:
        return Fraction(1, 2)
    place = Fraction(1)
    while quantity % (place * 10) == 0:
        place *= 10
    while quantity % place and place > _FINEST:
        place /= 10
    return place / 2


def are_roundings(first: Fraction, second: Fraction) -> bool:
    """Whether one is the other with fewer digits, or their last digits differ by one."""
    finer, coarser = sorted((2 * _round(first), 2 * _round(second)))
    if abs(first - second) <= finer:
        return True
    return round(first / coarser) == round(second / coarser)
