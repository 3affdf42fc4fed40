"""Make the lists of words that compounds are made of, dragoman/indexes/analysis/compounds/<language>.txt.gz.

    python scripts/compound_words.py [--languages de nl]

The words are dictionary forms of nouns in simplemma's dictionaries. One is kept if several other nouns begin or end
with it and leave a noun, so that what looks like a word but makes no compounds (*schaft*) splits none, and if it is no
compound itself. A line is a folded word: ``haus`` may begin and end a compound, ``-haus`` only end one and ``haus-``
only begin one. ``hauser haus`` is an inflected form that no usual ending explains. ``!romantische`` is not split: it
is a form of a word that is no noun.
"""

from __future__ import annotations

import argparse
import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from simplemma.strategies.dictionaries.stream_dictionary_factory import StreamDictionaryFactory

from dragoman.indexes.analysis.compounds import COMPOUNDING, Compounds, Grammar, lemma_by_ending
from dragoman.lexicon.text.folding import fold

_FOLDER = Path(__file__).resolve().parents[1] / "dragoman" / "indexes" / "analysis" / "compounds"
_SHORTEST = 4
_LONGEST = 20
_PARTNERS = 3
"""Other words with which a short word must make compounds to be kept as their beginning or as their end."""
_SURE = 7
"""Letters of a word that is no accident: one compound is enough."""
_NOUN_ENDINGS = {
    "da": ("ene", "erne", "ens", "ets"),
    "fi": ("lta", "ltä"),
    "nb": ("ene",),
    "nn": ("ane", "ene"),
    "sv": ("arna", "orna", "erna", "ens", "ets"),
}
"""Endings that only a noun's forms have."""


def nouns(language: str) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """The folded dictionary forms of nouns with their folded forms; those of other words, and all forms of these."""
    forms: dict[str, set[str]] = defaultdict(set)
    for form, lemma in StreamDictionaryFactory(cache_max_size=1).get_dictionary(language).items():
        if len(lemma) >= _SHORTEST and lemma.isalpha() and form.isalpha():
            forms[lemma].add(form)
    found: dict[str, set[str]] = defaultdict(set)
    others: set[str] = set()
    lemmas: set[str] = set()
    for lemma, own in forms.items():
        if not _is_noun(language, lemma, own):
            if lemma == lemma.lower():
                lemmas.add(fold(lemma, language))
                others.update(fold(form, language) for form in own if form == form.lower())
        elif len(word := fold(lemma, language)) >= _SHORTEST:
            found[word].update(fold(form, language) for form in own)
    if language != "de":  # in German a noun is written differently, and a form of both is more often no noun
        others.difference_update(*found.values())
    return found, lemmas, others


def _is_noun(language: str, lemma: str, forms: Iterable[str]) -> bool:
    if language == "de":
        return lemma[0].isupper() and not lemma.isupper()
    if lemma != lemma.lower():
        return False
    if language == "nl":
        verb = lemma.endswith("en") and any(form.startswith("ge") or form.endswith(("te", "de")) for form in forms)
        return not verb and not any(form.endswith("ste") for form in forms)
    return any(form.endswith(_NOUN_ENDINGS[language]) for form in forms)


def elements(
    words: Mapping[str, set[str]], lemmas: set[str], grammar: Grammar
) -> tuple[set[str], set[str], Mapping[str, int]]:
    """The words that begin compounds, and those that end them; compounds themselves are left out.

    The last is how many compounds each word ends.
    """
    begins: dict[str, set[str]] = defaultdict(set)
    ends: dict[str, set[str]] = defaultdict(set)
    compounds: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for word in words:
        for place in range(_SHORTEST, len(word) - _SHORTEST + 1):
            end = word[place:]
            if end not in words or end in grammar.suffixes:
                continue
            for begin in grammar.beginnings(word[:place]):
                if (begin in words or begin in lemmas) and begin not in grammar.prefixes:
                    begins[begin].add(end)
                    ends[end].add(begin)
                    compounds[word].append((begin, end))
    first = {word for word, others in begins.items() if len(others) >= _needed(word) * (1 if word in words else 2)}
    last = {word for word, others in ends.items() if len(others) >= _needed(word)}
    split = {word for word, sides in compounds.items() if any(a in first and b in last for a, b in sides)}
    kept = {word for word in first | last if word not in split and len(word) <= _LONGEST}
    return first & kept, last & kept, {word: len(others) for word, others in ends.items()}


def _needed(word: str) -> int:
    return 1 if len(word) >= _SURE else _PARTNERS


def lines(language: str) -> list[str]:
    """The lines of a language's list, in order."""
    grammar = COMPOUNDING[language]
    words, lemmas, others = nouns(language)
    first, last, times = elements(words, lemmas if language != "de" else set(), grammar)
    forms: dict[str, str] = {}
    for word in sorted(last, key=lambda word: (times[word], word)):
        for form in words[word]:
            if len(form) >= _SHORTEST and form[:2] == word[:2] and form != word:
                usual = lemma_by_ending(form, last, grammar)
                if usual is None or (usual != word and times[usual] < times[word]):
                    forms[form] = word
    found = {f"{word}-" for word in first - last} | {f"-{word}" for word in last - first} | first & last
    found.update(f"{form} {word}" for form, word in forms.items())
    split = Compounds(language, (first, last, forms, frozenset()))
    found.update(f"!{word}" for word in others if split(word))
    return sorted(found)


def main() -> None:
    """Write the lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", default=sorted(COMPOUNDING))
    for language in parser.parse_args().languages:
        content = "\n".join(lines(language)).encode()
        path = _FOLDER / f"{language}.txt.gz"
        path.write_bytes(gzip.compress(content, mtime=0))
        print(f"{language}: {len(content.splitlines())} lines, {path.stat().st_size} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
