from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings

from dragoman_lab.reasoning.theories.forward import Model, Proof, conclude
from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement, Theory
from tests.lab.reasoning.theories.random_theories import theories
from tests.lab.reasoning.theories.reference import Backward


def all_facts(theory: Theory) -> list[Fact]:
    return [Fact(entity, *said) for entity in theory.entities for said in theory.properties]


def checked_depth(theory: Theory, model: Model, proof: Proof) -> int:
    """The depth of a proof, of which each step is seen to be right."""
    depths: dict[Fact, int] = {}
    for step in proof:
        if step.rule is None:
            assert step.conclusion in theory.facts
            depths[step.conclusion] = 0
            continue
        assert step.rule in theory.rules
        assert any(
            (made.conditions, made.conclusion) == (step.premises, step.conclusion)
            for made in step.rule.instances(theory.entities)
        )
        assert not any(premise.fact in model.steps for premise in step.premises if not premise.positive)
        depths[step.conclusion] = 1 + max((depths[p.fact] for p in step.premises if p.positive), default=0)
    return depths[proof[-1].conclusion]


@settings(max_examples=80)
@given(theories())
def test_what_follows_and_how_deep_is_what_a_search_backward_finds(theory: Theory) -> None:
    model, reference = conclude(theory), Backward(theory)
    for fact in all_facts(theory):
        assert model.depths.get(fact) == reference.proved(fact)
        assert model.failures.get(fact) == reference.failed(fact)
        assert (fact in model.steps) == (fact in model.depths) == model.holds(Statement(fact))
        assert model.holds(Statement(fact)) != model.holds(Statement(fact, False))


@settings(max_examples=40)
@given(theories())
def test_proofs_are_right_and_no_deeper_than_said(theory: Theory) -> None:
    model = conclude(theory)
    for fact, depth in model.depths.items():
        proof = model.proof(fact)
        assert proof[-1].conclusion == fact
        assert len({step.conclusion for step in proof}) == len(proof)
        assert checked_depth(theory, model, proof) == depth


def test_a_negated_condition_holds_where_nothing_makes_its_fact_true() -> None:
    rules = (
        Rule((Statement(Fact("someone", "big")), Statement(Fact("someone", "red"), False)), Fact("someone", "kind")),
        Rule((Statement(Fact("someone", "sad")),), Fact("someone", "red")),
    )
    theory = Theory((Fact("Anna", "big"), Fact("David", "big"), Fact("David", "sad")), rules)
    model = conclude(theory)
    assert model.holds(Statement(Fact("Anna", "kind")))
    assert model.holds(Statement(Fact("David", "kind"), False))
    assert model.failures[Fact("David", "kind")] == 2  # David is sad, hence red, hence not kind by the rule
    assert model.failures[Fact("Anna", "red")] == 1
    assert model.failures[Fact("Anna", "sad")] == 0


def test_a_negated_condition_fails_as_deep_as_its_fact_follows() -> None:
    chain = pairwise(("big", "red", "kind", "sad"))
    rules = [Rule((Statement(Fact("someone", a)),), Fact("someone", b)) for a, b in chain]
    last = Rule((Statement(Fact("someone", "sad"), False),), Fact("someone", "happy"))
    assert conclude(Theory((Fact("Anna", "big"),), (*rules, last))).failures == {Fact("Anna", "happy"): 4}


def test_a_circle_makes_nothing_true_and_fails_at_no_depth() -> None:
    big, red = Fact("someone", "big"), Fact("someone", "red")
    model = conclude(Theory((Fact("Anna", "sad"),), (Rule((Statement(big),), red), Rule((Statement(red),), big))))
    assert not model.holds(Statement(Fact("Anna", "big")))
    assert set(model.steps) == {Fact("Anna", "sad")}
    assert model.failures == {}


def test_the_shallowest_of_several_proofs_is_given() -> None:
    chain = ("big", "red", "kind", "sad")
    rules = [Rule((Statement(Fact("someone", a)),), Fact("someone", b)) for a, b in pairwise(chain)]
    short = Rule((Statement(Fact("someone", "white")),), Fact("someone", "sad"))
    theory = Theory((Fact("Anna", "big"), Fact("Anna", "white"), Fact("David", "big")), (*rules, short))
    model = conclude(theory)
    assert [step.rule for step in model.proof(Fact("Anna", "sad"))] == [None, short]
    assert [step.rule for step in model.proof(Fact("David", "sad"))] == [None, *rules]
    assert (model.depths[Fact("Anna", "sad")], model.depths[Fact("David", "sad")]) == (1, 3)
