"""Theories and statements as sentences, in an order that is the same in every language: texts are parallel."""

from __future__ import annotations

import random

from dragoman_lab.reasoning.theories.languages import GRAMMARS
from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement, Theory

LANGUAGES = tuple(GRAMMARS)


def order_sentences(theory: Theory, order_seed: int) -> list[Fact | Rule]:
    """The facts and rules of a theory, shuffled: what each sentence of `render` says."""
    parts: list[Fact | Rule] = [*theory.facts, *theory.rules]
    random.Random(order_seed).shuffle(parts)
    return parts


def render(theory: Theory, language: str, order_seed: int) -> list[str]:
    """The sentences of a theory, one for each of its facts and rules, in an order of the seed.

    Raises:
        KeyError: a language that is not in `LANGUAGES`.
    """
    return [render_part(part, language) for part in order_sentences(theory, order_seed)]


def render_part(part: Fact | Rule, language: str) -> str:
    """The sentence of a fact or a rule."""
    return GRAMMARS[language].rule(part) if isinstance(part, Rule) else render_statement(Statement(part), language)


def render_statement(statement: Statement, language: str) -> str:
    """The sentence of a statement about an entity."""
    return GRAMMARS[language].statement(statement)
