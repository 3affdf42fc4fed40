"""The cells of a table: terms without annotations, several translations in one cell, and numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import regex

from dragoman.lexicon.formats.items import Limits, RawEntry, Rejected, Rejection, quote

P_TS = "P(target|source)"
P_ST = "P(source|target)"

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
_PERCENT = re.compile(r"\s*%$")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOTHING = frozenset(
    [
        "n/a",
        "n.a.",
        "n.a",
        "na/na",
        "#n/a",
        "#name?",
        "#ref!",
        "#value!",
        "#null!",
        "#div/0!",
        "#num!",
        "#nv",
        "k.a.",
        "k. a.",
        "k/a",
        "n/v",
        "n/d",
        "tbd",
        "t.b.d.",
        "(none)",
        "[none]",
        "(empty)",
        "<null>",
        "[null]",
        "\\n",
        "not available",
        "not applicable",
    ]
)
_MARKS = regex.compile(r"[\s\p{P}\p{S}]*")
_GRAMMAR = (
    r"(?:m|f|n|nt|neut|masc|fem|mf|m/f|f/m|m\.?/f\.?|f\.?/n\.?|m\.?/n\.?|pl|sg|sing|adj|adv|noun|verb|vt|vi|v|prep|conj"
    r"|pron|interj|subst|plural|singular|no pl|kein pl|sm|sf|nm|nf|mpl|fpl|npl|pl\.? ?only|only pl)"
)
_GENDER = re.compile(
    rf"\s*(?:\(\s*{_GRAMMAR}\.?(?:[,;]?\s*{_GRAMMAR}\.?)*\s*\)|\[\s*{_GRAMMAR}\.?\s*\])", re.IGNORECASE
)
_BRACES = re.compile(r"\s*\{[^{}]{0,80}\}")
_NOTES = re.compile(r"\s*(?:\[[^\[\]]{0,300}\]|<[^<>]{0,200}>)")
_PARENTHESES = re.compile(r"(?<!\S)\([^()]{0,200}\)(?!\S)")
_BULLET = re.compile(r"^(?:[-*•·–—▪◦]\s+|\(?[0-9]{1,2}[.)]\s+)")
_NUMBERED = re.compile(r"(?:^|\s)\(?[0-9]{1,2}[.)]\s+")
_STRONG = re.compile(r"\s*(?:[;；\n]|\s[|/]\s|\s‖\s)\s*")
_COMMAS = re.compile(r"\s*[,，、،]\s*")
_DIGITS_ROUND_COMMA = re.compile(r"[0-9],[0-9]")
_MOST_WORDS = 6
_MOST_TRANSLATIONS = 100
_MOSES = {
    "&#124;": "|",
    "&#91;": "[",
    "&#93;": "]",
    "&bar;": "|",
    "&bra;": "[",
    "&ket;": "]",
    "&lt;": "<",
    "&gt;": ">",
    "&apos;": "'",
    "&quot;": '"',
    "&amp;": "&",
}
_ESCAPES = re.compile("|".join(_MOSES))
_ESCAPED = {"|": "&#124;", "[": "&#91;", "]": "&#93;", "<": "&lt;", ">": "&gt;", "'": "&apos;", '"': "&quot;"}


def unescape(term: str) -> str:
    """A token with what Moses escapes as it was: ``d&apos;`` is ``d'``."""
    return _ESCAPES.sub(lambda match: _MOSES[match[0]], term) if "&" in term else term


def escape_moses(term: str) -> str:
    """A word with its marks as Moses' tokenizer escapes them."""
    return "".join(_ESCAPED.get(character, character) for character in term.replace("&", "&amp;"))


def is_nothing(cell: str) -> bool:
    """Whether a cell says that there is no term: ``n/a``, ``-``, ``?``."""
    text = cell.strip()
    if text.isalnum():
        return len(text) == 3 and text.lower() in _NOTHING
    return bool(text) and (text.lower() in _NOTHING or (len(text) <= 5 and _MARKS.fullmatch(text) is not None))


def says_nothing(cell: str) -> bool:
    """Whether a cell says in letters that there is no term; one of marks alone has no searchable word."""
    return is_nothing(cell) and _MARKS.fullmatch(cell.strip()) is None


def term_of(side: str, cell: str, limits: Limits) -> str:
    """The term of a cell.

    Raises:
        Rejected: it is empty, too long, holds what no term holds, or says that there is none.
    """
    term = cell.strip()
    if not term:
        raise Rejected(f"the {side} is empty")
    if len(term) > limits.term_characters:
        raise Rejected(f"the {side} is longer than {limits.term_characters:,} characters")
    if not term.isprintable() and (forbidden := _FORBIDDEN.search(term)):
        kind = "lone surrogate" if "\ud800" <= forbidden[0] <= "\udfff" else "control character"
        raise Rejected(f"the {side} holds the {kind} U+{ord(forbidden[0]):04X}")
    if says_nothing(term):
        raise Rejected(f"the {side} is {quote(term)}, which is no term")
    return term


