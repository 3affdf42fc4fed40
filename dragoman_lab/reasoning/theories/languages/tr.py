"""Turkish: endings follow the vowels of the word; conditions are forms of the verb, or of the attribute itself."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, Place, table, words
from dragoman_lab.reasoning.theories.vocabulary import SOMEONE, SOMETHING, VARIABLES

CASES = {"nominative": 0, "accusative": 1, "dative": 2, "ablative": 3}
NOUNS = table("""
Anna: Anna, Anna'yı, Anna'ya, Anna'dan
Maria: Maria, Maria'yı, Maria'ya, Maria'dan
Sophia: Sophia, Sophia'yı, Sophia'ya, Sophia'dan
Elena: Elena, Elena'yı, Elena'ya, Elena'dan
David: David, David'i, David'e, David'den
Martin: Martin, Martin'i, Martin'e, Martin'den
Thomas: Thomas, Thomas'ı, Thomas'a, Thomas'tan
Daniel: Daniel, Daniel'i, Daniel'e, Daniel'den
dog: köpek, köpeği, köpeğe, köpekten
cat: kedi, kediyi, kediye, kediden
mouse: fare, fareyi, fareye, fareden
bear: ayı, ayıyı, ayıya, ayıdan
lion: aslan, aslanı, aslana, aslandan
rabbit: tavşan, tavşanı, tavşana, tavşandan
cow: inek, ineği, ineğe, inekten
horse: at, atı, ata, attan
fox: tilki, tilkiyi, tilkiye, tilkiden
duck: ördek, ördeği, ördeğe, ördekten
goat: keçi, keçiyi, keçiye, keçiden
squirrel: sincap, sincabı, sincaba, sincaptan
""")
KINDS = {SOMEONE: "kişi", SOMETHING: "hayvan"}
CROWDS = {SOMEONE: "insanlar", SOMETHING: "hayvanlar"}

ATTRIBUTES = table("""
big: büyük
small: küçük
strong: güçlü
weak: güçsüz
smart: akıllı
kind: nazik
quiet: sessiz
happy: mutlu
sad: üzgün
tired: yorgun
hungry: aç
brave: cesur
lazy: tembel
fast: hızlı
clean: temiz
dirty: kirli
careful: dikkatli
red: kırmızı
green: yeşil
white: beyaz
""")

VERBS = table("""
chase: accusative, kovalar, kovalamaz
like: accusative, sever, sevmez
visit: accusative, ziyaret eder, ziyaret etmez
help: dative, yardım eder, yardım etmez
fear: ablative, korkar, korkmaz
know: accusative, tanır, tanımaz
protect: accusative, korur, korumaz
feed: accusative, besler, beslemez
trust: dative, güvenir, güvenmez
avoid: ablative, kaçınır, kaçınmaz
""")
"""The case of the object, the verb and its negation."""

VOWELS = "aıoueiöü"
BACK = "aıou"
HIGH = dict(zip(VOWELS, "ııuuiiüü", strict=True))
"""The high vowel of an ending after each vowel."""
VOICELESS = "çfhkpsşt"


class Turkish(Language):
    def capital(self, letter: str) -> str:
        return "İ" if letter == "i" else letter.upper()

    def clause(self, clause: Clause) -> str:
        subject = "" if clause.silent else _subject(clause)
        condition = clause.place is Place.CONDITION
        if clause.fact.object is None:
            (attribute,) = ATTRIBUTES[clause.fact.predicate]
            *first, last = [attribute] if clause.positive else [attribute, "değil"]
            return words(subject, *first, _if(last) if condition else _is(last))
        case, *verbs = VERBS[clause.fact.predicate]
        verb = verbs[not clause.positive]
        return words(subject, NOUNS[clause.fact.object][CASES[case]], _if(verb) if condition else verb)

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"eğer {' ve '.join(conditions)}, {conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        had = " ve ".join(ATTRIBUTES[attribute][0] for attribute in attributes)
        return f"bütün {had} {CROWDS[variable]} {_is(ATTRIBUTES[conclusion][0])}"


def _subject(clause: Clause) -> str:
    name = clause.fact.subject
    if name in VARIABLES:
        return words("bir" if clause.mention is Mention.NEW else "o", KINDS[name])
    return NOUNS[name][0]


def _is(word: str) -> str:
    """The word with the ending -dir, which asserts."""
    return f"{word}{'t' if word[-1] in VOICELESS else 'd'}{HIGH[_last_vowel(word)]}r"


def _if(word: str) -> str:
    """The word with the conditional ending -se."""
    return f"{word}{'y' if word[-1] in VOWELS else ''}s{'a' if _last_vowel(word) in BACK else 'e'}"


def _last_vowel(word: str) -> str:
    return next(letter for letter in reversed(word) if letter in VOWELS)
