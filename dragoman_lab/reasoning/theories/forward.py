"""Forward chaining: all that follows from a theory, its shallowest proofs, and how deep the search for the rest fails.

The depth of a fact that is given is 0; that of one concluded by a rule is one more than the deepest fact its positive
conditions need, by the rule that makes it least. A negated condition holds by the closed world and adds no depth.

A fact that does not follow has the depth of the search that fails. It is 0 where no rule concludes the fact. Else
every rule that concludes it has a condition that fails, and the depth is one more than that of the failures: in each
rule that of the shallowest, of all rules the deepest. (A positive condition fails as deep as its fact does; a negated
one as deep as its fact follows.) A fact that fails only because the search goes round in a circle has no depth.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement, Theory, strata


@dataclass(frozen=True)
class Step:
    """A fact of a proof: one that is given, or one that a rule concludes of premises."""

    conclusion: Fact
    rule: Rule | None = None
    premises: tuple[Statement, ...] = ()


Proof = tuple[Step, ...]
"""Steps, each after those that conclude its positive premises; the last concludes what is proved."""


@dataclass(frozen=True)
class Model:
    """What follows from a theory and what does not."""

    steps: Mapping[Fact, Step]
    """All facts that follow, each with the last step of a shallowest proof."""
    depths: Mapping[Fact, int]
    failures: Mapping[Fact, int]
    """The depth of each fact that does not follow, of the theory's entities and properties, unless it is a circle."""

    def holds(self, statement: Statement) -> bool:
        return (statement.fact in self.steps) == statement.positive

    def proof(self, fact: Fact) -> Proof:
        """A shallowest proof of a fact that follows, each step once.

        Raises:
            KeyError: a fact that does not follow.
        """
        steps: dict[Fact, Step] = {}
        self._collect(fact, steps)
        return tuple(steps.values())

    def _collect(self, fact: Fact, steps: dict[Fact, Step]) -> None:
        step = self.steps[fact]
        for premise in step.premises:
            if premise.positive and premise.fact not in steps:
                self._collect(premise.fact, steps)
        steps[fact] = step


def conclude(theory: Theory) -> Model:
    """All that follows from a theory, stratum by stratum."""
    steps = {fact: Step(fact) for fact in theory.facts}
    depths = dict.fromkeys(theory.facts, 0)
    stratum = strata(theory.rules)
    origins = [(rule, instance) for rule in theory.rules for instance in rule.instances(theory.entities)]
    for level in sorted(set(stratum.values())):
        _saturate([o for o in origins if stratum[o[1].conclusion.property] == level], steps, depths)
    return Model(steps, depths, _failures(theory, [instance for _, instance in origins], depths))


def _saturate(origins: Collection[tuple[Rule, Rule]], steps: dict[Fact, Step], depths: dict[Fact, int]) -> None:
    """Adds what the rules of a stratum conclude, depth by depth, so that the first proof of a fact is a shallowest."""
    depth = 1
    while True:
        facts = {fact for fact, least in depths.items() if least < depth}
        added = False
        for rule, instance in origins:
            if instance.conclusion not in depths and _fires(instance, facts, depths):
                steps[instance.conclusion] = Step(instance.conclusion, rule, instance.conditions)
                depths[instance.conclusion] = depth
                added = True
        if not added and len(facts) == len(depths):
            return
        depth += 1


def _fires(rule: Rule, facts: Collection[Fact], depths: Mapping[Fact, int]) -> bool:
    return all((c.fact in facts) if c.positive else (c.fact not in depths) for c in rule.conditions)


def _failures(theory: Theory, rules: Collection[Rule], depths: Mapping[Fact, int]) -> dict[Fact, int]:
    open_facts = {Fact(e, *p) for e in theory.entities for p in theory.properties} - set(depths)
    concluding: dict[Fact, list[Rule]] = {fact: [] for fact in open_facts}
    for rule in rules:
        if rule.conclusion in concluding:
            concluding[rule.conclusion].append(rule)
    failures: dict[Fact, int] = {}
    depth, deepest = 0, max(depths.values(), default=0)
    while concluding:
        failed = [f for f, rules in concluding.items() if all(_fails(rule, failures, depths, depth) for rule in rules)]
        if not failed and depth > deepest:
            break
        for fact in failed:
            failures[fact] = depth
            del concluding[fact]
        depth += 1
    return failures


def _fails(rule: Rule, failures: Mapping[Fact, int], depths: Mapping[Fact, int], depth: int) -> bool:
    """Whether a condition is known to fail at less than a depth."""
    return any(
        (failures if condition.positive else depths).get(condition.fact, depth) < depth for condition in rule.conditions
    )
