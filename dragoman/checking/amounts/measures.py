"""What stands around a number: its unit before or after, a minus, and what no article could stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import regex

from dragoman.checking.amounts.dates import DECADE
from dragoman.checking.amounts.eras import is_era
from dragoman.checking.amounts.lexical.lexicon import Lexicon
from dragoman.checking.amounts.lexing import Item
from dragoman.checking.amounts.parsing import Quantity, find_unit
from dragoman.checking.amounts.units import CURRENCIES, SIGNS, classify

__all__ = [
    "find_compound_unit",
    "find_feet",
    "find_scaled_currency",
    "find_sign",
    "find_split_decimal",
    "find_unit_after",
    "find_unit_before",
    "is_joined",
]

_BEFORE_ONLY = CURRENCIES | {"%"}
_UNIT_FIRST = frozenset({"sw", "vi", "th", "id", "ms", "lo", "km"})
"""Languages that write hour, day or year before the number as well."""
_DEFINITE = "ال"
"""The article of Arabic: of the twelve months both words have it, and the months come first."""
_SCALED_CURRENCY = regex.compile(r" ?(mds|md|mrd|mio|mm|m|k|bn) ?([$€£¥₽₹])(?!\d)")
_SCALES = {"m": 10**6, "mio": 10**6, "mm": 10**6, "k": 10**3, "bn": 10**9, "md": 10**9, "mds": 10**9, "mrd": 10**9}
_FEET = regex.compile(
    r"(?<![\d.,])(\d{1,2}) ?(?:'|ft\.?(?!\p{L})|feet|foot|-foot-?)[ \-]{0,2}"
    r"([0-9]|1[01]) ?(?:\"|''|in(?:ch(?:es)?)?(?!\p{L}))"
)
_SPLIT_DECIMAL = regex.compile(r"(?<![\d.,])(\d{1,6})([€$£]|(?<=(?<!\d)[12])m)(\d{2})(?![\d.,]\d|\d|\p{L})")
_SLAVIC = (
    ("лет", "y"), ("год", "y"), ("літ", "y"), ("дневн", "d"), ("денн", "d"), ("недел", "wk"), ("тижн", "wk"),
    ("месячн", "mo"), ("місячн", "mo"), ("часов", "h"), ("годинн", "h"), ("минутн", "min"), ("хвилинн", "min"),
    ("секундн", "s"), ("процентн", "%"), ("відсотков", "%"), ("километров", "km"), ("кілометров", "km"),
    ("метров", "m"),
)  # fmt: skip
_COMPOUND_UNITS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "de": (
        ("jahrig", "y"), ("jährig", "y"), ("tägig", "d"), ("wöchig", "wk"), ("monatig", "mo"), ("stündig", "h"),
        ("minütig", "min"), ("sekündig", "s"), ("prozentig", "%"),
    ),
    "nl": (("jarig", "y"), ("daags", "d"), ("procents", "%")),
    "sv": (("årig", "y"), ("procentig", "%")),
    "ru": _SLAVIC,
    "uk": _SLAVIC,
    "el": (("χρον", "y"), ("ετη", "y"), ("ετο", "y"), ("ημερ", "d"), ("μηνη", "mo"), ("μηνο", "mo"), ("ωρη", "h"),
           ("ωρο", "h"), ("λεπτο", "min")),
}  # fmt: skip
"""What a word that holds a number measures: dreijährig, сорокалетний, 15-prozentig."""
_ENDING = r"\p{L}{0,4}$"
_COMPOUNDS = {
    language: regex.compile(rf"(?:{'|'.join(stem for stem, _ in units)}){_ENDING}")
    for language, units in _COMPOUND_UNITS.items()
}
_REST_OF_WORD = regex.compile(r"-?[\p{L}\p{M}]*")
_SIGN = regex.compile(r"(?<![\d%°]|[\d%°] ?[cf]?[ ])-$")
_CERTAIN_SIGN = regex.compile(
    r"(?:^|[(\[=<>«“\"]|(?<!\p{L})(?:from|to|between|and|von|bis|zwischen|und|de|à|a|y|et|от|до|из|απο|εωσ|μεχρι"
    r"|من|الی|से|तक) )-$"
)
"""Elsewhere a hyphen before a number may be a dash: COVID -19."""
_MINUS = regex.compile(
    r"(?:^|[^\p{L}])(?:minus|negative|минус|мінус|μειον|سالب|ناقص|منفی|माइनस|ऋण|ऋणात्मक|ติดลบ|ลบ) ?$|शून्य से $"
    r"|(?:マイナス|负|負|零下|氷点下|ติดลบ|ลบ) ?$"
    r"|(?<!(?:al|au|du|lo|pelo|o|els) )(?<!\p{L})(?:moins|menos|meno|minus) $"
)
"""Where degrees follow; *al menos* and *au moins* are at least."""
_BELOW_ZERO = regex.compile(
    r" (?:degrees? )?(?:below (?:zero|freezing)|unter null|unter dem gefrierpunkt|au-dessous de zéro|sous zéro"
    r"|en dessous de zéro|bajo cero|sotto zero|abaixo de zero|ниже нуля|нижче нуля|υπο το μηδεν|κατω απο το μηδεν"
    r"|تحت الصفر|शून्य से नीचे)"
)
_JOINED_BEFORE = regex.compile(r"(?<!\d)(\d{1,3})(?:[:&/]|対|比|(-))$")
_JOINED_AFTER = regex.compile(r"(?:[:&/]|対|比|(-))(\d{1,3})(?!\d)|[a-zа-я](?!\p{L})")


def find_unit_before(
    items: Sequence[Item], quantity: Quantity, index: int, folded: str, reached: int, lexicon: Lexicon
) -> Item | None:
    """The token before a number that is its unit, and none of what was read up to ``reached``."""
    token = items[index - 1] if index else None
    if token is None or not token.unit or token.start < reached:
        return None
    if lexicon.language == "ar" and _is_definite(token, quantity, folded):
        return token
    before = find_unit(items, quantity, index, folded)[0]
    if before is None:
        return None
    first = (
        before.unit in _BEFORE_ONLY
        or folded[before.start : before.end] in SIGNS
        or (lexicon.language in _UNIT_FIRST and before.end - before.start > 1)
        or before.unit in ("century", "decade")
    )
    return before if first else None


def _is_definite(token: Item, quantity: Quantity, folded: str) -> bool:
    """Whether an Arabic noun and the number after it both have an article: السنوات الثلاث, الأشهر الـ 12."""
    gap = folded[token.end : quantity.start]
    if not folded.startswith(_DEFINITE, token.start) or classify(token.unit) != "time" or quantity.quantities[0] < 2:
        return False
    return gap.strip() == _DEFINITE or (gap == " " and folded.startswith(_DEFINITE, quantity.start))


def find_unit_after(items: Sequence[Item], quantity: Quantity, index: int, folded: str) -> Item | None:
    """The token after a number that is its unit; an s after a year makes it a decade."""
    after = find_unit(items, quantity, index, folded)[1]
    if after is not None and is_era(folded, after.start):
        return None
    decade = DECADE.match(folded, quantity.end) if quantity.end - quantity.start in (2, 3, 4) else None
    return None if decade is not None and after is not None and after.start < decade.end() else after


def find_scaled_currency(folded: str, end: int) -> tuple[int, int, str] | None:
    """Where ``M€`` after a number ends, what it multiplies by, and the currency."""
    match = _SCALED_CURRENCY.match(folded, end)
    return (match.end(), _SCALES[match.group(1)], SIGNS[match.group(2)]) if match else None


def find_feet(folded: str, start: int) -> tuple[int, Fraction] | None:
    """Where feet and inches that begin here end, and how many feet they are: 5'10", 6 ft 2 in."""
    match = _FEET.match(folded, start)
    return (match.end(), int(match.group(1)) + Fraction(int(match.group(2)), 12)) if match else None


