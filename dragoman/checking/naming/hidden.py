"""Names that no capital shows: in German, which writes all nouns with one, and in scripts that have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from dragoman.checking.amounts import read_amounts
from dragoman.checking.naming.folding import fold_name
from dragoman.checking.naming.names import CAPITALISED_NOUNS, TITLES, WORD, Name, begins_sentence
from dragoman.checking.naming.places import UNSPACED, is_place
from dragoman.checking.sentence import Side
from dragoman.deadline import check_each
from dragoman.lexicon.text.function_words import is_function_word

__all__ = ["add_hidden_names"]

MOST = 64
"""Words of one sentence."""
_CASELESS = regex.compile(r"\p{Lo}")
_KATAKANA = regex.compile(r"[\p{Katakana}ー]{2}")
"""Within a word of katakana: Vienna is no part of Halloween."""
_LETTER = regex.compile(r"\p{L}")
_ACRONYM = regex.compile(r"\p{Lu}\p{Ll}*\p{Lu}[\p{Lu}\p{Ll}]*")
_ADJECTIVE = regex.compile(r"(?<=\p{L}{2})(?:isch|lich|ig|haft|sam|bar|iell|end|iert|ier)(?:e[nrsm]?)$")
"""The end of a German adjective or participle: *Russische Truppen* where a sentence begins."""
_ABSTRACT = regex.compile(
    r"(?<=\p{L}{3})(?:heit|keit|schaft|tion|tät|ismus)(?:e?[ns])?$"
    r"|(?<=\p{L}{5})ungs?$|(?<=\p{L}{2})ungen$|(?<=\p{L}[bdfgmrt])nis(?:se[ns]?)?$"
)
"""The end of a German noun that is no name, though another one may stand beside it: Hornung and Dennis are names."""
_FOLLOWING = frozenset({"Co", "Corp", "Inc", "Ltd"})
"""The titles that stand after a name."""
_LEAST = {"zh": 2, "ja": 2}
"""Signs of a place's name; elsewhere :data:`_LEAST_LETTERS`."""
_LEAST_LETTERS = 4


def add_hidden_names(side: Side, names: Sequence[Name], common: frozenset[str] = frozenset()) -> list[Name]:
    """The names, with those that :func:`find_names` does not see, in order.

    ``common`` words have a capital where a sentence begins, and are no names there.
    """
    if side.language in CAPITALISED_NOUNS:
        hidden = [*_find_among_nouns(side, common)]
    elif 2 * len(_CASELESS.findall(side.text)) > len(_LETTER.findall(side.text)):
        hidden = [*_find_places(side)]
    else:
        return list(names)
    taken = {name.start for name in names}
    further = [name for name in hidden if name.start not in taken]
    return sorted([*names, *further[:MOST]], key=lambda name: name.start)


def _find_among_nouns(side: Side, common: frozenset[str]) -> Iterator[Name]:
    """Acronyms, places, and words with a capital in a row: nouns seldom follow one another, unless they are names."""
    if side.text.isupper():
        return
    before: regex.Match[str] | None = None
    title = -1
    taken = -1
    amounts = [(amount.start, amount.end) for amount in read_amounts(side.text, side.language)]
    for word in check_each(WORD.finditer(side.text), 100):
        written = word.group()
        if any(start < word.end() and word.start() < end for start, end in amounts):
            before = None
            continue
        titled = title >= 0 and side.text[title : word.start()] in (" ", ". ")
        title = word.end() if written in TITLES - _FOLLOWING else -1
        capital = written[0].isupper() and written not in TITLES and not is_function_word(written, side.language)
        noun = capital and _ABSTRACT.search(written) is None
        noun = noun and not (_is_ordinary(written, common) and begins_sentence(side.text, word.start()))
        if _ACRONYM.fullmatch(written) or (capital and is_place(written, side.language)):
            yield Name(written, word.start(), word.end())
        elif noun and titled:
            yield Name(written, word.start(), word.end(), doubtful=True, noun=True)
            taken = word.start()
        elif noun and before is not None and side.text[before.end() : word.start()] == " ":
            if before.start() > taken and not _ACRONYM.fullmatch(before.group()):
                yield Name(before.group(), before.start(), before.end(), doubtful=True, noun=True)
            yield Name(written, word.start(), word.end(), doubtful=True, noun=True)
            taken = word.start()
        before = word if noun and len(written) > 1 else None


def _is_ordinary(written: str, common: frozenset[str]) -> bool:
    """Whether a word is no noun but for its capital, by a list or by the ending of an adjective."""
    return fold_name(written) in common or _ADJECTIVE.search(written) is not None


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
        within = start and _KATAKANA.fullmatch(side.text, start - 1, start + 1)
        if len(word) >= least and not within and is_place(word, side.language):
            yield Name(word, start, end)
