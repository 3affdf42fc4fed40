"""French: attributes agree with the subject, "ne ... pas" surrounds the verb, "le" and "les" merge with "à"."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, Place, table, words
from dragoman_lab.reasoning.theories.vocabulary import PERSONS, SOMEONE, SOMETHING, VARIABLES, WOMEN

NOUNS = table("""
dog: m, chien
cat: m, chat
mouse: f, souris
bear: m, ours
lion: m, lion
rabbit: m, lapin
cow: f, vache
horse: m, cheval
fox: m, renard
duck: m, canard
goat: f, chèvre
squirrel: m, écureuil
""")
MENTIONS = {
    SOMEONE: {Mention.NEW: ("m", "quelqu'un"), Mention.SAME: ("m", "il"), Mention.AGAIN: ("f", "cette personne")},
    SOMETHING: {Mention.NEW: ("m", "un animal"), Mention.SAME: ("m", "il"), Mention.AGAIN: ("m", "cet animal")},
}
CROWDS = {SOMEONE: ("f", "toutes les personnes"), SOMETHING: ("m", "tous les animaux")}

ATTRIBUTES = table("""
big: grand, grande
small: petit, petite
strong: fort, forte
weak: faible, faible
smart: intelligent, intelligente
kind: gentil, gentille
quiet: calme, calme
happy: heureux, heureuse
sad: triste, triste
tired: fatigué, fatiguée
hungry: affamé, affamée
brave: courageux, courageuse
lazy: paresseux, paresseuse
fast: rapide, rapide
clean: propre, propre
dirty: sale, sale
careful: prudent, prudente
red: rouge, rouge
green: vert, verte
white: blanc, blanche
""")
"""Masculine and feminine."""

VERBS = table("""
chase: poursuit
like: aime
visit: rend visite à
help: aide
fear: craint
know: connaît
protect: protège
feed: nourrit
trust: fait confiance à
avoid: évite
""")


class French(Language):
    def clause(self, clause: Clause) -> str:
        gender, subject = _subject(clause)
        if clause.fact.object is None:
            verb, rest = "est", _attribute(clause.fact.predicate, gender)
            if clause.joined and clause.positive:
                return rest
        else:
            verb, _, rest = VERBS[clause.fact.predicate][0].partition(" ")
            rest = _with_object(rest, clause.fact.object)
        if not clause.positive:
            verb = f"n'{verb} pas" if verb[0] in "aeéè" else f"ne {verb} pas"
        return words(*_opening(clause, subject), verb, rest)

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"{' et '.join(conditions)}, alors {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        gender, crowd = CROWDS[variable]
        inflected = [_plural(_attribute(attribute, gender)) for attribute in (*attributes, conclusion)]
        return f"{crowd} qui sont {' et '.join(inflected[:-1])} sont {inflected[-1]}"


def _opening(clause: Clause, subject: str) -> list[str]:
    """The subject of a clause, where it is said; in a condition with "si", which is said again with another subject."""
    if clause.silent:
        return []
    return ["si", subject] if clause.place is Place.CONDITION else [subject]


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
    if noun[0] in "aeéèo":
        return f"l'{noun}"
    return f"{'le' if gender == 'm' else 'la'} {noun}"


def _with_object(rest: str, name: str) -> str:
    if rest.endswith("à") and (noun := _noun(name)).startswith("le "):
        return f"{rest.removesuffix('à')}au {noun.removeprefix('le ')}"
    return words(rest, _noun(name))


def _attribute(attribute: str, gender: str) -> str:
    return ATTRIBUTES[attribute][gender == "f"]


def _plural(form: str) -> str:
    return form if form.endswith(("s", "x")) else form + "s"
