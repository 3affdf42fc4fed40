"""Arabic: nominal sentences without a copula; after "kāna" and "laysa" an attribute is in the accusative."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, Place, table, words
from dragoman_lab.reasoning.theories.vocabulary import PERSONS, SOMEONE, SOMETHING, VARIABLES, WOMEN

NAMES = table("""
Anna: آنا
Maria: ماريا
Sophia: صوفيا
Elena: إيلينا
David: ديفيد
Martin: مارتن
Thomas: توماس
Daniel: دانيال
""")
NOUNS = table("""
dog: m, كلب
cat: f, قطة
mouse: m, فأر
bear: m, دب
lion: m, أسد
rabbit: m, أرنب
cow: f, بقرة
horse: m, حصان
fox: m, ثعلب
duck: f, بطة
goat: f, عنزة
squirrel: m, سنجاب
""")
KINDS = {SOMEONE: "شخص", SOMETHING: "حيوان"}

ATTRIBUTES = table("""
big: كبير
small: صغير
strong: قوي
weak: ضعيف
smart: ذكي
kind: لطيف
quiet: هادئ
happy: سعيد
sad: حزين
tired: متعب
hungry: جائع
brave: شجاع
lazy: كسول
fast: سريع
clean: نظيف
dirty: قذر
careful: حذر
red: أحمر, حمراء
green: أخضر, خضراء
white: أبيض, بيضاء
""")
"""The masculine, and the feminine of colours, which have no ending in the accusative either."""
INDEFINITE_ACCUSATIVE = "ًا"

VERBS = table("""
chase: يطارد
like: يحب
visit: يزور
help: يساعد
fear: يخاف من
know: يعرف
protect: يحمي
feed: يطعم
trust: يثق ب
avoid: يتجنب
""")
"""The masculine; the feminine begins with another letter."""


class Arabic(Language):
    def clause(self, clause: Clause) -> str:
        feminine, subject = _subject(clause)
        if clause.place is Place.CONDITION:
            return _condition(clause, feminine, "" if clause.silent else subject)
        if clause.place is Place.CONCLUSION:
            opening = "فهو" if clause.mention is Mention.SAME else f"فإن {subject}"
            return words(opening, _predicate(clause, feminine))
        if clause.positive:
            return words(subject, _predicate(clause, feminine))
        if clause.fact.object is not None:
            return words(subject, "لا", _predicate(clause, feminine))
        return words(subject, "ليست" if feminine else "ليس", _accusative(clause.fact.predicate, feminine))

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"إذا {' و'.join(conditions)}، {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        kind = KINDS[variable]
        had = " و".join(_attribute(attribute, feminine=False) for attribute in attributes)
        return f"كل {kind} {had} هو {kind} {_attribute(conclusion, feminine=False)}"


def _condition(clause: Clause, feminine: bool, subject: str) -> str:
    masculine_opening, feminine_opening = ("كان", "كانت") if clause.positive else ("لم يكن", "لم تكن")
    opening = feminine_opening if feminine else masculine_opening
    if clause.fact.object is not None:
        return words(opening, subject, _predicate(clause, feminine))
    if clause.joined and clause.positive:
        return _accusative(clause.fact.predicate, feminine)
    return words(opening, subject, _accusative(clause.fact.predicate, feminine))


def _subject(clause: Clause) -> tuple[bool, str]:
    """Whether it is feminine, and words."""
    name = clause.fact.subject
    if name in VARIABLES:
        return False, f"{KINDS[name]} ما" if clause.mention is Mention.NEW else f"هذا ال{KINDS[name]}"
    return name in WOMEN or (name in NOUNS and NOUNS[name][0] == "f"), _noun(name)


def _noun(name: str) -> str:
    return NAMES[name][0] if name in PERSONS else f"ال{NOUNS[name][1]}"


def _predicate(clause: Clause, feminine: bool) -> str:
    if clause.fact.object is None:
        return _attribute(clause.fact.predicate, feminine)
    verb = VERBS[clause.fact.predicate][0]
    verb = f"ت{verb[1:]}" if feminine else verb
    noun = _noun(clause.fact.object)
    return f"{verb}{noun}" if verb.endswith(" ب") else f"{verb} {noun}"


def _attribute(attribute: str, feminine: bool) -> str:
    masculine, *colour = ATTRIBUTES[attribute]
    if not feminine:
        return masculine
    return colour[0] if colour else f"{masculine}ة"


def _accusative(attribute: str, feminine: bool) -> str:
    form = _attribute(attribute, feminine)
    return form if feminine or len(ATTRIBUTES[attribute]) > 1 else form + INDEFINITE_ACCUSATIVE
