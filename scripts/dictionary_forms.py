"""Makes dragoman/indexes/analysis/forms/*.tsv.gz, rules of endings, from simplemma's dictionaries; needs simplemma.

    python scripts/dictionary_forms.py [--folder FOLDER] [LANGUAGE...]

A line is how many characters of a folded word are cut TAB what is appended TAB the endings, with a space between two;
`^` begins an ending that is a whole word. Prints for each language the size of the file, the share of the dictionary
that the rules reproduce, and the share of the words of held-out dictionary forms that rules learned from the other
nine tenths do.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from zlib import crc32

from ending_rules import UNCHANGED, WHOLE, Rule, apply, learn, rule_of
from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

from dragoman.lexicon.text.folding import APOSTROPHES
from dragoman.lexicon.text.tokens import fold

FOLDER = Path(__file__).parents[1] / "dragoman" / "indexes" / "analysis" / "forms"
SHARED = {"hr": "hbs"}
"""Languages that have the dictionary of another code."""
PRICE = 0.95
"""What a rule must save; below 1, which a long word weighs, every word of the dictionary is reproduced."""
PRICES = {"ar": 1.2, "he": 1.2, "hy": 1.2, "hu": 1.2, "mk": 1.2, "pl": 1.2, "tr": 1.2}
"""Languages whose rules would be too many, or get words in no dictionary wrong more often."""
LANGUAGES = (
    *("ar", "bg", "ca", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fr", "gl", "he", "hi", "hr", "hu", "hy"),
    *("id", "is", "it", "ka", "lt", "lv", "mk", "nb", "nl", "nn", "pl", "pt", "ro", "ru", "sk", "sl", "sq"),
    *("sv", "tr", "uk"),
)
LONGEST = 10
"""Most characters of an ending."""
MOST_WORDS = 700_000
SHORT = 8
"""Of a larger dictionary, words of so many characters are all read, others by a hash of their dictionary form."""

LEAST_FORMS = 20
"""A dictionary form of so many words is not a form of another, whatever the dictionary says."""
HELD_OUT = 10
NOUNS_BY_ACCENT = frozenset({"ca", "es", "gl", "pt"})
"""Languages whose nouns often differ from a form of a verb by an accent alone, which folding removes: *música* and
*musica*, *volcán* and *volcan*."""
INFINITIVES = ("ar", "er", "ir")
CORRECTIONS = {
    "es": {"alpes": "alpes", "anade": "anadir", "cometa": "cometa", "cometas": "cometa"},
    "it": {"lavori": "lavoro", "lavoro": "lavoro"},
    "pt": {"deu": "dar", "musica": "musica", "musicas": "musica", "sabia": "saber"},
}
"""Frequent words whose dictionary form simplemma lacks or has wrong."""
CLITICS = {
    "he": {"ה": 4, "ו": 2, "ב": 3, "ל": 3, "כ": 1, "מ": 2, "ש": 2, "וה": 1, "שה": 1, "מה": 1, "וב": 0.5, "ול": 0.5}
    | {"ומ": 0.5, "וש": 0.5, "כש": 0.5, "שב": 0.3, "שמ": 0.3, "של": 0.3},
}
"""Clitics at the beginning of a word, and how frequent they are."""
CLITIC_PRICE = 2.5
WITH_CLITICS = 6
"""One of so many words is learned with clitics."""
APOSTROPHE_WITHIN = frozenset({"uk", "be"})


def entries(language: str) -> Iterator[tuple[str, str, int]]:
    """simplemma's words and dictionary forms, folded, without those that are no single word of letters.

    The number is 0 for a word that folding leaves as it is, 1 for one in lower case, else 2.
    """
    dictionary = DefaultDictionaryFactory(cache_max_size=1).get_dictionary(SHARED.get(language, language))
    table: dict[int, str] = {}
    for word in dictionary:
        form = dictionary[word]
        for character in word + form:
            if ord(character) not in table:
                table[ord(character)] = fold(character, language)
        folded, folded_form = word.translate(table), form.translate(table)
        if language in SHARED and "\u0400" <= folded[:1] <= "\u04ff":
            continue  # the same words in Cyrillic letters, which are transliterated
        if is_word(folded, language) and is_word(folded_form, language):
            yield folded, folded_form, 0 if word == folded else 1 + (word != word.lower())


def is_word(text: str, language: str) -> bool:
    """Whether a text is a single word of letters and their marks."""
    if language in APOSTROPHE_WITHIN:
        text = text.strip(APOSTROPHES) and text.replace("'", "")
    return text.isalpha() or (bool(text) and all(c.isalpha() or (c > "\u0900" and not c.isspace()) for c in text))


def dictionary_of(found: Iterable[tuple[str, str, int]]) -> dict[str, str]:
    """One dictionary form for each folded word.

    Of the words that fold to it, those that folding changes least decide: the form that most words have.
    """
    forms: dict[str, tuple[int, set[str]]] = {}
    words: Counter[str] = Counter()
    for word, form, changed in found:
        words[form] += form != word
        least, known = forms.get(word, (changed + 1, set()))
        if changed < least:
            forms[word] = changed, {form}
        elif changed == least:
            known.add(form)
    chosen: dict[str, str] = {}
    for word, (_, known) in forms.items():
        best = max(known, key=lambda form: (words[form], form == word, -len(form), form))
        chosen[word] = word if words[word] >= LEAST_FORMS else best
    for form in words:
        chosen.setdefault(form, form)
    return chosen


def nouns_by_accent(found: Iterable[tuple[str, str, int]], chosen: Mapping[str, str]) -> dict[str, str]:
    """The accented words that are dictionary forms, and their forms, where a form of a verb was chosen.

    Texts have *música* far more often than *musica*, a form of *musicar*. In treebanks the accented word is the right
    one of nine tenths of such words. A participle stays one (*caído*, *caer*).
    """
    accented = [(word, form) for word, form, changed in found if changed == 1]
    of_verbs = {word for word, _ in accented if _is_of_verb(word, chosen[word])}
    nouns = {word for word, form in accented if word == form and word in of_verbs}
    return {word: form for word, form in accented if form in nouns and word in of_verbs}


def _is_of_verb(word: str, form: str) -> bool:
    """Whether a word is a form of a verb, but neither that itself nor its participle."""
    participles = {f"{form[:-2]}{ending}" for ending in ("ado", "ada", "ido", "ida")}
    return word != form and form.endswith(INFINITIVES) and word.removesuffix("s") not in participles


def sampled(dictionary: Mapping[str, str]) -> dict[str, str]:
    """At most about :data:`MOST_WORDS` words of a dictionary, with all the forms of the chosen ones."""
    if len(dictionary) <= MOST_WORDS:
        return dict(dictionary)
    short = sum(len(word) <= SHORT for word in dictionary)
    share = int((MOST_WORDS - min(short, MOST_WORDS // 2)) / (len(dictionary) - short) * 2**32)
    return {word: form for word, form in dictionary.items() if len(word) <= SHORT or crc32(form.encode()) < share}


def weight(word: str) -> float:
    """How much a word counts: short words are frequent."""
    return max(1.0, 9.0 - len(word))


def beginnings(dictionary: Mapping[str, str], clitics: Mapping[str, float]) -> dict[str, Rule]:
    """How many characters to cut from words with each beginning: those of clitics that no word of its own begins with.

    The rules are learned as those of endings are, from words read backwards.
    """
    weights = {word[::-1]: 2 * weight(word) for word in dictionary}
    backwards = {word: word for word in weights}
    for word in dictionary:
        if crc32(word.encode()) % WITH_CLITICS == 0 and len(word) > 2:
            for clitic, frequency in clitics.items():
                joined = (clitic + word)[::-1]
                if joined not in backwards:
                    backwards[joined], weights[joined] = word[::-1], frequency
    found = learn(backwards, CLITIC_PRICE, weights.__getitem__, LONGEST)
    rules = {one[::-1]: (-cut, "") for one, (cut, append) in found.items() if not (append or one.startswith(WHOLE))}
    for form in set(dictionary.values()):
        lengths = (length for length in range(min(LONGEST, len(form)), 0, -1) if form[:length] in rules)
        if rules.get(form[: next(lengths, 0)], UNCHANGED)[0]:
            rules[WHOLE + form] = rule_of(form, dictionary[form])  # a dictionary form is never taken apart
    return rules


def encoded(rules: Mapping[str, Rule]) -> bytes:
    """The file of rules; the number of characters to cut is negative for beginnings."""
    endings: dict[Rule, list[str]] = defaultdict(list)
    for ending, rule in rules.items():
        endings[rule].append(ending)
    lines = (
        f"{cut}\t{append}\t{' '.join(sorted(found, key=lambda one: (not one.startswith(WHOLE), one)))}\n"
        for (cut, append), found in sorted(endings.items())
    )
    return gzip.compress("".join(lines).encode(), 9, mtime=0)


def reproduced(rules: Mapping[str, Rule], dictionary: Mapping[str, str]) -> float:
    """The share of a dictionary's words whose form the rules give."""
    longest = max((len(ending) for ending in rules if not ending.startswith(WHOLE)), default=0)
    return sum(apply(rules, word, longest) == form for word, form in dictionary.items()) / max(1, len(dictionary))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--held-out", action="store_true", help="measure words held out, too: doubles the time")
    options = parser.parse_args()
    for language in options.languages or LANGUAGES:
        started = time.monotonic()
        found = list(entries(language))
        chosen = dictionary_of(found)
        nouns = nouns_by_accent(found, chosen) if language in NOUNS_BY_ACCENT else {}
        dictionary = sampled(chosen | nouns | CORRECTIONS.get(language, {}))
        price = PRICES.get(language, PRICE)
        rules = learn(dictionary, price, weight, LONGEST)
        content = encoded(rules)
        if language in CLITICS:
            content = encoded(rules | beginnings(dictionary, CLITICS[language]))
        (options.folder / f"{language}.tsv.gz").write_bytes(content)
        figures = f"{reproduced(rules, dictionary):.3f} reproduced"
        if options.held_out:
            held = {word: form for word, form in dictionary.items() if crc32(form.encode()) % HELD_OUT == 0}
            kept = learn({w: f for w, f in dictionary.items() if w not in held}, price, weight, LONGEST)
            figures += f", {reproduced(kept, held):.3f} held out"
        sys.stdout.write(
            f"{language}: {len(dictionary)} words, {len(rules)} rules, {len(content) / 1000:.0f} kB, {figures},"
            f" {time.monotonic() - started:.0f} s\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
