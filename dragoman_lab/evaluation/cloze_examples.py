"""Questions out of parallel text: a sentence without one of its words, and its translation among others as the context.

Nobody asked them, but what they teach is what a question in another language needs: to find the sentence that says the
same, and the place in it that the question leaves open. A word is left out where the tables know a translation of it
that stands in the translated sentence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.tokens import content_terms
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.text_files import TextFile, text_files
from dragoman_lab.reasoning.examples import Example

GAP = "?"
SHORTEST, LONGEST = 24, 240
"""Characters of an English sentence."""
SENTENCES = (3, 8)
"""Of a context."""
KEPT = 40_000
"""The most pairs of a language that are drawn from."""

Pair = tuple[str, str]
"""A sentence, and its English translation."""


def files_with(folder: Path, language: str, without: Sequence[str] = ()) -> list[TextFile]:
    """The files of English and another language, but for those whose names begin with one of `without`.

    Raises:
        ConfigError: there are none.
    """
    found = [file for file in text_files([folder]) if set(file.languages) == {language, "en"}]
    kept = [file for file in found if not file.path.name.startswith(tuple(without))]
    if not kept:
        raise ConfigError(f"sources: parallel: {folder} has no text of {language} and en")
    return kept


def clozes(files: Sequence[TextFile], language: str, table: Table, count: int, seed: int) -> Iterator[Example]:
    """At most `count` examples of English and another language, the question in either; `table` is from English."""
    noise = random.Random(f"{seed} cloze {language}")
    found = list(dict.fromkeys(pair for file in files for pair in _sentences(file, language)))
    pairs = noise.sample(found, min(KEPT, len(found)))
    inverse, made = table.inverse(), 0
    for pair in pairs:
        if made == count:
            return
        asked = noise.random() < 0.5
        question, context = pair if asked else (pair[1], pair[0])
        languages = (language, "en") if asked else ("en", language)
        gap = _gap(question, context, *languages, inverse if asked else table, noise)
        if gap is None:
            continue
        (start, end), (first, last) = gap
        others = [one[asked] for one in noise.sample(pairs, min(len(pairs), noise.randint(*SENTENCES) - 1))]
        place = noise.randint(0, len(others))
        before = "".join(f"{one} " for one in others[:place])
        text = before + context + "".join(f" {one}" for one in others[place:])
        made += 1
        answer = (len(before) + first, len(before) + last)
        yield Example(question[:start] + GAP + question[end:], text, *languages, [answer])


def _sentences(file: TextFile, language: str) -> Iterator[Pair]:
    own = file.languages.index(language)
    for row in file.rows():
        if SHORTEST <= len(row[1 - own]) <= LONGEST:
            yield row[own], row[1 - own]


def _gap(
    question: str, context: str, asks: str, says: str, table: Table, noise: random.Random
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """A word of the question, and its translation, which the context has once; None if there is none."""
    there = [(token.word, (token.start, token.end)) for token in analysis(says).tokens(context)]
    words = [word for word, _ in there]
    places = {word: place for word, place in there if words.count(word) == 1}
    found = []
    for token in content_terms(analysis(asks).tokens(question), asks):
        best = table.translations(token.word, best=2)
        matching = [one.term for one in best if one.term in places]
        if matching:
            found.append(((token.start, token.end), places[matching[0]]))
    return noise.choice(_rarer(found, question)) if found else None


def _rarer(
    found: Sequence[tuple[tuple[int, int], tuple[int, int]]], text: str
) -> Sequence[tuple[tuple[int, int], tuple[int, int]]]:
    """Words of more than three letters, or all if there are none; numbers and short words tell little."""
    long = [one for one in found if one[0][1] - one[0][0] > 3 or not text[one[0][0]].isascii()]
    return long or found