def find_split_decimal(folded: str, start: int) -> tuple[int, Fraction, str] | None:
    """End, quantity and unit of a decimal that has its unit in the middle: 19€99, 1m80."""
    match = _SPLIT_DECIMAL.match(folded, start)
    if match is None:
        return None
    unit = SIGNS.get(match.group(2), "m")
    return match.end(), Fraction(int(match.group(1) + match.group(3)), 100), unit


def find_compound_unit(quantity: Quantity, folded: str, lexicon: Lexicon) -> str | None:
    """The unit that is one word with its number."""
    pattern = _COMPOUNDS.get(lexicon.language)
    if pattern is None or quantity.roman:
        return None
    rest = _REST_OF_WORD.match(folded, quantity.end)
    word = folded[quantity.start : rest.end() if rest else quantity.end]
    match = pattern.search(word)
    if match is None or match.start() == 0:
        return None
    return next(unit for stem, unit in _COMPOUND_UNITS[lexicon.language] if match.group().startswith(stem))


def find_sign(folded: str, start: int, end: int, unit: str | None) -> tuple[int, ...]:
    """The signs that a number may have: -1 after a minus or before *below zero*, both where a hyphen may be a dash."""
    before = max(0, start - 12)
    hyphen = _SIGN.search(folded, before, start) is not None and folded[start].isdecimal()
    if classify(unit) == "temperature":
        minus = hyphen or _BELOW_ZERO.match(folded, end) or _MINUS.search(folded, before, start)
        return (-1,) if minus else (1,)
    if unit is not None or not hyphen:
        return (1,)
    return (-1,) if _CERTAIN_SIGN.search(folded, before, start) else (1, -1)


def is_joined(folded: str, start: int, end: int) -> bool:
    """Whether digits are joined to others or to a letter, as in a score or a code: 2:1, 3-0, 1a; 1-2 is a range."""
    written = folded[start:end]
    if not written.isdecimal():
        return False
    before, after = _JOINED_BEFORE.search(folded, max(0, start - 4), start), _JOINED_AFTER.match(folded, end)
    if before is not None and (before.group(2) is None or int(before.group(1)) >= int(written)):
        return True
    return after is not None and (after.group(1) is None or int(written) >= int(after.group(2)))
