"""Greek: articles before names too, attributes agree in gender, objects are in the accusative."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, table, words
from dragoman_lab.reasoning.theories.vocabulary import SOMEONE, SOMETHING, VARIABLES

NOUNS = table("""
Anna: f, Άννα, Άννα
Maria: f, Μαρία, Μαρία
Sophia: f, Σοφία, Σοφία
Elena: f, Έλενα, Έλενα
David: m, Δαβίδ, Δαβίδ
Martin: m, Μαρτίνος, Μαρτίνο
Thomas: m, Θωμάς, Θωμά
Daniel: m, Δανιήλ, Δανιήλ
dog: m, σκύλος, σκύλο
cat: f, γάτα, γάτα
mouse: n, ποντίκι, ποντίκι
bear: f, αρκούδα, αρκούδα
lion: n, λιοντάρι, λιοντάρι
rabbit: n, κουνέλι, κουνέλι
cow: f, αγελάδα, αγελάδα
horse: n, άλογο, άλογο
fox: f, αλεπού, αλεπού
duck: f, πάπια, πάπια
goat: f, κατσίκα, κατσίκα
squirrel: m, σκίουρος, σκίουρο
""")
"""Gender, nominative, accusative."""
NOMINATIVE = {"m": "ο", "f": "η", "n": "το"}
ACCUSATIVE = {"m": "τον", "f": "την", "n": "το"}
MENTIONS = {
    SOMEONE: {Mention.NEW: ("m", "κάποιος"), Mention.SAME: ("m", ""), Mention.AGAIN: ("n", "αυτό το άτομο")},
    SOMETHING: {Mention.NEW: ("n", "ένα ζώο"), Mention.SAME: ("n", ""), Mention.AGAIN: ("n", "αυτό το ζώο")},
}

ATTRIBUTES = table("""
big: μεγάλος, μεγάλη, μεγάλο, μεγάλοι, μεγάλα
small: μικρός, μικρή, μικρό, μικροί, μικρά
strong: δυνατός, δυνατή, δυνατό, δυνατοί, δυνατά
weak: αδύναμος, αδύναμη, αδύναμο, αδύναμοι, αδύναμα
smart: έξυπνος, έξυπνη, έξυπνο, έξυπνοι, έξυπνα
kind: ευγενικός, ευγενική, ευγενικό, ευγενικοί, ευγενικά
quiet: ήσυχος, ήσυχη, ήσυχο, ήσυχοι, ήσυχα
happy: χαρούμενος, χαρούμενη, χαρούμενο, χαρούμενοι, χαρούμενα
sad: λυπημένος, λυπημένη, λυπημένο, λυπημένοι, λυπημένα
tired: κουρασμένος, κουρασμένη, κουρασμένο, κουρασμένοι, κουρασμένα
hungry: πεινασμένος, πεινασμένη, πεινασμένο, πεινασμένοι, πεινασμένα
brave: γενναίος, γενναία, γενναίο, γενναίοι, γενναία
lazy: τεμπέλης, τεμπέλα, τεμπέλικο, τεμπέληδες, τεμπέλικα
fast: γρήγορος, γρήγορη, γρήγορο, γρήγοροι, γρήγορα
clean: καθαρός, καθαρή, καθαρό, καθαροί, καθαρά
dirty: βρώμικος, βρώμικη, βρώμικο, βρώμικοι, βρώμικα
careful: προσεκτικός, προσεκτική, προσεκτικό, προσεκτικοί, προσεκτικά
red: κόκκινος, κόκκινη, κόκκινο, κόκκινοι, κόκκινα
green: πράσινος, πράσινη, πράσινο, πράσινοι, πράσινα
white: λευκός, λευκή, λευκό, λευκοί, λευκά
""")
FORMS = {"m": 0, "f": 1, "n": 2}
"""The plural is masculine, for people, or neuter, for animals."""

VERBS = table("""
chase: κυνηγάει
like: συμπαθεί
visit: επισκέπτεται
help: βοηθάει
fear: φοβάται
know: γνωρίζει
protect: προστατεύει
feed: ταΐζει
trust: εμπιστεύεται
avoid: αποφεύγει
""")


class Greek(Language):
    def clause(self, clause: Clause) -> str:
        gender, subject = _subject(clause)
        shown, negation = "" if clause.silent else subject, "" if clause.positive else "δεν"
        if clause.fact.object is None:
            copula = "" if clause.joined and clause.positive else "είναι"
            return words(shown, negation, copula, ATTRIBUTES[clause.fact.predicate][FORMS[gender]])
        return words(shown, negation, VERBS[clause.fact.predicate][0], _object(clause.fact.object))

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"αν {' και '.join(conditions)}, τότε {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        form, all_the, crowd = (3, "όλοι οι", "άνθρωποι") if variable == SOMEONE else (4, "όλα τα", "ζώα")
        inflected = [ATTRIBUTES[attribute][form] for attribute in (*attributes, conclusion)]
        return f"{all_the} {' και '.join(inflected[:-1])} {crowd} είναι {inflected[-1]}"


def _subject(clause: Clause) -> tuple[str, str]:
    """Gender and words."""
    name = clause.fact.subject
    if name in VARIABLES:
        return MENTIONS[name][clause.mention]
    gender, noun, _ = NOUNS[name]
    return gender, f"{NOMINATIVE[gender]} {noun}"


def _object(name: str) -> str:
    gender, _, noun = NOUNS[name]
    article = ACCUSATIVE[gender]
    # The feminine article keeps its last letter before vowels and the sounds k, p, t alone.
    if gender == "f" and noun[0].lower() not in "αάεέηήιίοόυύωώκπτξψ":
        article = "τη"
    return f"{article} {noun}"
