"""Random theories with questions about them, as many true as false at every depth, whether negated or not."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dragoman_lab.reasoning.theories.forward import Model, Proof, conclude
from dragoman_lab.reasoning.theories.logic import Fact, Property, Rule, Statement, Theory
from dragoman_lab.reasoning.theories.vocabulary import ANIMALS, ATTRIBUTES, PERSONS, RELATIONS, SOMEONE, SOMETHING

DEEPEST = 5
TRIES = 1000


@dataclass(frozen=True)
class Question:
    """A statement, whether it is true, and how deep one must reason to know.

    The depth is that of its fact: of the shallowest proof or, where it does not follow, of the search that fails (see
    `forward`). A statement and its negation are as deep. The proof is of the fact, so that it shows that a negated
    statement is false; it is empty where the fact does not follow.
    """

    statement: Statement
    label: bool
    depth: int
    proof: Proof


@dataclass(frozen=True)
class Puzzle:
    """A theory and questions about it."""

    theory: Theory
    questions: tuple[Question, ...]


@dataclass
class _Draft:
    """What a theory is made of: the later a property stands in its list, the more may be concluded before it."""

    rng: random.Random
    variable: str
    entities: Sequence[str]
    properties: Sequence[Property]
    negation: bool
    facts: dict[Fact, None] = field(default_factory=dict)
    rules: dict[Rule, None] = field(default_factory=dict)

    def theory(self) -> Theory:
        facts, rules = list(self.facts), list(self.rules)
        self.rng.shuffle(facts)
        self.rng.shuffle(rules)
        return Theory(tuple(facts), tuple(rules))


def generate(
    seed: int,
    depth: int,
    *,
    persons: bool | None = None,
    relations: bool | None = None,
    negation: bool = True,
    per_kind: int = 1,
) -> Puzzle:
    """A theory that holds questions of every depth up to one, and such questions, shuffled.

    At each depth there are as many questions of each of four kinds: true and false, negated and not. Where two kinds
    can only be had of one fact they are: a statement and its negation.

    Args:
        seed: the same seed and arguments give the same.
        depth: of the deepest questions.
        persons: about persons, or else animals; None leaves it to the seed.
        relations: with relations next to attributes; None leaves it to the seed.
        negation: with negated conditions in rules.
        per_kind: the most questions of a kind at a depth; there is one at least.

    Raises:
        ValueError: a depth below 0 or above `DEEPEST`.
    """
    if not 0 <= depth <= DEEPEST:
        raise ValueError(f"depth {depth} is not from 0 to {DEEPEST}")
    rng = random.Random(f"theory {seed} {depth}")
    persons = rng.random() < 0.5 if persons is None else persons
    relations = rng.random() < 0.5 if relations is None else relations
    for _ in range(TRIES):
        draft = _draft(rng, depth, persons, relations, negation)
        theory = draft.theory()
        if questions := _questions(rng, theory, conclude(theory), depth, per_kind):
            return Puzzle(theory, tuple(questions))
    raise ValueError(f"no theory was found with questions of each kind at depth {depth}")


def _draft(rng: random.Random, depth: int, persons: bool, relations: bool, negation: bool) -> _Draft:
    entities = rng.sample(PERSONS if persons else ANIMALS, rng.randint(3, 5))
    properties: list[Property] = [(name, None) for name in rng.sample(ATTRIBUTES, depth + rng.randint(3, 5))]
    if relations:
        verbs = rng.sample(RELATIONS, rng.randint(2, 3))
        pairs = [(verb, entity) for verb in verbs for entity in entities]
        properties[-2:] = rng.sample(pairs, min(len(pairs), 3 + depth // 2))
    rng.shuffle(properties)
    draft = _Draft(rng, SOMEONE if persons else SOMETHING, entities, properties, negation)
    chain = sorted(rng.sample(range(len(properties)), depth + 1))
    _add_facts(draft, chain[0])
    for lower, upper in pairwise(chain):
        _add_rule(draft, lower, upper)
    for _ in range(rng.randint(2, 4)):
        upper = rng.randrange(1, len(properties))
        _add_rule(draft, rng.randrange(upper), upper)
    return draft


def _add_facts(draft: _Draft, base: int) -> None:
    """As many facts for each entity, most of them early in the list; the base of the chain for some and not for others.

    (Of an entity with more facts more would follow, and one could guess.)
    """
    rng = draft.rng
    with_base = rng.sample(draft.entities, rng.randint(1, len(draft.entities) - 1))
    count = rng.randint(1, 3)
    for entity in draft.entities:
        open_to = [at for at, (_, other) in enumerate(draft.properties) if at != base and other != entity]
        chosen = [base] if entity in with_base and draft.properties[base][1] != entity else []
        while len(chosen) < min(count, len(open_to)):
            at = min(rng.choice(open_to), rng.choice(open_to))
            if at not in chosen:
                chosen.append(at)
        draft.facts |= {Fact(entity, *draft.properties[at]): None for at in chosen}


def _add_rule(draft: _Draft, lower: int, upper: int) -> None:
    """A rule that concludes a property of another that stands before it, and perhaps of more conditions."""
    rng = draft.rng
    conditions = [Statement(Fact(draft.variable, *draft.properties[lower]))]
    while len(conditions) < 3 and rng.random() < 0.35:
        extra = _extra(draft, upper)
        if extra.fact not in [condition.fact for condition in conditions]:
            conditions.append(extra)
    conditions.sort(key=lambda condition: condition.fact.subject != draft.variable)
    conclusion = Fact(draft.variable, *draft.properties[upper])
    said_of_attributes = all(c.positive and c.fact.object is None for c in conditions) and conclusion.object is None
    of_all = all(condition.fact.subject == draft.variable for condition in conditions)
    generic = said_of_attributes and of_all and rng.random() < 0.4
    draft.rules[Rule(tuple(conditions), conclusion, generic)] = None


def _extra(draft: _Draft, upper: int) -> Statement:
    """A further condition of a rule: about what its variable stands for, or at times about another entity."""
    rng = draft.rng
    said = draft.properties[rng.randrange(upper)]
    subject = draft.variable if rng.random() < 0.75 else rng.choice(draft.entities)
    if subject == said[1]:
        subject = draft.variable
    return Statement(Fact(subject, *said), not (draft.negation and rng.random() < 0.5))


def _questions(rng: random.Random, theory: Theory, model: Model, depth: int, per_kind: int) -> list[Question]:
    """Questions of all kinds at all depths, or none where some cannot be had."""
    asked: list[Question] = []
    for at in range(depth + 1):
        following = [fact for fact in _askable(theory, at) if model.depths.get(fact) == at]
        failing = [fact for fact in _askable(theory, at) if model.failures.get(fact) == at]
        if not following or not failing:
            return []
        count = min(per_kind, len(following), len(failing))
        asked += _about(rng, model, following, at, count) + _about(rng, model, failing, at, count)
    rng.shuffle(asked)
    return asked


def _askable(theory: Theory, depth: int) -> list[Fact]:
    """All facts of a theory's entities and properties, but for the relation of an entity to itself.

    At depth 0 only of properties that are given of some entity and that no rule concludes: of others one could guess.
    """
    properties: Iterable[Property] = theory.properties
    if depth == 0:
        stated = {fact.property for fact in theory.facts}
        concluded = {rule.conclusion.property for rule in theory.rules}
        properties = [said for said in properties if said in stated and said not in concluded]
    facts = (Fact(entity, *said) for entity in theory.entities for said in properties)
    return [fact for fact in facts if fact.subject != fact.object]


def _about(rng: random.Random, model: Model, facts: Sequence[Fact], depth: int, count: int) -> list[Question]:
    """As many statements as negations, of different facts as far as there are enough."""
    chosen = rng.sample(facts, min(len(facts), 2 * count))
    questions = []
    for positive, some in ((True, chosen[:count]), (False, chosen[-count:])):
        for fact in some:
            statement = Statement(fact, positive)
            proof = model.proof(fact) if fact in model.steps else ()
            questions.append(Question(statement, model.holds(statement), depth, proof))
    return questions
