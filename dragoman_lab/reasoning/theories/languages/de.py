"""German: the verb comes last in a condition and first in a conclusion; articles and some nouns show the case."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, Place, table, words
from dragoman_lab.reasoning.theories.vocabulary import PERSONS, SOMEONE, SOMETHING, VARIABLES

ARTICLES = {
    "m": {"nominative": "der", "accusative": "den", "dative": "dem"},
    "f": {"nominative": "die", "accusative": "die", "dative": "der"},
    "n": {"nominative": "das", "accusative": "das", "dative": "dem"},
}
NOUNS = table("""
dog: m, Hund
cat: f, Katze
mouse: f, Maus
bear: m, Bär, Bären
lion: m, Löwe, Löwen
rabbit: n, Kaninchen
cow: f, Kuh
horse: n, Pferd
fox: m, Fuchs
duck: f, Ente
goat: f, Ziege
squirrel: n, Eichhörnchen
""")
"""Gender, noun, and the noun as an object where it is another form."""
MENTIONS = {
    SOMEONE: {Mention.NEW: "jemand", Mention.SAME: "er", Mention.AGAIN: "diese Person"},
    SOMETHING: {Mention.NEW: "ein Tier", Mention.SAME: "es", Mention.AGAIN: "dieses Tier"},
}
CROWDS = {SOMEONE: "Menschen", SOMETHING: "Tiere"}

ATTRIBUTES = table("""
big: groß
small: klein
strong: stark
weak: schwach
smart: klug
kind: freundlich
quiet: ruhig
happy: glücklich
sad: traurig
tired: müde
hungry: hungrig
brave: mutig
lazy: faul
fast: schnell
clean: sauber
dirty: schmutzig
careful: vorsichtig
red: rot
green: grün
white: weiß
""")

VERBS = table("""
chase: jagt, accusative
like: mag, accusative
visit: besucht, accusative
help: hilft, dative
fear: fürchtet, accusative
know: kennt, accusative
protect: beschützt, accusative
feed: füttert, accusative
trust: vertraut, dative
avoid: meidet, accusative
""")


class German(Language):
    def clause(self, clause: Clause) -> str:
        subject = "" if clause.silent else _subject(clause)
        negation = "" if clause.positive else "nicht"
        if clause.fact.object is None:
            verb, rest = "ist", words(negation, ATTRIBUTES[clause.fact.predicate][0])
        else:
            verb, case = VERBS[clause.fact.predicate]
            rest = words(_noun(clause.fact.object, case), negation)
        if clause.place is Place.CONDITION:
            return words(subject, rest, "" if clause.continued else verb)
        if clause.place is Place.CONCLUSION:
            return words(verb, subject, rest)
        return words(subject, verb, rest)

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"wenn {' und '.join(conditions)}, dann {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        inflected = [ATTRIBUTES[attribute][0].removesuffix("e") + "en" for attribute in attributes]
        return f"alle {' und '.join(inflected)} {CROWDS[variable]} sind {ATTRIBUTES[conclusion][0]}"


def _subject(clause: Clause) -> str:
    name = clause.fact.subject
    return MENTIONS[name][clause.mention] if name in VARIABLES else _noun(name, "nominative")


def _noun(name: str, case: str) -> str:
    if name in PERSONS:
        return name
    gender, *forms = NOUNS[name]
    return f"{ARTICLES[gender][case]} {forms[0] if case == 'nominative' else forms[-1]}"
