"""What numbers mean as years, decades and parts of dates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import regex

from dragoman.checking.amounts.amount import Reading
from dragoman.checking.amounts.folding import fold_text
from dragoman.checking.amounts.lexical.lexicon import Lexicon
from dragoman.checking.amounts.lexing import Item
from dragoman.checking.amounts.parsing import Quantity

__all__ = ["DECADE", "is_dated", "is_day", "is_plain_word", "list_others", "list_quantities"]

DECADE = regex.compile(r"(?:'?s|-?ern?|-?(?:х|ых|ті|ти|те)|'?(?:lar|ler|lı|li))(?!\p{L})| ?[年년]?[代대](?!表)|ها")
"""What follows a decade in digits."""
_DECADE_BEFORE = regex.compile(
    r"(?:décadas?|années|anos|años|anni|jahre|década|δεκαετι(?:α|ασ|εσ|ων)|десятилет\p{L}+|thập niên"
    r"|thập kỷ|tahun|ทศวรรษ(?:ที่)?)(?: \p{L}{1,3}){0,2}['\" ]*$"
)
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民国": 1911, "民國": 1911}
_DUALS = frozenset(map(fold_text, ("ألفا", "مليونا", "مليارا")))
"""Two thousand before a noun, and in another case one thousand."""
_DATE_IN_DIGITS = regex.compile(
    r"(?<!\d)\d{1,4}([./-])\d{1,2}\1\d{2,4}(?!\d)|(?<!\d)\d{1,2}[/.]\d{1,2}(?![\d/])"
    r"|(?<!\d)\d{1,2}\. \d{1,2}\. \d{4}(?!\d)"
)
_CAPITAL_MONTHS = frozenset({"en", "tr"})
"""Languages that write months with a capital, and have some that are common words."""
_BESIDE_MONTH = regex.compile(r"(?:st|nd|rd|th|er|\.|º|ª|η|ησ)?[ .,]{0,2}(?:(?:of|de|di|d'|del|den|the|ngày|tháng) ?)?")
"""Between a day and its month."""


def list_quantities(quantity: Quantity, unit: str | None, folded: str, lexicon: Lexicon) -> tuple[Fraction, ...]:
    """All that the number may mean as a year: 96 after 1995-, 90s, the years of Thai and Japanese eras."""
    quantities = list(quantity.quantities)
    if quantity.roman or quantities[0].denominator != 1:
        return tuple(quantities)
    first = int(quantities[0])
    decade = (
        quantity.decade
        or unit == "decade"
        or DECADE.match(folded, quantity.end) is not None
        or _DECADE_BEFORE.search(folded, max(0, quantity.start - 24), quantity.start) is not None
    )
    if decade and 10 <= first < 100 and first % 10 == 0:
        quantities.append(Fraction(1900 + first))
    written = folded[quantity.start : quantity.end]
    if len(written) == 2 and (
        pair := regex.search(r"(?<!\d)(\d{2})\d{2}[-/~至]$", folded[max(0, quantity.start - 6) : quantity.start])
    ):
        quantities.append(Fraction(int(pair.group(1)) * 100 + first))
    if lexicon.language == "th" and 2300 <= first <= 2650:
        quantities.append(Fraction(first - 543))
    if lexicon.language == "ar" and quantity.spelled and folded[quantity.start : quantity.end] in _DUALS:
        quantities.append(Fraction(2 * first))
    era = folded[max(0, quantity.start - 2) : quantity.start]
    if era in _ERAS:
        quantities.append(Fraction(_ERAS[era] + first))
    return tuple(quantities)


def list_others(token: Item, quantity: Quantity | None) -> tuple[Reading, ...]:
    """What a month or a weekday means besides: Τρίτη is the third, too."""
    if quantity is None or not token.numbers:
        return ()
    return tuple(Reading(quantity=reading) for reading in quantity.quantities)


def is_plain_word(token: Item, items: Sequence[Item], index: int, folded: str, lexicon: Lexicon) -> bool:
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
    numbers = [other for other in near if other.quantities and not (other.roman or other.code)]
    return not any(max(other.start - token.end, token.start - other.end) <= 4 for other in numbers)


def is_dated(folded: str, start: int, end: int) -> bool:
    """Whether digits are part of a date in digits."""
    return any(
        match.start() <= start and end <= match.end()
        for match in _DATE_IN_DIGITS.finditer(folded, max(0, start - 10), end + 10)
    )


def is_day(items: Sequence[Item], index: int, following: int, folded: str) -> bool:
    """Whether the number of tokens ``index`` to ``following`` is a day beside its month: 1 March, le 1er mai."""
    if following < len(items) and items[following].month is not None:
        return _BESIDE_MONTH.fullmatch(folded, items[following - 1].end, items[following].start) is not None
    before = items[index - 1] if index else None
    if before is None or before.month is None:
        return False
    return _BESIDE_MONTH.fullmatch(folded, before.end, items[index].start) is not None
