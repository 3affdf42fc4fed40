"""Spanish: subjects are left out where they are clear, "ser" or "estar" goes with the attribute, "a" and "el" merge."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, table, words
from dragoman_lab.reasoning.theories.vocabulary import PERSONS, SOMEONE, SOMETHING, VARIABLES, WOMEN

NOUNS = table("""
dog: m, perro
cat: m, gato
mouse: m, ratón
bear: m, oso
lion: m, león
rabbit: m, conejo
cow: f, vaca
horse: m, caballo
fox: m, zorro
duck: m, pato
goat: f, cabra
squirrel: f, ardilla
""")
MENTIONS = {
    SOMEONE: {Mention.NEW: ("m", "alguien"), Mention.SAME: ("m", ""), Mention.AGAIN: ("f", "esa persona")},
    SOMETHING: {Mention.NEW: ("m", "un animal"), Mention.SAME: ("m", ""), Mention.AGAIN: ("m", "ese animal")},
}
CROWDS = {SOMEONE: ("f", "todas las personas"), SOMETHING: ("m", "todos los animales")}
PLURALS = {"es": "son", "está": "están"}

ATTRIBUTES = table("""
big: es, grande, grande
small: es, pequeño, pequeña
strong: es, fuerte, fuerte
weak: es, débil, débil
smart: es, listo, lista
kind: es, amable, amable
quiet: es, tranquilo, tranquila
happy: está, contento, contenta
sad: está, triste, triste
tired: está, cansado, cansada
hungry: está, hambriento, hambrienta
brave: es, valiente, valiente
lazy: es, perezoso, perezosa
fast: es, rápido, rápida
clean: está, limpio, limpia
dirty: está, sucio, sucia
careful: es, prudente, prudente
red: es, rojo, roja
green: es, verde, verde
white: es, blanco, blanca
""")
"""Copula, masculine and feminine."""

VERBS = table("""
chase: persigue a
like: quiere a
visit: visita a
help: ayuda a
fear: teme a
know: conoce a
protect: protege a
feed: alimenta a
trust: confía en
avoid: evita a
""")


class Spanish(Language):
    def clause(self, clause: Clause) -> str:
        gender, subject = _subject(clause)
        negation = "" if clause.positive else "no"
        if clause.fact.object is None:
            verb, rest = ATTRIBUTES[clause.fact.predicate][0], _attribute(clause.fact.predicate, gender)
        else:
            verb, rest = _verb_with_object(VERBS[clause.fact.predicate][0], clause.fact.object), ""
        return words("" if clause.silent else subject, negation, verb, rest)

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"si {' y '.join(conditions)}, entonces {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        gender, crowd = CROWDS[variable]
        said = [
            words(PLURALS[ATTRIBUTES[attribute][0]], _plural(_attribute(attribute, gender)))
            for attribute in (*attributes, conclusion)
        ]
        return f"{crowd} que {' y '.join(said[:-1])} {said[-1]}"


def _subject(clause: Clause) -> tuple[str, str]:
    """Gender and words."""
    name = clause.fact.subject
    if name in VARIABLES:
        return MENTIONS[name][clause.mention]
    if name in PERSONS:
        return "f" if name in WOMEN else "m", name
    return NOUNS[name][0], _noun(name)


def _noun(name: str) -> str:
    if name in PERSONS:
        return name
    gender, noun = NOUNS[name]
    return f"{'el' if gender == 'm' else 'la'} {noun}"


def _verb_with_object(verb: str, name: str) -> str:
    noun = _noun(name)
    return f"{verb}l {noun.removeprefix('el ')}" if verb.endswith(" a") and noun.startswith("el ") else f"{verb} {noun}"


def _attribute(attribute: str, gender: str) -> str:
    return ATTRIBUTES[attribute][1 + (gender == "f")]


def _plural(form: str) -> str:
    return form + ("s" if form[-1] in "aeo" else "es")
