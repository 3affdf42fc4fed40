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
    parallel = [file for file in text_files([folder]) if set(file.languages) == {language, "en"}]
    usable = [file for file in parallel if not file.path.name.startswith(tuple(without))]
    if not usable:
        raise ConfigError(f"sources: parallel: {folder} has no text of {language} and en")
    return usable


def clozes(files: Sequence[TextFile], language: str, table: Table, count: int, seed: int) -> Iterator[Example]:
    """At most `count` examples of English and another language, the question in either; `table` is from English."""
    noise = random.Random(f"{seed} cloze {language}")
    different = list(dict.fromkeys(pair for file in files for pair in _sentences(file, language)))
    pairs = noise.sample(different, min(KEPT, len(different)))
    inverse, written = table.inverse(), 0
    for pair in pairs:
        if written == count:
            return
        asked = noise.random() < 0.5
        question, context = pair if asked else (pair[1], pair[0])
        languages = (language, "en") if asked else ("en", language)
        gap = _gap(question, context, *languages, inverse if asked else table, noise)
        if gap is None:
            continue
        (start, end), (first, last) = gap
        others = [pair[asked] for pair in noise.sample(pairs, min(len(pairs), noise.randint(*SENTENCES) - 1))]
        place = noise.randint(0, len(others))
        before = "".join(f"{sentence} " for sentence in others[:place])
        text = before + context + "".join(f" {sentence}" for sentence in others[place:])
        written += 1
        answer = (len(before) + first, len(before) + last)
        yield Example(question[:start] + GAP + question[end:], text, *languages, [answer])


def _sentences(file: TextFile, language: str) -> Iterator[Pair]:
    column = file.languages.index(language)
    for row in file.rows():
        if SHORTEST <= len(row[1 - column]) <= LONGEST:
            yield row[column], row[1 - column]


def _gap(
    question: str, context: str, asks: str, says: str, table: Table, noise: random.Random
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """A word of the question, and its translation, which the context has once; None if there is none."""
    there = [(token.word, (token.start, token.end)) for token in analysis(says).tokens(context)]
    words = [word for word, _ in there]
    places = {word: place for word, place in there if words.count(word) == 1}
    gaps = []
    for token in content_terms(analysis(asks).tokens(question), asks):
        best = table.translations(token.word, best=2)
        matching = [translation.term for translation in best if translation.term in places]
        if matching:
            gaps.append(((token.start, token.end), places[matching[0]]))
    return noise.choice(_rarer(gaps, question)) if gaps else None


def _rarer(
    gaps: Sequence[tuple[tuple[int, int], tuple[int, int]]], text: str
) -> Sequence[tuple[tuple[int, int], tuple[int, int]]]:
    """Words of more than three letters, or all if there are none; numbers and short words tell little."""
    long = [gap for gap in gaps if gap[0][1] - gap[0][0] > 3 or not text[gap[0][0]].isascii()]
    return long or gaps
