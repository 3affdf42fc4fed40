"""Word problems of one and two steps, made from a seed: in English to learn from, and held-out ones in nine languages.

What is learned from and what is measured by have no template in common. Held-out templates give quantities in units and
prices, so that no noun has to agree with a number, and the same problem can be asked in each language.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files

OPERATIONS = "+-*/"
_MOST = 200
"""The largest number in a problem."""
_NAMES = ("Anna", "Tom", "Maria", "Omar", "Lena", "Ivan", "Amina", "Kofi", "Mei", "Sara", "Juma", "Nikos")
_THINGS = (
    "apples", "books", "pencils", "stamps", "marbles", "cookies", "cards", "shells", "flowers", "coins", "balloons",
    "stickers", "eggs", "oranges", "toys", "buttons", "candles", "photos", "nuts", "keys",
)  # fmt: skip


@dataclass(frozen=True)
class Template:
    """A problem with names and numbers left open."""

    steps: str
    """What is computed: letters for the numbers, `_` for the result before, `|` between two steps."""
    texts: tuple[tuple[str, str], ...]
    """The problem in each language."""

    @property
    def letters(self) -> str:
        """The numbers that are drawn."""
        return "".join(sorted({letter for letter in self.steps if letter.isalpha()}))


@dataclass(frozen=True)
class Problem:
    """A problem in one or more languages, with its solution."""

    texts: dict[str, str]
    solution: str
    """The steps in English, and "The answer is" the number."""
    answer: int
    steps: int


def learning_templates() -> tuple[Template, ...]:
    """The templates to learn from, in English."""
    return _templates("learned.tsv")


def held_out_templates() -> tuple[Template, ...]:
    """The templates to measure by, each in all languages of :func:`languages`."""
    return _templates("held_out.tsv")


def languages() -> list[str]:
    """The languages of the templates to measure by."""
    return [language for language, _ in held_out_templates()[0].texts]


def problems(templates: Sequence[Template], seed: int) -> Iterator[Problem]:
    """Problems without end; the templates take turns."""
    noise = random.Random(seed)
    while True:
        for template in templates:
            yield _draw(template, noise)


@cache
def _templates(name: str) -> tuple[Template, ...]:
    lines = files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines()
    _, *codes = lines[0].split("\t")
    templates = []
    for line in lines[1:]:
        steps, *texts = line.split("\t")
        templates.append(Template(steps, tuple(zip(codes, texts, strict=True))))
    return tuple(templates)


def _draw(template: Template, noise: random.Random) -> Problem:
    while True:
        multiplies = any(sign in template.steps for sign in "*/")
        numbers = {letter: noise.randint(2, 12 if multiplies else 40) for letter in template.letters}
        if "a/b" in template.steps:
            numbers["a"] *= numbers["b"]
        lines, result = _solve(template.steps, numbers)
        if result is not None:
            break
    first, second = noise.sample(_NAMES, 2)
    filled = {**numbers, "name": first, "other": second, "things": noise.choice(_THINGS)}
    texts = {language: text.format(**filled) for language, text in template.texts}
    return Problem(texts, f"{' '.join(lines)} The answer is {result}.", result, len(lines))


def _solve(steps: str, numbers: dict[str, int]) -> tuple[list[str], int | None]:
    """The computations, and the last result; None unless all results are whole, from 1 to the largest number."""
    lines, result = [], 0
    for step in steps.split("|"):
        left, sign, right = (numbers.get(symbol, result) if symbol not in OPERATIONS else symbol for symbol in step)
        exact = _compute(int(left), str(sign), int(right))
        if exact.denominator != 1 or not 1 <= exact <= _MOST:
            return [], None
        result = int(exact)
        lines.append(f"{left} {sign} {right} = {result}.")
    return lines, result


def _compute(left: int, sign: str, right: int) -> Fraction:
    if sign == "+":
        return Fraction(left + right)
    if sign == "-":
        return Fraction(left - right)
    return Fraction(left * right) if sign == "*" else Fraction(left, right)
