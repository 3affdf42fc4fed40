"""A second reasoner, slow and plain: it asks for one fact at a time and searches backward from it, by every rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property

from dragoman_lab.reasoning.theories.logic import Fact, Theory

Body = tuple[tuple[Fact, bool], ...]


class Backward:
    """What can be proved from a theory, how deep, and how deep the search for it fails."""

    def __init__(self, theory: Theory) -> None:
        self.theory = theory
        self.fails = cache(self._fails)
        self.proved = cache(self._proved)

    @cached_property
    def names(self) -> set[str]:
        said = {*self.theory.facts, *(rule.conclusion for rule in self.theory.rules)}
        said |= {condition.fact for rule in self.theory.rules for condition in rule.conditions}
        return {name for fact in said for name in (fact.subject, fact.object or fact.subject)} - {
            "someone",
            "something",
        }

    def bodies(self, goal: Fact) -> Iterator[Body]:
        """The conditions from which a rule concludes the goal, but for those that name the goal itself."""
        for rule in self.theory.rules:
            for name in self.names:
                named = [_named(fact, name) for fact in (rule.conclusion, *(c.fact for c in rule.conditions))]
                if named[0] == goal and goal not in named[1:]:
                    yield tuple(zip(named[1:], (c.positive for c in rule.conditions), strict=True))

    def _proved(self, goal: Fact) -> int | None:
        """The depth of the shallowest proof, None without one."""
        return self.search(goal, frozenset())

    def search(self, goal: Fact, above: frozenset[Fact]) -> int | None:
        if goal in self.theory.facts:
            return 0
        if goal in above:
            return None  # a proof that needs what it proves is not the shallowest
        found = [self._proof_depth(body, above | {goal}) for body in self.bodies(goal)]
        return min((depth for depth in found if depth is not None), default=None)

    def _proof_depth(self, body: Body, above: frozenset[Fact]) -> int | None:
        depth = 0
        for fact, positive in body:
            if not positive:
                if self.proved(fact) is not None:
                    return None
                continue
            below = self.search(fact, above)
            if below is None:
                return None
            depth = max(depth, below)
        return depth + 1

    def _fails(self, goal: Fact, within: int) -> bool:
        """Whether the search for a goal has failed after so many rules in a row."""
        return goal not in self.theory.facts and all(
            any(self._condition_fails(fact, positive, within - 1) for fact, positive in body)
            for body in self.bodies(goal)
        )

    def _condition_fails(self, fact: Fact, positive: bool, within: int) -> bool:
        if within < 0:
            return False
        if positive:
            return self.fails(fact, within)
        depth = self.proved(fact)
        return depth is not None and depth <= within

    def failed(self, goal: Fact, most: int = 40) -> int | None:
        """The depth at which the search fails, None where it goes on."""
        return next((within for within in range(most) if self.fails(goal, within)), None)


def _named(fact: Fact, name: str) -> Fact:
    return Fact(name, fact.predicate, fact.object) if fact.subject in ("someone", "something") else fact