def validate_entry(
    line: int, source: str, target: str, p_ts: object, p_st: object, limits: Limits
) -> RawEntry | Rejection:
    """An entry of one pair, or why it is none; a probability is None, a number, or text."""
    try:
        return RawEntry(
            line,
            term_of("source", source, limits),
            term_of("target", target, limits),
            None if p_ts is None else probability(P_TS, p_ts),
            None if p_st is None else probability(P_ST, p_st),
        )
    except Rejected as fault:
        return Rejection(line, str(fault))


def probability(name: str, content: object, decimal: str | None = ".") -> float:
    """The number between 0 and 1 that ``content`` is: a number, or text with this decimal mark (None: either one) or a
    percentage.

    Raises:
        Rejected: it is none.
    """
    figure = _parse_number(name, content, decimal)
    if 0 <= figure <= 1:
        return abs(figure)
    if not math.isfinite(figure):
        raise Rejected(f"{name} is {figure}, not a number between 0 and 1")
    if figure < 0:
        raise Rejected(f"{name} is negative: {quote(content)}")
    raise Rejected(f"{name} is over 1: {quote(content)}")


def _parse_number(name: str, content: object, decimal: str | None) -> float:
    if not isinstance(content, str):
        try:
            return float(content)  # type: ignore[arg-type]
        except OverflowError:
            return math.inf if content > 0 else -math.inf  # type: ignore[operator]
    text = content.strip()
    bare = _PERCENT.sub("", text) if "%" in text else text
    if not _NUMBER.fullmatch(bare) or (decimal is not None and (",." if decimal == "." else ".,")[0] in bare):
        if text.lstrip("+-").lower() in ("nan", "inf", "infinity"):
            raise Rejected(f"{name} is {text}, not a number between 0 and 1")
        raise Rejected(f"{name} must be a number between 0 and 1, not {quote(text)}")
    return float(bare.replace(",", ".")) / (100 if bare != text else 1)


def as_number(cell: str) -> float | None:
    """The number that a cell holds, with either decimal mark or as a percentage; None for other text."""
    text = _PERCENT.sub("", cell.strip())
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.replace(",", ".")) / (100 if "%" in cell else 1)


def without_notes(cell: str, dictionary: bool) -> str:
    """A cell without the annotations of dictionaries: ``{n}``, ``(n)``; of ``dictionary`` cells also ``[archi.]``."""
    if "{" in cell:
        cell = _BRACES.sub(" ", cell)
    if "(" in cell or "[" in cell:
        cell = _without(_GENDER, cell)
    if dictionary and any(mark in cell for mark in "[<("):
        cell = _without(_PARENTHESES, _NOTES.sub(" ", cell))
    return cell


def _without(pattern: re.Pattern[str], cell: str) -> str:
    """The cell without what the pattern finds, but where nothing else would be left."""
    rest = pattern.sub(" ", cell)
    return rest if rest.strip(" ,;/") else cell


def translations(source: str, target: str) -> tuple[list[str], list[str]]:
    """The terms of two cells. ``Herzinfarkt, Herzanfall`` beside one term is two; commas on both sides are part of
    phrases where they are as many (``Paris, Texas``); semicolons, lines and slashes with spaces always divide.
    """
    left, right = _divide(source), _divide(target)
    if len(left) == len(right) == 1:
        left_parts, right_parts = _at_commas(source), _at_commas(target)
        if len(left_parts) != len(right_parts):
            left, right = left_parts, right_parts
    else:
        left = [term for part in left for term in _at_commas(part)]
        right = [term for part in right for term in _at_commas(part)]
    return _distinct(left), _distinct(right)


def _divide(cell: str) -> list[str]:
    if _NUMBERED.search(cell) and len(parts := [part for part in _NUMBERED.split(cell) if part.strip(" ,;\n")]) > 1:
        return [piece for part in parts for piece in _divide(part.strip(" ,;\n"))]
    parts = [_BULLET.sub("", part.strip()) for part in _STRONG.split(cell)]
    return [part for part in parts if part] or [cell]


def _at_commas(cell: str) -> list[str]:
    """The terms between commas, or the cell where what is between them is no list of terms."""
    if _DIGITS_ROUND_COMMA.search(cell):
        return [cell]
    parts = _COMMAS.split(cell)
    if len(parts) == 1 or len(parts) > _MOST_TRANSLATIONS or any(len(part.split()) > _MOST_WORDS for part in parts):
        return [cell]
    if any(opening in cell for opening in "([{") and any(part.count("(") != part.count(")") for part in parts):
        return [cell]
    return [part for part in parts if part] or [cell]


def _distinct(terms: list[str]) -> list[str]:
    meaningful = [term for term in terms if not is_nothing(term)]
    return list(dict.fromkeys(meaningful or terms[:1]))


def pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Every term of the one cell with every term of the other."""
    left, right = translations(source, target)
    for left_term in left[:_MOST_TRANSLATIONS]:
        for right_term in right[:_MOST_TRANSLATIONS]:
            yield left_term, right_term
