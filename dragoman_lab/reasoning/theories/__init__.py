"""Theories of facts and rules with questions of known depth and proof, made from a seed, in eleven languages."""

from dragoman_lab.reasoning.theories.forward import Model, Proof, Step, conclude
from dragoman_lab.reasoning.theories.generate import DEEPEST, Puzzle, Question, generate
from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement, Theory, TheoryError
from dragoman_lab.reasoning.theories.render import LANGUAGES, order_sentences, render, render_part, render_statement

__all__ = [
    "DEEPEST",
    "LANGUAGES",
    "Fact",
    "Model",
    "Proof",
    "Puzzle",
    "Question",
    "Rule",
    "Statement",
    "Step",
    "Theory",
    "TheoryError",
    "conclude",
    "generate",
    "order_sentences",
    "render",
    "render_part",
    "render_statement",
]
