"""All amounts of a text."""

from __future__ import annotations

from dragoman.checking.amounts.amount import Amount, Reading
from dragoman.checking.amounts.digits import NUMERAL, read_numeral, split_runs
from dragoman.checking.amounts.folding import fold_text
from dragoman.deadline import check_each

__all__ = ["read_amounts"]


def read_amounts(text: str, language: str) -> list[Amount]:
    """The amounts of ``text`` in order, apart from each other; ``language`` is an ISO 639-1 code and settles words."""
    folded = fold_text(text)
    amounts = []
    for match in check_each(NUMERAL.finditer(folded)):
        quantities = read_numeral(match.group())
        spans = [(match.start(), match.end(), quantities)]
        if not quantities:
            spans = [(match.start() + a, match.start() + b, (run,)) for a, b, run in split_runs(match.group())]
        amounts += [
            Amount(a, b, "number", tuple(Reading(quantity=quantity) for quantity in readings), text[a:b])
            for a, b, readings in spans
        ]
    return amounts
