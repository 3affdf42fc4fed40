"""Word problems of MAWPS (Koncel-Kedziorski et al. 2016) and GSM8K (Cobbe et al. 2021), with solutions of few steps."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, DecimalException
from pathlib import Path
from typing import Any

from dragoman_lab.reasoning.examples import read_records
from dragoman_lab.reasoning.problems import OPERATIONS, Problem

HELD_OUT = 5
"""One problem of MAWPS in so many is for measuring."""
_SPACE = re.compile(r" (?=[.,?!;:'])")
_CALCULATION = re.compile(r"<<.*?>>")


def mawps(path: Path, *, held_out: bool, most: int = 2) -> Iterator[Problem]:
    """The problems with whole answers and at most so many steps: those to learn from, or those to measure by.

    Raises:
        ExamplesError: a line is not of the set's form.
    """
    for problem in read_records(path, _mawps):
        if problem is not None and problem.steps <= most and is_held_out(problem.texts["en"]) == held_out:
            yield problem


def gsm8k(path: Path, most: int = 2) -> Iterator[Problem]:
    """The problems with whole answers and at most so many calculations.

    Raises:
        ExamplesError: a line is not of the set's form.
    """
    for problem in read_records(path, _gsm8k):
        if problem is not None and 1 <= problem.steps <= most:
            yield problem


def is_held_out(text: str) -> bool:
    """Whether a problem of MAWPS is for measuring; spaces, punctuation and case do not matter."""
    letters = "".join(re.findall(r"[a-z0-9]+", text.casefold()))
    return hashlib.sha256(letters.encode()).digest()[0] % HELD_OUT == 0


def _mawps(record: dict[str, Any]) -> Problem | None:
    text, prefix = str(record["question"]), str(record["equation_prefix"])
    expected = Decimal(str(record["answer"]))
    try:
        lines, answer = _by_prefix(prefix.split())
    except (ValueError, IndexError, DecimalException):
        return None
    if not lines or answer != expected or answer != answer.to_integral_value():
        return None
    return Problem({"en": _SPACE.sub("", text).strip()}, _solution(lines, int(answer)), int(answer), len(lines))


def _gsm8k(record: dict[str, Any]) -> Problem | None:
    worked, _, last = str(record["answer"]).partition("####")
    answer = last.strip().replace(",", "")
    if not answer.lstrip("-").isdigit():
        return None
    lines = [line.strip().rstrip(".") + "." for line in _CALCULATION.sub("", worked).splitlines() if line.strip()]
    steps = len(_CALCULATION.findall(worked))
    return Problem({"en": str(record["question"]).strip()}, _solution(lines, int(answer)), int(answer), steps)


def _solution(lines: Sequence[str], answer: int) -> str:
    return f"{' '.join(lines)} The answer is {answer}."


def _by_prefix(tokens: Sequence[str]) -> tuple[list[str], Decimal]:
    """The steps of an equation in prefix notation, and its result.

    Raises:
        ValueError, IndexError, DecimalException: it is not one.
    """
    rest, lines = list(tokens), list[str]()

    def evaluate() -> Decimal:
        token = rest.pop(0)
        if token not in OPERATIONS:
            return Decimal(token)
        left, right = evaluate(), evaluate()
        result = {"+": left + right, "-": left - right, "*": left * right}[token] if token != "/" else left / right
        lines.append(f"{_plain(left)} {token} {_plain(right)} = {_plain(result)}.")
        return result

    result = evaluate()
    if rest:
        raise ValueError("it has more than one result")
    return lines, result


def _plain(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
