from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Hashable
from functools import cache

import pytest

from dragoman_lab.reasoning.theories.forward import conclude
from dragoman_lab.reasoning.theories.generate import DEEPEST, Puzzle, Question, generate
from dragoman_lab.reasoning.theories.vocabulary import PERSONS
from tests.lab.reasoning.theories.reference import Backward
from tests.lab.reasoning.theories.test_forward import checked_depth


@cache
def puzzles() -> list[Puzzle]:
    return [generate(seed, seed % (DEEPEST + 1)) for seed in range(90)]


def test_questions_are_as_many_true_as_false_negated_or_not_at_every_depth() -> None:
    for seed in range(DEEPEST + 1):
        asked = Counter((q.depth, q.label, q.statement.positive) for q in puzzles()[seed].questions)
        kinds = [(label, positive) for label in (True, False) for positive in (True, False)]
        assert asked == {(depth, *kind): 1 for depth in range(seed + 1) for kind in kinds}


def test_labels_and_depths_are_what_a_search_backward_finds() -> None:
    for puzzle in puzzles():
        reference = Backward(puzzle.theory)
        for question in puzzle.questions:
            fact, positive = question.statement.fact, question.statement.positive
            proved = reference.proved(fact)
            assert question.label == ((proved is not None) == positive)
            assert question.depth == (reference.failed(fact) if proved is None else proved)


def test_a_proof_is_of_the_fact_and_is_empty_where_there_is_none() -> None:
    for puzzle in puzzles():
        model = conclude(puzzle.theory)
        for question in puzzle.questions:
            if question.label == question.statement.positive:
                assert question.proof[-1].conclusion == question.statement.fact
                assert checked_depth(puzzle.theory, model, question.proof) == question.depth
            else:
                assert question.proof == ()


def test_the_same_seed_gives_the_same_and_another_seed_another() -> None:
    assert generate(7, 3) == generate(7, 3)
    assert generate(7, 3).theory != generate(8, 3).theory
    assert generate(7, 3).theory != generate(7, 2).theory


def test_the_same_seed_gives_the_same_in_every_process() -> None:
    program = (
        "from dragoman_lab.reasoning.theories import generate, render\n"
        "print([(render(p.theory, 'sw', 1), p.questions) for p in (generate(seed, 3) for seed in range(6))])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


@pytest.mark.parametrize("persons", [True, False])
@pytest.mark.parametrize("relations", [True, False])
@pytest.mark.parametrize("negation", [True, False])
def test_what_theories_are_about_can_be_chosen(persons: bool, relations: bool, negation: bool) -> None:
    for seed in range(4):
        theory = generate(seed, 3, persons=persons, relations=relations, negation=negation).theory
        assert {entity in PERSONS for entity in theory.entities} == {persons}
        assert any(other for _, other in theory.properties) == relations
        assert negation or all(condition.positive for rule in theory.rules for condition in rule.conditions)


def test_all_kinds_of_rules_are_made() -> None:
    rules = [rule for puzzle in puzzles() for rule in puzzle.theory.rules]
    assert {len(rule.conditions) for rule in rules} == {1, 2, 3}
    assert {rule.generic for rule in rules} == {True, False}
    assert any(c.fact.subject != rule.variable for rule in rules for c in rule.conditions)
    assert any(not c.positive for rule in rules for c in rule.conditions)


def test_more_questions_can_be_had() -> None:
    counts = set()
    for seed in range(10):
        questions = generate(seed, 3, per_kind=3).questions
        assert len({question.statement for question in questions}) == len(questions)
        for depth in range(4):
            kinds = Counter((q.label, q.statement.positive) for q in questions if q.depth == depth)
            assert len(kinds) == 4
            assert len(set(kinds.values())) == 1
            counts |= set(kinds.values())
    assert counts == {1, 2, 3}


def test_no_question_is_of_an_entity_and_itself() -> None:
    assert not any(q.statement.fact.subject == q.statement.fact.object for p in puzzles() for q in p.questions)


@pytest.mark.parametrize("depth", [-1, DEEPEST + 1])
def test_a_depth_that_cannot_be_had_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match="is not from 0 to 5"):
        generate(0, depth)


Asked = list[tuple[Puzzle, Question]]


def guessed(sign: Callable[[Puzzle, Question], Hashable], seen: Asked, asked: Asked) -> float:
    """How often one is right who knows of each sign whether the facts of questions seen that have it follow or not."""
    counts: Counter[Hashable] = Counter()
    for puzzle, question in seen:
        counts[sign(puzzle, question)] += 1 if question.label == question.statement.positive else -1
    right = [(counts[sign(p, q)] > 0) == (q.label == q.statement.positive) for p, q in asked]
    return sum(right) / len(right)


def given_of_the_subject(puzzle: Puzzle, question: Question) -> int:
    return sum(fact.subject == question.statement.fact.subject for fact in puzzle.theory.facts)


def rules_that_conclude_it(puzzle: Puzzle, question: Question) -> int:
    return sum(rule.conclusion.property == question.statement.fact.property for rule in puzzle.theory.rules)


@pytest.mark.parametrize(
    "sign",
    [
        lambda _, question: question.statement.positive,
        lambda _, question: question.depth,
        lambda _, question: question.statement.fact.object is None,
        lambda _, question: question.statement.fact.subject,
        lambda _, question: question.statement.fact.predicate,
        given_of_the_subject,
        rules_that_conclude_it,
    ],
    ids=["negation", "depth", "relation", "subject", "predicate", "facts", "rules"],
)
def test_nothing_on_the_surface_gives_the_answer_away(sign: Callable[[Puzzle, Question], Hashable]) -> None:
    seen, asked = ([(p, q) for p in some for q in p.questions] for some in (puzzles()[:45], puzzles()[45:]))
    given = [(puzzle, question) for puzzle, question in asked if question.depth == 0]
    assert 0.42 < guessed(sign, seen, asked) < 0.58
    assert 0.38 < guessed(sign, seen, given) < 0.62
