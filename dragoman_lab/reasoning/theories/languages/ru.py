"""Russian: no copula, attributes agree in gender, each verb has its case."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, table, words
from dragoman_lab.reasoning.theories.vocabulary import SOMEONE, SOMETHING, VARIABLES

CASES = {"nominative": 1, "accusative": 2, "genitive": 3, "dative": 4}
NOUNS = table("""
Anna: f, Анна, Анну, Анны, Анне
Maria: f, Мария, Марию, Марии, Марии
Sophia: f, София, Софию, Софии, Софии
Elena: f, Елена, Елену, Елены, Елене
David: m, Давид, Давида, Давида, Давиду
Martin: m, Мартин, Мартина, Мартина, Мартину
Thomas: m, Томас, Томаса, Томаса, Томасу
Daniel: m, Даниил, Даниила, Даниила, Даниилу
dog: f, собака, собаку, собаки, собаке
cat: f, кошка, кошку, кошки, кошке
mouse: f, мышь, мышь, мыши, мыши
bear: m, медведь, медведя, медведя, медведю
lion: m, лев, льва, льва, льву
rabbit: m, кролик, кролика, кролика, кролику
cow: f, корова, корову, коровы, корове
horse: f, лошадь, лошадь, лошади, лошади
fox: f, лиса, лису, лисы, лисе
duck: f, утка, утку, утки, утке
goat: f, коза, козу, козы, козе
squirrel: f, белка, белку, белки, белке
""")
"""Gender, nominative, accusative, genitive, dative."""
MENTIONS = {
    SOMEONE: {Mention.NEW: ("m", "человек"), Mention.SAME: ("m", "он"), Mention.AGAIN: ("m", "этот человек")},
    SOMETHING: {Mention.NEW: ("n", "животное"), Mention.SAME: ("n", "оно"), Mention.AGAIN: ("n", "это животное")},
}
PRONOUNS = {"m": "он", "f": "она"}
CROWDS = {SOMEONE: "люди", SOMETHING: "животные"}

ATTRIBUTES = table("""
big: большой
small: маленький
strong: сильный
weak: слабый
smart: умный
kind: добрый
quiet: тихий
happy: весёлый
sad: грустный
tired: усталый
hungry: голодный
brave: смелый
lazy: ленивый
fast: быстрый
clean: чистый
dirty: грязный
careful: осторожный
red: красный
green: зелёный
white: белый
""")
ENDINGS = {"f": "ая", "n": "ое"}

VERBS = table("""
chase: преследует, accusative
like: любит, accusative
visit: навещает, accusative
help: помогает, dative
fear: боится, genitive
know: знает, accusative
protect: защищает, accusative
feed: кормит, accusative
trust: доверяет, dative
avoid: избегает, genitive
""")


class Russian(Language):
    def clause(self, clause: Clause) -> str:
        gender, subject = _subject(clause)
        negation = "" if clause.positive else "не"
        if clause.fact.object is None:
            # An attribute after a verb, or after one that is negated, would read as said of something else.
            shown = "" if clause.silent and clause.joined else subject
            return words(shown, negation, _attribute(clause.fact.predicate, gender))
        verb, case = VERBS[clause.fact.predicate]
        return words("" if clause.silent else subject, negation, verb, NOUNS[clause.fact.object][CASES[case]])

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"если {' и '.join(conditions)}, то {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        inflected = [_plural(ATTRIBUTES[attribute][0]) for attribute in (*attributes, conclusion)]
        return f"все {' и '.join(inflected[:-1])} {CROWDS[variable]} {inflected[-1]}"


def _subject(clause: Clause) -> tuple[str, str]:
    """Gender and words."""
    name = clause.fact.subject
    if name in VARIABLES:
        return MENTIONS[name][clause.mention]
    gender, noun, *_ = NOUNS[name]
    return gender, PRONOUNS[gender] if clause.silent else noun


def _attribute(attribute: str, gender: str) -> str:
    (form,) = ATTRIBUTES[attribute]
    return form if gender == "m" else form[:-2] + ENDINGS[gender]


def _plural(form: str) -> str:
    return form[:-2] + ("ие" if form[-3] in "гкхшж" else "ые")
