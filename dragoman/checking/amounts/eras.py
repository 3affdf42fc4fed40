"""Eras that are written beside a year or century: 44 v. Chr., AD 44, 公元前221年."""

from __future__ import annotations

import regex

from dragoman.checking.amounts.amount import Era
from dragoman.checking.amounts.folding import fold_text

__all__ = ["find_era", "is_era"]

_BEFORE_CHRIST = (
    r"v\. ?chr|vor chr|v\. ?u\. ?z|vor unserer zeit|b\. ?c\b|bce?\b|b\.c\.e|av\. ?j|avant j|avant notre ère"
    r"|a\. ?(?:de )?c\b|antes de (?:cristo|nuestra era|la era)|avanti cristo|до н\. ?[эе]|до нашей эры|до нашої ери"
    r"|π\. ?χ|προ χριστου|قبل المیلاد|ق\. ?م|قبل از میلاد|پیش از میلاد|ईसा पूर्व|ई\. ?पू|ई\.? ?पूर्व|ก่อนคริสต|ก่อน ค\.ศ"
)
_AFTER_CHRIST = (
    r"n\. ?chr|nach chr|n\. ?u\. ?z|a\. ?d\b|ad\b|ce\b|c\. ?e\b|ap(?:r|\.)? ?j\.|après j|d\. ?c\b|después de cristo"
    r"|dopo cristo|н\. ?[эе]|нашей эры|нашої ери|μ\. ?χ|μετα χριστον|میلادی|بعد المیلاد|ईस्वी|ค\.ศ"
)
_BETWEEN = (
    r"[ ,]{0,2}(?:(?:g|r|г|гг|год|года|году|годы|годов|р|році|year|years|jahre?|ans?|años?|سنه|عام|عاما|ปี|साल)\.? ?)?"
)
"""Between a number and its era: a word for the year."""
_AFTER_NUMBER = regex.compile(
    rf"{fold_text(_BETWEEN)}(?:(?P<bc>{fold_text(_BEFORE_CHRIST)})|(?P<ad>{fold_text(_AFTER_CHRIST)}))"
)
_BEFORE_NUMBER = regex.compile(
    r"(?:(?P<bc>公元前|西元前|紀元前)|(?P<ad>公元|西元|西暦|(?<!\p{L})(?:a\.? ?d\.?|anno domini) ))(?:第)? ?$"
)


def find_era(folded: str, start: int, end: int) -> Era | None:
    """Whether a number in folded text is counted from Christ backwards or on; None where nothing says it."""
    match = _BEFORE_NUMBER.search(folded, max(0, start - 14), start) or _AFTER_NUMBER.match(folded, end)
    if match is None:
        return None
    return "BC" if match.group("bc") else "AD"


def is_era(folded: str, start: int) -> bool:
    """Whether an era begins here, and no unit: the v of v. Chr. is no volt."""
    return _AFTER_NUMBER.match(folded, start) is not None
