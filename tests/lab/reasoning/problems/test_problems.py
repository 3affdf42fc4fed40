"""Word problems: solutions are right, and every language asks the same."""

from __future__ import annotations

import re
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_lab.reasoning.problems import (
    Problem,
    Template,
    held_out_templates,
    languages,
    learning_templates,
    problems,
)

NUMBER = re.compile(r"\d+")
KINDS = {"learned": learning_templates(), "held out": held_out_templates()}


def computed(problem: Problem) -> int:
    """The answer by the solution's steps, each of which must be right and begin with the one before."""
    *steps, last = problem.solution.split(". ")
    before = None
    for step in steps:
        formula, result = step.split(" = ")
        left, sign, right = formula.split(" ")
        value = {"+": int(left) + int(right), "-": int(left) - int(right), "*": int(left) * int(right)}.get(sign)
        if sign == "/":
            value, rest = divmod(int(left), int(right))
            assert rest == 0
        assert value == int(result) > 0 and before in (None, int(left))
        before = value
    assert last == f"The answer is {before}."
    assert len(steps) == problem.steps
    return int(before or 0)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_solutions_are_right(kind: str, seed: int) -> None:
    for problem in islice(problems(KINDS[kind], seed), len(KINDS[kind])):
        assert computed(problem) == problem.answer <= 200


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_problem_has_the_same_numbers_in_every_language(seed: int) -> None:
    for problem in islice(problems(held_out_templates(), seed), len(held_out_templates())):
        assert list(problem.texts) == languages()
        numbers = {language: sorted(NUMBER.findall(text)) for language, text in problem.texts.items()}
        assert len(set(map(tuple, numbers.values()))) == 1, numbers
        assert not any("{" in text or "  " in text for text in problem.texts.values())


@pytest.mark.parametrize("kind", KINDS)
def test_each_number_of_a_template_is_in_its_text_and_is_used(kind: str) -> None:
    for template in KINDS[kind]:
        for _, text in template.texts:
            assert set(re.findall(r"{([a-d])}", text)) == set(template.letters)


def test_at_least_eight_languages_of_four_scripts_and_both_numbers_of_steps() -> None:
    assert len(languages()) >= 8 and {"de", "ru", "zh", "th", "el", "sw"} <= set(languages())
    for templates in KINDS.values():
        assert {template.steps.count("|") for template in templates} == {0, 1}


def test_no_template_is_in_both() -> None:
    def words(template: Template) -> set[str]:
        return set(re.findall(r"[a-z]{3,}", re.sub(r"{\w+}", "", dict(template.texts)["en"].lower())))

    for one in held_out_templates():
        for other in learning_templates():
            common, either = words(one) & words(other), words(one) | words(other)
            assert len(common) / len(either) < 0.5, (one.texts[0], other.texts[0])


def test_a_seed_gives_the_same_problems_again_and_another_gives_others() -> None:
    first, again, other = (list(islice(problems(learning_templates(), seed), 50)) for seed in (1, 1, 2))
    assert first == again != other
    assert len({one.texts["en"] for one in first}) == 50
