"""The simple syntax of queries: ``"a phrase"``, ``+required``, ``-excluded``; everything else is text.

- A phrase begins with a quotation mark that no letter or digit precedes, and ends with the next one; typographic marks
  count as well. It must occur; after ``-`` it must not. A mark without its partner is text.
- ``+`` and ``-`` count before a word or a phrase, after white space or at the beginning; alone, or several together,
  they are text. The word reaches to the next white space.
- Nothing is nested, and a part without a letter or digit is text.
"""

from __future__ import annotations

from typing import NamedTuple

import regex

__all__ = ["LONGEST", "Parsed", "parse"]

LONGEST = 1_000
"""The characters of a required or excluded text; between marks further apart is text."""
_MARKS = {'"': '"', "“": "”“", "„": "“”", "«": "»", "»": "«"}
_QUOTED = "|".join(f"{regex.escape(mark)}([^{ends}]{{0,{LONGEST}}})[{ends}]" for mark, ends in _MARKS.items())
_PART = regex.compile(
    rf"(?<!\S)([+-])(?:{_QUOTED})|(?<![\p{{L}}\p{{M}}\p{{N}}])(?:{_QUOTED})|(?<!\S)([+-])(?![+-])(\S+)"
)
_SEARCHABLE = regex.compile(r"[\p{L}\p{N}]")


class Parsed(NamedTuple):
    """A query, and what it requires and excludes."""

    text: str
    """What is ranked by: as long as the query, with spaces in place of what is excluded, and of ``+``."""
    required: list[str]
    excluded: list[str]


def parse(query: str) -> Parsed:
    """Read a query in the simple syntax. Every text is one."""
    required: list[str] = []
    excluded: list[str] = []
    ranked: list[str] = []
    place = 0
    for part in _PART.finditer(query):
        operator, text = _read(part)
        if _SEARCHABLE.search(text) is None:
            continue
        (excluded if operator == "-" else required).append(text.strip())
        ranked.append(query[place : part.start()])
        ranked.append(" " * len(part[0]) if operator == "-" else part[0].replace("+", " ", 1) if operator else part[0])
        place = part.end()
    ranked.append(query[place:])
    return Parsed("".join(ranked), required, excluded)


def _read(part: regex.Match[str]) -> tuple[str, str]:
    """The operator, or "", and the text of a part."""
    groups = part.groups()
    operators = ("+", "-")
    operator = next((group for group in (groups[0], groups[-2]) if group in operators), "")
    texts = [group for place, group in enumerate(groups) if group is not None and place not in (0, len(groups) - 2)]
    return operator, texts[0]
