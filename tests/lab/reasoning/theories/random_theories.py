"""Theories of few words in which much is concluded of much, in circles too, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement, Theory, TheoryError

NAMES = ("Anna", "David", "Maria")
PROPERTIES = (("big", None), ("red", None), ("kind", None), ("sad", None), ("like", "Anna"), ("like", "David"))


def facts(subjects: tuple[str, ...]) -> st.SearchStrategy[Fact]:
    return st.builds(lambda subject, said: Fact(subject, *said), st.sampled_from(subjects), st.sampled_from(PROPERTIES))


CONDITIONS = st.builds(
    Statement, facts(("someone", "someone", "someone", *NAMES)), st.sampled_from((True, True, False))
)


@st.composite
def theories(draw: st.DrawFn) -> Theory:
    """A rule that would make no theory together with those before it is left out."""
    theory = Theory(tuple(draw(st.lists(facts(NAMES), max_size=5, unique=True))), ())
    for _ in range(draw(st.integers(0, 8))):
        conditions = tuple(draw(st.lists(CONDITIONS, min_size=1, max_size=3, unique=True)))
        conclusion = draw(facts(("someone", "someone", *NAMES)))
        try:
            theory = Theory(theory.facts, (*theory.rules, Rule(conditions, conclusion)))
        except TheoryError:
            continue
    return theory
