"""Theories of facts and rules, and statements about them.

The world is closed: what does not follow is false, and a negated condition holds where its fact does not follow.
Theories are stratified, so that what follows is unique. Rules have one variable at most, which stands for each entity
that the theory names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dragoman_lab.reasoning.theories.vocabulary import ANIMALS, PERSONS, SOMEONE, VARIABLES

Property = tuple[str, str | None]
"""What is said of a subject: an attribute, or a relation with its object."""


class TheoryError(ValueError):
    """Facts and rules that make no theory."""


@dataclass(frozen=True)
class Fact:
    """An attribute of a subject, or its relation to an object; in rules the subject may be a variable."""

    subject: str
    predicate: str
    object: str | None = None

    def __post_init__(self) -> None:
        if self.object in VARIABLES:
            raise TheoryError(f"{self}: a variable is a subject, never an object")

    @property
    def property(self) -> Property:
        return self.predicate, self.object

    def of(self, entity: str) -> Fact:
        """The same of an entity, where the subject is a variable."""
        return replace(self, subject=entity) if self.subject in VARIABLES else self


@dataclass(frozen=True)
class Statement:
    """A fact or its negation."""

    fact: Fact
    positive: bool = True

    def of(self, entity: str) -> Statement:
        return replace(self, fact=self.fact.of(entity))


@dataclass(frozen=True)
class Rule:
    """A fact that follows where all conditions hold.

    A `generic` rule is said of all at once ("All big people are quiet"): its conditions and its conclusion are
    attributes of the variable, none of them negated.
    """

    conditions: tuple[Statement, ...]
    conclusion: Fact
    generic: bool = False

    def __post_init__(self) -> None:
        facts = [condition.fact for condition in self.conditions]
        if not facts or len(set(self.conditions)) < len(facts) or self.conclusion in facts:
            raise TheoryError(f"{self}: conditions are wanted, each different and none of them the conclusion")
        variables = {fact.subject for fact in (*facts, self.conclusion) if fact.subject in VARIABLES}
        if len(variables) > 1:
            raise TheoryError(f"{self}: more than one variable")
        self._check_variable(variables)
        if self.generic and (not variables or not self._about_attributes_alone()):
            raise TheoryError(f"{self}: a generic rule has attributes of a variable alone, none of them negated")

    def _check_variable(self, variables: set[str]) -> None:
        if self.conclusion.subject in VARIABLES:
            if not any(condition.fact.subject in VARIABLES for condition in self.conditions):
                raise TheoryError(f"{self}: the variable of the conclusion is in no condition")
        elif variables and not any(c.positive and c.fact.subject in VARIABLES for c in self.conditions):
            raise TheoryError(f"{self}: a variable of negated conditions alone is not that of the conclusion")

    def _about_attributes_alone(self) -> bool:
        facts = [condition.fact for condition in self.conditions] + [self.conclusion]
        return all(condition.positive for condition in self.conditions) and all(
            fact.subject in VARIABLES and fact.object is None for fact in facts
        )

    @property
    def variable(self) -> str | None:
        return next((c.fact.subject for c in self.conditions if c.fact.subject in VARIABLES), None)

    def instances(self, entities: Iterable[str]) -> list[Rule]:
        """The rule of each entity in place of the variable, but for those that would conclude from themselves."""
        if self.variable is None:
            return [self]
        instances = []
        for entity in entities:
            conditions = tuple(dict.fromkeys(condition.of(entity) for condition in self.conditions))
            conclusion = self.conclusion.of(entity)
            if conclusion not in [condition.fact for condition in conditions]:
                instances.append(Rule(conditions, conclusion))
        return instances


@dataclass(frozen=True)
class Theory:
    """Facts and rules, about persons alone or animals alone.

    Raises:
        TheoryError: a fact about a variable, a subject or object that is unknown, persons together with animals, a fact
            or rule given twice, or rules that are not stratified.
    """

    facts: tuple[Fact, ...]
    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if len(set(self.facts)) < len(self.facts) or len(set(self.rules)) < len(self.rules):
            raise TheoryError("a fact or rule is given twice")
        if any(fact.subject in VARIABLES for fact in self.facts):
            raise TheoryError("a fact is about a variable")
        variables = {rule.variable for rule in self.rules} - {None}
        persons = [entity in PERSONS for entity in self.entities] + [variable == SOMEONE for variable in variables]
        if unknown := [entity for entity in self.entities if entity not in PERSONS + ANIMALS]:
            raise TheoryError(f"unknown: {', '.join(unknown)}")
        if any(persons) and not all(persons):
            raise TheoryError("persons together with animals")
        strata(self.rules)

    @cached_property
    def entities(self) -> tuple[str, ...]:
        """All that facts and rules name, sorted."""
        facts = [*self.facts, *(fact for rule in self.rules for fact in _facts(rule))]
        return tuple(sorted({name for f in facts for name in (f.subject, f.object) if name} - set(VARIABLES)))

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """All that facts and rules say of a subject, in the order of the theory."""
        facts = [*self.facts, *(fact for rule in self.rules for fact in _facts(rule))]
        return tuple(dict.fromkeys(fact.property for fact in facts))


def _facts(rule: Rule) -> list[Fact]:
    return [*(condition.fact for condition in rule.conditions), rule.conclusion]


def strata(rules: Iterable[Rule]) -> Mapping[Property, int]:
    """The stratum of each property: no lower than those it depends on, and higher than those whose negation it needs.

    Raises:
        TheoryError: a property that depends on its own negation.
    """
    rules = list(rules)
    levels = {fact.property: 0 for rule in rules for fact in _facts(rule)}
    changed = True
    while changed:
        changed = False
        for rule in rules:
            level = max(levels[c.fact.property] + (not c.positive) for c in rule.conditions)
            if level > levels[rule.conclusion.property]:
                if level > len(levels):
                    raise TheoryError(f"{rule.conclusion.predicate} depends on its own negation")
                levels[rule.conclusion.property] = level
                changed = True
    return levels
