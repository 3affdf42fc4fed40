from __future__ import annotations

import pytest

from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement, Theory, TheoryError, strata

BIG, RED, KIND = (Fact("someone", name) for name in ("big", "red", "kind"))


def rule(conclusion: Fact, *conditions: Fact, negated: tuple[Fact, ...] = (), generic: bool = False) -> Rule:
    positive = tuple(Statement(fact) for fact in conditions)
    return Rule(positive + tuple(Statement(fact, False) for fact in negated), conclusion, generic)


def test_a_rule_is_made_one_of_each_entity_and_what_concludes_itself_is_left_out() -> None:
    made = rule(Fact("someone", "like", "Anna"), BIG).instances(["Anna", "David"])
    assert made == [
        rule(Fact("Anna", "like", "Anna"), Fact("Anna", "big")),
        rule(Fact("David", "like", "Anna"), Fact("David", "big")),
    ]
    assert rule(Fact("Anna", "big"), BIG).instances(["Anna", "David"]) == [
        rule(Fact("Anna", "big"), Fact("David", "big"))
    ]
    about_anna = rule(Fact("Anna", "big"), Fact("Anna", "red"))
    assert about_anna.instances(["Anna", "David"]) == [about_anna]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: Fact("Anna", "like", "someone"), "never an object"),
        (lambda: rule(RED), "conditions are wanted"),
        (lambda: rule(RED, BIG, BIG), "each different"),
        (lambda: rule(RED, RED), "none of them the conclusion"),
        (lambda: rule(RED, Fact("something", "big")), "more than one variable"),
        (lambda: rule(RED, Fact("Anna", "big")), "variable of the conclusion"),
        (lambda: rule(Fact("Anna", "red"), negated=(BIG,)), "negated conditions alone"),
        (lambda: rule(RED, BIG, negated=(KIND,), generic=True), "generic"),
        (lambda: rule(Fact("someone", "like", "Anna"), BIG, generic=True), "generic"),
        (lambda: rule(Fact("Anna", "red"), Fact("Anna", "big"), generic=True), "generic"),
        (lambda: Theory((BIG,), ()), "about a variable"),
        (lambda: Theory((Fact("Anna", "big"), Fact("Anna", "big")), ()), "given twice"),
        (lambda: Theory((Fact("Anna", "big"), Fact("dog", "big")), ()), "persons together with animals"),
        (lambda: Theory((Fact("Anna", "like", "dog"),), ()), "persons together with animals"),
        (lambda: Theory((Fact("dog", "big"),), (rule(RED, BIG),)), "persons together with animals"),
        (lambda: Theory((Fact("Zoe", "big"),), ()), "unknown: Zoe"),
        (lambda: Theory((), (rule(RED, BIG), rule(BIG, KIND, negated=(RED,)))), "its own negation"),
    ],
)
def test_what_makes_no_theory_is_refused(wrong: object, why: str) -> None:
    with pytest.raises(TheoryError, match=why):
        wrong()  # type: ignore[operator]


def test_a_stratum_is_above_those_whose_negation_it_needs() -> None:
    rules = [rule(RED, BIG), rule(BIG, RED), rule(KIND, BIG, negated=(RED,)), rule(Fact("someone", "sad"), KIND)]
    assert strata(rules) == {("big", None): 0, ("red", None): 0, ("kind", None): 1, ("sad", None): 1}


def test_a_theory_knows_whom_it_names_and_what_it_says() -> None:
    theory = Theory((Fact("dog", "chase", "cat"),), (rule(Fact("cow", "sad"), Fact("fox", "big")),))
    assert theory.entities == ("cat", "cow", "dog", "fox")
    assert theory.properties == (("chase", "cat"), ("big", None), ("sad", None))
