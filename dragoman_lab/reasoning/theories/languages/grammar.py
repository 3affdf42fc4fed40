"""What every language says: clauses, and sentences of them. A clause knows what its grammar may depend on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement
from dragoman_lab.reasoning.theories.vocabulary import VARIABLES


class Place(Enum):
    """Where a clause stands."""

    MAIN = auto()
    CONDITION = auto()
    CONCLUSION = auto()


class Mention(Enum):
    """How a subject was mentioned before, in the same sentence."""

    NEW = auto()
    """Not at all; or by its name, which is said again."""
    SAME = auto()
    """As the subject of the clause before; and no other subject came between the mentions of a variable."""
    AGAIN = auto()
    """As the subject of a clause, and another subject came between."""


@dataclass(frozen=True)
class Clause:
    """A statement in its place."""

    statement: Statement
    place: Place = Place.MAIN
    mention: Mention = Mention.NEW
    joined: bool = False
    """The clause before gives the same subject an attribute, not negated, and this one another: one verb may do."""
    continued: bool = False
    """The next clause is joined to this one."""

    @property
    def fact(self) -> Fact:
        return self.statement.fact

    @property
    def positive(self) -> bool:
        return self.statement.positive

    @property
    def silent(self) -> bool:
        """Whether the subject can be left out: "someone is big and knows Anna"."""
        return self.place is Place.CONDITION and self.mention is Mention.SAME


class Language(ABC):
    """A language that can say every statement and rule."""

    full_stop = "."

    @abstractmethod
    def clause(self, clause: Clause) -> str:
        """A statement, without capital and full stop."""

    @abstractmethod
    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        """If all conditions hold, then the conclusion does."""

    @abstractmethod
    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        """All persons or animals that have attributes have another."""

    def capital(self, letter: str) -> str:
        return letter.upper()

    def statement(self, statement: Statement) -> str:
        return self._sentence(self.clause(Clause(statement)))

    def rule(self, rule: Rule) -> str:
        if rule.generic and rule.variable:
            attributes = [condition.fact.predicate for condition in rule.conditions]
            return self._sentence(self.generic(rule.variable, attributes, rule.conclusion.predicate))
        *conditions, conclusion = (self.clause(clause) for clause in clauses(rule))
        return self._sentence(self.conditional(conditions, conclusion))

    def _sentence(self, text: str) -> str:
        return self.capital(text[0]) + text[1:] + self.full_stop


def clauses(rule: Rule) -> list[Clause]:
    """The conditions of a rule as clauses, and at last its conclusion."""
    subjects = [condition.fact.subject for condition in rule.conditions]
    mentions = [_mention(subjects[:at], subject) for at, subject in enumerate(subjects)]
    joined = [False, *map(_joins, rule.conditions, rule.conditions[1:], mentions[1:]), False]
    conditions = [
        Clause(condition, Place.CONDITION, mentions[at], joined[at], joined[at + 1])
        for at, condition in enumerate(rule.conditions)
    ]
    last = rule.conclusion.subject
    mention = _mention(subjects, last) if last in VARIABLES else Mention.NEW
    return [*conditions, Clause(Statement(rule.conclusion), Place.CONCLUSION, mention)]


def _mention(before: Sequence[str], subject: str) -> Mention:
    if subject not in VARIABLES:
        return Mention.SAME if before and before[-1] == subject else Mention.NEW
    since = before[before.index(subject) :] if subject in before else []
    if not since:
        return Mention.NEW
    return Mention.SAME if set(since) == {subject} else Mention.AGAIN


def _joins(before: Statement, after: Statement, mention: Mention) -> bool:
    attributes = before.fact.object is None and after.fact.object is None
    return mention is Mention.SAME and attributes and before.positive


def words(*parts: str) -> str:
    """Parts of a sentence with spaces between, empty ones left out."""
    return " ".join(part for part in parts if part)


def table(text: str) -> dict[str, list[str]]:
    """A table of forms, `key: form, form, ...` a line."""
    rows = (line.split(":") for line in text.strip().splitlines())
    return {key.strip(): [form.strip() for form in forms.split(",")] for key, forms in rows}
