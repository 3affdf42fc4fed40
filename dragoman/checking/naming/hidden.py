"""Names that no capital shows: in German, which writes all nouns with one, and in scripts that have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from dragoman.checking.naming.names import CAPITALISED_NOUNS, TITLES, WORD, Name
from dragoman.checking.naming.places import UNSPACED, is_place
from dragoman.checking.sentence import Side
from dragoman.deadline import check_each
from dragoman.lexicon.text.function_words import is_function_word

__all__ = ["add_hidden_names"]

MOST = 64
"""Words of one sentence."""
_CASELESS = regex.compile(r"\p{Lo}")
_LETTER = regex.compile(r"\p{L}")
_ACRONYM = regex.compile(r"\p{Lu}\p{Ll}*\p{Lu}[\p{Lu}\p{Ll}]*")
_LEAST = {"zh": 2, "ja": 2}
"""Signs of a place's name; elsewhere :data:`_LEAST_LETTERS`."""
_LEAST_LETTERS = 4


def add_hidden_names(side: Side, names: Sequence[Name]) -> list[Name]:
    """The names, with those that :func:`find_names` does not see, in order."""
    if side.language in CAPITALISED_NOUNS:
        hidden = [*_find_among_nouns(side)]
    elif 2 * len(_CASELESS.findall(side.text)) > len(_LETTER.findall(side.text)):
        hidden = [*_find_places(side)]
    else:
        return list(names)
    taken = {name.start for name in names}
    further = [name for name in hidden if name.start not in taken]
    return sorted([*names, *further[:MOST]], key=lambda name: name.start)


def _find_among_nouns(side: Side) -> Iterator[Name]:
    """Acronyms, places, and words with a capital in a row: nouns seldom follow one another, unless they are names."""
    if side.text.isupper():
        return
    before: regex.Match[str] | None = None
    taken = -1
    for word in check_each(WORD.finditer(side.text), 100):
        written = word.group()
        capital = written[0].isupper() and written not in TITLES and not is_function_word(written, side.language)
        if _ACRONYM.fullmatch(written) or (capital and is_place(written, side.language)):
            yield Name(written, word.start(), word.end())
        elif capital and before is not None and side.text[before.end() : word.start()] == " ":
            if before.start() > taken and not _ACRONYM.fullmatch(before.group()):
                yield Name(before.group(), before.start(), before.end(), doubtful=True)
            yield Name(written, word.start(), word.end(), doubtful=True)
            taken = word.start()
        before = word if capital and len(written) > 1 else None


def _find_places(side: Side) -> Iterator[Name]:
    """Words that are names of places as they are listed."""
    unspaced = side.language in UNSPACED
    spans = (
        [(token.start, token.end) for token in side.tokens]
        if unspaced
        else [match.span() for match in WORD.finditer(side.text)]
    )
    least = _LEAST.get(side.language, _LEAST_LETTERS)
    for start, end in check_each(spans, 100):
        word = side.text[start:end]
        if len(word) >= least and is_place(word, side.language):
            yield Name(word, start, end)
