"""The words of a text that a lexicon knows, with all that each may mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import regex

from dragoman.checking.amounts.lexical.lexicon import Lexicon, NumberWord, load_lexicon
from dragoman.checking.amounts.lexical.spelled import add_words, split_compound

__all__ = ["Word", "find_words"]

LONGEST_WORD = 60
"""Code points of a word that is looked at."""
_WORD = regex.compile(r"(?:[kcm]?m|ft|mi)[23²³](?![\d\p{L}])|\p{L}[\p{L}\p{M}]*\.?(?:(?<=\b\p{L}\.)\p{L}\.?)?")
_LETTERS = regex.compile(r"[\p{L}\p{M}.%]+")
_NEXT = regex.compile(r"[ \-'\".]{0,2}")
_GERMAN_UNIT = regex.compile(
    r"\p{L}{3,}?(kilometern?|(?<!o)metern?|jahren?|stunden?|minuten|tagen?|wochen|monaten?|meilen|tonnen|dollar)"
)
"""A German noun that ends in a unit: Höhenmeter, Krankentage; a Barometer is none."""
_SHORTEST_STEM = 5
_ENDING = 4
"""Letters that inflection may add to a stem, and no more."""
_PLURALS = ("s", "n", "en", "es")
"""Of months, weekdays and units in languages that hardly inflect."""


@dataclass(frozen=True)
class Word:
    """A word or phrase at ``start`` to ``end`` of the folded text."""

    start: int
    end: int
    numbers: tuple[NumberWord, ...] = ()
    """Several where one word holds them: dreiundzwanzig."""
    month: int | None = None
    weekday: int | None = None
    unit: str | None = None
    half: int | None = None
    connector: bool = False


Meaning = tuple[tuple[NumberWord, ...], int | None, int | None, str | None, int | None, bool]
_NOTHING: Meaning = ((), None, None, None, None, False)


@dataclass(frozen=True)
class _Phrases:
    """What each phrase of a language means, and the words of the longest one by its first word."""

    meanings: dict[str, Meaning]
    lengths: dict[str, int]


@lru_cache(maxsize=64)
def _load_phrases(language: str) -> _Phrases:
    lexicon = load_lexicon(language)
    meanings: dict[str, Meaning] = {}
    tables = (lexicon.numbers, lexicon.months, lexicon.weekdays, lexicon.units, lexicon.halves, lexicon.connectors)
    for phrase in {phrase for table in tables for phrase in table}:
        word = lexicon.numbers.get(phrase)
        meanings[phrase] = (
            (word,) if word else (),
            lexicon.months.get(phrase),
            lexicon.weekdays.get(phrase),
            lexicon.units.get(phrase),
            lexicon.halves.get(phrase),
            phrase in lexicon.connectors,
        )
    meanings |= dict.fromkeys(lexicon.ignored, _NOTHING)
    lengths: dict[str, int] = {}
    for phrase in meanings:
        first = phrase.partition(" ")[0]
        lengths[first] = max(lengths.get(first, 1), phrase.count(" ") + 1)
    return _Phrases(meanings, lengths)


def find_words(folded: str, lexicon: Lexicon) -> Iterator[Word]:
    """The known words of ``folded`` in order; the longest phrase at each place."""
    phrases = _load_phrases(lexicon.language)
    if lexicon.continuous:
        yield from _scan_letters(folded, lexicon, phrases)
        return
    tokens = [match.span() for match in _WORD.finditer(folded)]
    index = 0
    while index < len(tokens):
        start, end = tokens[index]
        word = folded[start:end].rstrip(".")
        meaning, count = _look_up_phrase(word, folded, tokens, index, phrases)
        if meaning is None and word[0] in lexicon.prefixes:
            meaning, count = _look_up_phrase(word[1:], folded, tokens, index, phrases)
            if meaning is not None and count == 1:
                meaning = None
        if meaning is None and end - start <= LONGEST_WORD:
            meaning = _read_word(word, lexicon.language)
        if meaning is not None and meaning != _NOTHING:
            yield Word(start, tokens[index + count - 1][1], *meaning)
        index += count


def _look_up_phrase(
    word: str, folded: str, tokens: list[tuple[int, int]], index: int, phrases: _Phrases
) -> tuple[Meaning | None, int]:
    """What the longest phrase that begins with ``word`` means, and how many tokens it has."""
    longest = phrases.lengths.get(word, 0)
    if not longest:
        return None, 1
    candidates = [word]
    for following in range(index + 1, min(index + longest, len(tokens))):
        if not _NEXT.fullmatch(folded, tokens[following - 1][1], tokens[following][0]):
            break
        candidates.append(f"{candidates[-1]} {folded[slice(*tokens[following])].rstrip('.')}")
    for count in range(len(candidates), 0, -1):
        if (meaning := phrases.meanings.get(candidates[count - 1])) is not None:
            return meaning, count
    return None, 1


@lru_cache(maxsize=20_000)
def _read_word(token: str, language: str) -> Meaning:
    """A token that isn't there as it stands: a compound, an inflected form, or with a particle before it."""
    lexicon, meanings = load_lexicon(language), _load_phrases(language).meanings
    meaning = _read_stem(token, lexicon)
    for prefix in lexicon.prefixes:
        if meaning != _NOTHING:
            break
        if token.startswith(prefix) and len(token) >= len(prefix) + 2:
            rest = token[len(prefix) :]
            meaning = meanings[rest] if rest in meanings else _read_stem(rest, lexicon)
    return meaning


