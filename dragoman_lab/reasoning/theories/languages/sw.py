"""Swahili: persons and animals are of one class of nouns, with m- and wa-; the verb names the object too."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, table, words
from dragoman_lab.reasoning.theories.vocabulary import PERSONS, SOMEONE, SOMETHING, VARIABLES

NOUNS = table("""
dog: mbwa
cat: paka
mouse: panya
bear: dubu
lion: simba
rabbit: sungura
cow: ng'ombe
horse: farasi
fox: mbweha
duck: bata
goat: mbuzi
squirrel: kindi
""")
KINDS = {SOMEONE: "mtu", SOMETHING: "mnyama"}
CROWDS = {SOMEONE: "watu", SOMETHING: "wanyama"}

ATTRIBUTES = table("""
big: mkubwa, wakubwa
small: mdogo, wadogo
strong: mwenye nguvu, wenye nguvu
weak: dhaifu, dhaifu
smart: mwerevu, werevu
kind: mwema, wema
quiet: mtulivu, watulivu
happy: mwenye furaha, wenye furaha
sad: mwenye huzuni, wenye huzuni
tired: mchovu, wachovu
hungry: mwenye njaa, wenye njaa
brave: jasiri, jasiri
lazy: mvivu, wavivu
fast: mwepesi, wepesi
clean: safi, safi
dirty: mchafu, wachafu
careful: mwangalifu, waangalifu
red: mwekundu, wekundu
green: wa kijani, wa kijani
white: mweupe, weupe
""")
"""One and many."""

VERBS = table("""
chase: anamfukuza, hamfukuzi
like: anampenda, hampendi
visit: anamtembelea, hamtembelei
help: anamsaidia, hamsaidii
fear: anamwogopa, hamwogopi
know: anamjua, hamjui
protect: anamlinda, hamlindi
feed: anamlisha, hamlishi
trust: anamwamini, hamwamini
avoid: anamwepuka, hamwepuki
""")
"""The verb and its negation, of one who does it to one."""


class Swahili(Language):
    def clause(self, clause: Clause) -> str:
        return words("" if clause.silent else _subject(clause), _predicate(clause))

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"ikiwa {' na '.join(conditions)}, basi {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        many = [ATTRIBUTES[attribute][1] for attribute in (*attributes, conclusion)]
        return f"{CROWDS[variable]} wote ambao ni {' na '.join(many[:-1])} ni {many[-1]}"


def _subject(clause: Clause) -> str:
    name = clause.fact.subject
    if name in VARIABLES:
        return words(KINDS[name], "" if clause.mention is Mention.NEW else "huyo")
    return _noun(name)


def _noun(name: str) -> str:
    return name if name in PERSONS else NOUNS[name][0]


def _predicate(clause: Clause) -> str:
    if clause.fact.object is None:
        copula = "" if clause.joined and clause.positive else "ni" if clause.positive else "si"
        return words(copula, ATTRIBUTES[clause.fact.predicate][0])
    return words(VERBS[clause.fact.predicate][not clause.positive], _noun(clause.fact.object))
