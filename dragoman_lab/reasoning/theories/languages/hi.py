"""Hindi: verbs come last and agree with the subject; objects are oblique, with the postposition of their verb."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, table, words
from dragoman_lab.reasoning.theories.vocabulary import SOMEONE, SOMETHING, VARIABLES

NOUNS = table("""
Anna: f, अन्ना
Maria: f, मारिया
Sophia: f, सोफ़िया
Elena: f, एलेना
David: m, डेविड
Martin: m, मार्टिन
Thomas: m, थॉमस
Daniel: m, डैनियल
dog: m, कुत्ता, कुत्ते
cat: f, बिल्ली
mouse: m, चूहा, चूहे
bear: m, भालू
lion: m, शेर
rabbit: m, ख़रगोश
cow: f, गाय
horse: m, घोड़ा, घोड़े
fox: f, लोमड़ी
duck: f, बत्तख़
goat: f, बकरी
squirrel: f, गिलहरी
""")
"""Gender, direct form, and the oblique where it is another."""
MENTIONS = {
    SOMEONE: {Mention.NEW: "कोई व्यक्ति", Mention.SAME: "वह", Mention.AGAIN: "वह व्यक्ति"},
    SOMETHING: {Mention.NEW: "कोई जानवर", Mention.SAME: "वह", Mention.AGAIN: "वह जानवर"},
}
CROWDS = {SOMEONE: "लोग", SOMETHING: "जानवर"}

ATTRIBUTES = table("""
big: बड़ा, बड़ी, बड़े
small: छोटा, छोटी, छोटे
strong: ताक़तवर
weak: कमज़ोर
smart: होशियार
kind: दयालु
quiet: शांत
happy: ख़ुश
sad: दुखी
tired: थका हुआ, थकी हुई, थके हुए
hungry: भूखा, भूखी, भूखे
brave: बहादुर
lazy: आलसी
fast: तेज़
clean: साफ़
dirty: गंदा, गंदी, गंदे
careful: सावधान
red: लाल
green: हरा, हरी, हरे
white: सफ़ेद
""")
"""Masculine, feminine and masculine plural, or one form of all."""
FORMS = {"m": 0, "f": 1}

VERBS = table("""
chase: का पीछा, कर
like: को पसंद, कर
visit: से मिलने, जा
help: की मदद, कर
fear: से, डर
know: को, जान
protect: की रक्षा, कर
feed: को खाना, खिला
trust: पर भरोसा, कर
avoid: से, बच
""")
"""What follows the object, with its postposition, and the stem of the verb."""


class Hindi(Language):
    full_stop = "।"

    def clause(self, clause: Clause) -> str:
        gender, subject = _subject(clause)
        return words("" if clause.silent else subject, _predicate(clause, gender))

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"अगर {' और '.join(conditions)}, तो {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        inflected = [ATTRIBUTES[attribute][-1] for attribute in (*attributes, conclusion)]
        return f"सभी {' और '.join(inflected[:-1])} {CROWDS[variable]} {inflected[-1]} हैं"


def _subject(clause: Clause) -> tuple[str, str]:
    """Gender and words."""
    name = clause.fact.subject
    if name in VARIABLES:
        return "m", MENTIONS[name][clause.mention]
    return NOUNS[name][0], NOUNS[name][1]


def _predicate(clause: Clause, gender: str) -> str:
    if clause.fact.object is None:
        forms = ATTRIBUTES[clause.fact.predicate]
        form = forms[FORMS[gender]] if len(forms) > 1 else forms[0]
        return words(form, "" if clause.positive else "नहीं", "है")
    after_object, stem = VERBS[clause.fact.predicate]
    verb = stem + ("ता" if gender == "m" else "ती")
    end = f"{verb} है" if clause.positive else f"नहीं {verb}"
    return words(NOUNS[clause.fact.object][-1], after_object, end)
