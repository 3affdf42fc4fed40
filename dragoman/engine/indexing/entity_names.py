"""The forms by which names are compared: as written, and by sound across scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import regex

from dragoman.indexes.analysis.transliteration import similarity, skeletons
from dragoman.lexicon.text.folding import fold

MentionField = Literal["title", "text"]
PERSON = "PER"
LEAST_SIMILARITY = 0.7
"""Of the romanisations of one name in two scripts."""

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LATIN = regex.compile(r"\p{Latin}")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a document: ``document[field][start:end]`` in code points, with its label and probability."""

    field: MentionField
    start: int
    end: int
    label: str
    score: float


def fold_name(name: str, language: str) -> str:
    """A name as it is compared, and as tables have it: its folded words, one space between them."""
    return " ".join(_WORD.findall(fold(name, language)))


def sounds_of(name: str) -> list[str]:
    """The skeletons of a folded name."""
    return sorted(skeletons(name.replace(" ", "")))


def forms(names: Iterable[tuple[str, str]], language: str) -> Iterator[tuple[str, str]]:
    """The distinct pairs of a form and a skeleton of a document's names, given with their labels.

    A person is also found by each word of the name. A form without a skeleton has "".
    """
    distinct_forms: dict[str, None] = {}
    for text, label in names:
        whole = fold_name(text, language)
        distinct_forms[whole] = None
        if label == PERSON:
            distinct_forms |= dict.fromkeys(word for word in whole.split() if len(word) > 1)
    for form in distinct_forms:
        if form:
            yield from ((form, sound) for sound in sounds_of(form) or [""])


def sounds_like(form: str, other: str) -> bool:
    """Whether two folded names are one in two scripts; within one script, names that sound alike are different."""
    if bool(_LATIN.match(form)) == bool(_LATIN.match(other)):
        return False
    return similarity(form.replace(" ", ""), other.replace(" ", "")) >= LEAST_SIMILARITY