def _read_stem(token: str, lexicon: Lexicon) -> Meaning:
    if lexicon.joined and (numbers := split_compound(token, lexicon)):
        return _weigh(numbers, token, lexicon), None, None, None, None, False
    for ending in lexicon.endings:
        if token.endswith(ending) and len(token) > len(ending) + 2:
            stem = token[: -len(ending)]
            if stem in lexicon.ignored:
                continue
            if stem in lexicon.numbers:
                return (lexicon.numbers[stem],), None, None, None, None, False
            if lexicon.joined and (numbers := split_compound(stem, lexicon)):
                return _weigh(numbers, stem, lexicon), None, None, None, None, False
    for compound, word in lexicon.compounds.items():
        if token.startswith(compound) and len(token) >= len(compound) + 4:
            return (word,), None, None, None, None, False
    if lexicon.language == "de" and (noun := _GERMAN_UNIT.fullmatch(token)) is not None:
        units = lexicon.units
        whole = token.removesuffix("n")  # Lichtjahren
        unit = units.get(whole) or units.get(noun.group(1)) or units.get(noun.group(1).removesuffix("n"))
        return (), None, None, unit, None, False
    for length in range(len(token), max(_SHORTEST_STEM, len(token) - _ENDING) - 1, -1):
        if entry := lexicon.stems.get(token[:length]):
            kind, meaning = entry
            month, weekday, unit = (meaning if kind == name else None for name in ("months", "weekdays", "units"))
            return (), month, weekday, unit, None, False
    for plural in _PLURALS:
        if token.endswith(plural) and len(token) >= len(plural) + _SHORTEST_STEM:
            meaning = _load_phrases(lexicon.language).meanings.get(token[: -len(plural)], _NOTHING)
            if not meaning[0] and meaning != _NOTHING:
                return meaning
    return _NOTHING


def _weigh(numbers: tuple[NumberWord, ...], word: str, lexicon: Lexicon) -> tuple[NumberWord, ...]:
    """Two syllables of Korean may be a number, and any other word as well."""
    if lexicon.language != "ko" or len(word) > 2:
        return numbers
    return (NumberWord(add_words(numbers, lexicon) or Fraction(0), vague=True),)


def _scan_letters(folded: str, lexicon: Lexicon, phrases: _Phrases) -> Iterator[Word]:
    """Where words aren't separated: the longest entry at each place."""
    for run in _LETTERS.finditer(folded):
        place, end = run.span()
        while place < end:
            for stop in range(min(end, place + lexicon.longest), place, -1):
                if (meaning := phrases.meanings.get(folded[place:stop])) is not None:
                    if meaning != _NOTHING:
                        yield Word(place, stop, *meaning)
                    place = stop
                    break
            else:
                place += 1
