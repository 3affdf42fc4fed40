"""English."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, table, words
from dragoman_lab.reasoning.theories.vocabulary import PERSONS, SOMEONE, SOMETHING, VARIABLES

PRONOUNS = {SOMEONE: "they", SOMETHING: "it"}
CROWDS = {SOMEONE: "people", SOMETHING: "animals"}

VERBS = table("""
chase: chases
like: likes
visit: visits
help: helps
fear: fears
know: knows
protect: protects
feed: feeds
trust: trusts
avoid: avoids
""")
"""The third person; attributes, nouns and what follows "not" are the words of the vocabulary themselves."""


class English(Language):
    def clause(self, clause: Clause) -> str:
        plural = clause.fact.subject == SOMEONE and clause.mention is not Mention.NEW and not clause.silent
        return words(_subject(clause), _predicate(clause, plural))

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"if {' and '.join(conditions)} then {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        return f"all {' and '.join(attributes)} {CROWDS[variable]} are {conclusion}"


def _subject(clause: Clause) -> str:
    if clause.silent:
        return ""
    name = clause.fact.subject
    return PRONOUNS[name] if name in VARIABLES and clause.mention is not Mention.NEW else _noun(name)


def _noun(name: str) -> str:
    return name if name in PERSONS or name in VARIABLES else f"the {name}"


def _predicate(clause: Clause, plural: bool) -> str:
    verb, negation = clause.fact.predicate, "" if clause.positive else "not"
    if clause.fact.object is None:
        copula = "" if clause.joined else "are" if plural else "is"
        return words(copula, negation, verb)
    if negation:
        return words("do" if plural else "does", negation, verb, _noun(clause.fact.object))
    return words(verb if plural else VERBS[verb][0], _noun(clause.fact.object))
