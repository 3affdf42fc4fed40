"""How many inflected words have the index term of their dictionary form, and how many words share terms wrongly.

    python -m dragoman_lab.benchmarks.lexicon.lemmas --data DATA --split tune --words 60

Reads DATA/lemmas and DATA/research_only/lemmas: words of Universal Dependencies with their dictionary forms. The split
is by a hash of the dictionary form. For each language it prints

- recall: of `--words` random words that differ from their dictionary form, the share with a term of it; a word with
  clitics has several terms,
- false matches: of 600 random dictionary forms and one word of each, with how many other dictionary forms a word
  shares a term, on average,
- which methods answered: rules of endings or of clitics (dragoman/indexes/analysis/forms, endings.tsv) and Lucene's
  stemmer.

The rules are learned from simplemma's dictionaries, which may have seen some of these treebanks.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from zlib import crc32

from rich.console import Console
from rich.table import Table

from dragoman.indexes.analysis.languages import analyser
from dragoman.indexes.analysis.pipeline import analysis as analysis_of
from dragoman.lexicon.text.tokens import Analysis, fold

FOLDERS = ("lemmas", "research_only/lemmas")
SPLITS = ("tune", "test")
SEED = 41
_MARKS = re.compile(r"(?<=\w)(?:[_+=](?=\w)|\(\w+\)$)")
"""Marks of treebanks between the parts of a compound (*groep_lid*, *be+kezd*), and their numbers of homonyms; Persian
has both stems of a verb."""
SAMPLED = 600
"""Dictionary forms among which false matches are counted."""


@dataclass(frozen=True)
class Pair:
    """A word and its dictionary form, as written."""

    form: str
    lemma: str


def terms_of(analysis: Analysis, text: str) -> set[str]:
    """All index terms that a text has in the index."""
    return {term for token in analysis.tokens(text) for term in (token.term, *token.further) if term}


def entry_terms(analysis: Analysis, text: str) -> set[str]:
    """The index terms by which an entry of a glossary is searched."""
    return {token.term for token in analysis.tokens(text) if token.term}


def folder_of(data_folder: Path) -> Path:
    """The folder of the lists: the one given or `data` in it."""
    return data_folder / "data" if (data_folder / "data").is_dir() else data_folder


def pairs_of(data_folder: Path, language: str, split: str) -> list[Pair]:
    """The words of one split of a language's list, in its order; without what treebanks mark in a lemma."""
    path = next(path for folder in FOLDERS if (path := folder_of(data_folder) / folder / f"{language}.tsv.gz").exists())
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [row[:2] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return [
        Pair(form, _MARKS.sub("", lemma).replace("#", " "))
        for form, lemma in rows
        if SPLITS[crc32(lemma.encode()) % 2] == split
    ]


def recall(analysis: Analysis, language: str, pairs: Sequence[Pair], count: int) -> tuple[float, list[Pair]]:
    """The share of inflected words with a term of their dictionary form, and those without."""
    inflected = [pair for pair in pairs if fold(pair.form, language) != fold(pair.lemma, language)]
    sample = random.Random(SEED).sample(inflected, min(count, len(inflected)))
    missed = [pair for pair in sample if not terms_of(analysis, pair.form) & entry_terms(analysis, pair.lemma)]
    return 1 - len(missed) / len(sample), missed


def false_matches(analysis: Analysis, language: str, pairs: Sequence[Pair]) -> tuple[float, list[tuple[str, str]]]:
    """With how many other dictionary forms a word shares a term, on average, and examples.

    Two dictionary forms that the list has for one word, or that are equal once folded, are not different.
    """
    chooser = random.Random(SEED)
    lemmas = sorted({pair.lemma for pair in pairs if terms_of(analysis, pair.lemma)})
    lemmas = chooser.sample(lemmas, min(SAMPLED, len(lemmas)))
    listed = {(fold(pair.form, language), fold(pair.lemma, language)) for pair in pairs}
    forms: dict[str, list[str]] = {}
    for pair in pairs:
        forms.setdefault(pair.lemma, []).append(pair.form)
    holding: dict[str, list[str]] = {}
    for lemma in lemmas:
        for term in entry_terms(analysis, lemma):
            holding.setdefault(term, []).append(lemma)
    matches = []
    for lemma in lemmas:
        form = chooser.choice(forms[lemma])
        others = {other for term in terms_of(analysis, form) for other in holding.get(term, ())}
        same = fold(lemma, language)
        for other in sorted(others):
            folded = fold(other, language)
            if folded != same and (fold(form, language), folded) not in listed:
                matches.append((form, other))
    return len(matches) / len(lemmas), matches


def methods_of(language: str) -> str:
    """What the analysis of a language consists of."""
    row = analyser(language)
    named = {"rules": row.forms, row.stemmer.partition("/")[2]: row.stemmer, row.segmenter: row.segmenter}
    return " + ".join(name for name, used in named.items() if used) or "words alone"


def languages(data_folder: Path) -> list[str]:
    """The languages that have a list."""
    return sorted(
        {path.name.split(".")[0] for folder in FOLDERS for path in (folder_of(data_folder) / folder).glob("*.gz")}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=SPLITS, default="tune")
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--languages", help="codes with commas between; default all")
    parser.add_argument("--show", type=int, default=0, help="print so many misses and false matches a language")
    parser.add_argument("--output", type=Path, help="a file for the figures as JSON")
    options = parser.parse_args()
    console = Console(width=140)
    table = Table("language", "recall", "false matches", "methods")
    figures = []
    for language in options.languages.split(",") if options.languages else languages(options.data):
        analysis = analysis_of(language)
        pairs = pairs_of(options.data, language, options.split)
        share, missed = recall(analysis, language, pairs, options.words)
        false, confused = false_matches(analysis, language, pairs)
        figures.append((share, false, language))
        table.add_row(language, f"{share:.3f}", f"{false:.3f}", methods_of(language))
        if options.show:
            for kind, shown in (("missed", [(p.form, p.lemma) for p in missed]), ("false", confused)):
                examples = ", ".join(f"{a} {b}" for a, b in shown[: options.show])
                console.print(f"{language} {kind}: {examples}", markup=False, highlight=False, soft_wrap=True)
    console.print(table)
    if options.output:
        listed = {language: {"recall": share, "false": false} for share, false, language in figures}
        options.output.write_text(json.dumps(listed, indent=1), encoding="utf-8")
    worst, most = min(figures), max(figures, key=lambda figure: figure[1])
    console.print(
        f"{len(figures)} languages: mean recall {mean(figure[0] for figure in figures):.3f}, worst {worst[0]:.3f}"
        f" ({worst[2]}); mean false matches {mean(figure[1] for figure in figures):.3f},"
        f" worst {most[1]:.3f} ({most[2]})"
    )


if __name__ == "__main__":
    main()
