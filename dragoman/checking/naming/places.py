"""Countries, continents, languages and cities that CLDR names in many languages: they are compared by what they are.

``data/place_names.tsv.gz`` is made by ``scripts/place_names.py``. A people, its language and its country are one.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import regex

from dragoman.checking.amounts.lexical.lexicon import INFLECTED
from dragoman.checking.naming.folding import fold_name

__all__ = ["UNSPACED", "find_katakana", "find_places", "is_place", "is_placed"]

DATA = Path(__file__).with_name("data") / "place_names.tsv.gz"
LONGEST = 4
"""Words of a name."""
_ENDING = 4
"""Letters that a name may have more than the one that is listed: *Spaniards*, *Australians*."""
_STEM = 4
"""Letters at least by which an inflected name is recognised."""
_FIRST = 3
"""Letters by which names of several words are looked up."""
_LEAST = 2
"""Letters of a word that a name of several words may lack."""
UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
_KATAKANA = r"[\p{Katakana}ー]"
_KATAKANA_NAME = regex.compile(rf"{_KATAKANA}{{2,}}")
_REST = regex.compile(rf"(?<=^{_KATAKANA}{{2,}})(?:合衆国|(?:民主)?共和国|王国|連邦|国|語|諸?島)(?:\(.*\))?$")
"""What a name may lack; the Arab spring is none of the Emirates."""
_WHOLE = 3
"""Signs of a name of katakana that is a whole run: インドア is not of India, and プロシア not Russia."""
_LEAST_HELD = {"zh": 2}
_SHORTEST_HELD = 3
"""Signs of a name that may be a part of another place's; the shorter ones of Japanese stand for a country in both."""
_DECLINED = INFLECTED | {"de"}
"""Languages whose names of several words have other endings in other cases: *der Vereinigten Staaten*."""
_SHORT = 5
"""Letters of a name of which none may be lacking: a Greek is no Green."""
_LETTERS = regex.compile(r"[\p{L}\p{M}\p{Nd}]+")
_LATIN = regex.compile(r"^$|\p{Latin}")
_SEEN = 50
"""Lines by which a script is recognised."""
_POSSESSIVE = regex.compile("'s?$")
_ARTICLE = regex.compile("^(?:و?[فبكل]?ال|و?لل)")
_PARTICLE = regex.compile("^[وفبكل](?=.{4})")
"""What Arabic writes at the beginning of a word without an article: *and*, *in*, *to*."""
_ADJECTIVE = regex.compile(r"(?<=\p{Cyrillic}{3})(?:ая|яя|ый|ий|ой|ое|ее|ые|ие)$")
"""The ending of a Russian adjective, which has other ones in other cases: *Новая*, *Новой*, *Новую*."""
_GERMAN_ADJECTIVE = regex.compile("(?<=.{3})isch(?:e[nrsm]?)?$")
"""The ending of one that is made of a country: *amerikanische*."""
_OTHERWISE = {"asien": "asiat"}
"""Names whose peoples and adjectives have another stem."""
_BORROWED = {
    "french": "フレンチ", "english": "イングリッシュ", "british": "ブリティッシュ", "german": "ジャーマン",
    "spanish": "スパニッシュ", "chinese": "チャイニーズ", "japanese": "ジャパニーズ", "irish": "アイリッシュ",
    "scottish": "スコティッシュ", "swedish": "スウェディッシュ", "turkish": "ターキッシュ", "polish": "ポーリッシュ",
    "danish": "ダニッシュ", "dutch": "ダッチ", "swiss": "スイス", "welsh": "ウェルシュ", "greek": "グリーク",
    "european": "ヨーロピアン", "portuguese": "ポルトギーズ", "vietnamese": "ベトナミーズ", "mexican": "メキシカン",
    "hawaiian": "ハワイアン", "african": "アフリカン", "asian": "アジアン",
}  # fmt: skip
"""English adjectives in Japanese words, as in フレンチトースト."""
_COUNTRY = regex.compile("(?<=.{4})(?:land|union|isch|i?stan)$")
"""What a people lacks that its country has: *Russen*, *Sowjets*, *Afghan*."""

_PEOPLES = {"irland": ("ire", "iren", "irin", "irinnen"), "estland": ("este", "esten", "estin", "estinnen")}
"""German ones that are too short to be recognised so."""
_DIRECTION = regex.compile(r"^(?:sud|nord|ost|west|mittel|zentral){1,2}(?=.{4})")
_APART = frozenset({"nordirland"})
"""German places with a direction that are listed nowhere, and are not a part of the other one."""


@dataclass(frozen=True)
class _Names:
    """Those of one language, folded."""

    places: Sequence[tuple[str, ...]]
    """The names of each place, in the same order in all languages."""
    by_name: Mapping[str, int]
    rows: Mapping[str, Sequence[tuple[Sequence[str], int]]]
    """Names of several words by their first :data:`_FIRST` letters, where words have endings."""
    written: frozenset[str]
    """Those of one word with their marks: without them many words of Hindi are names."""
    by_beginning: Mapping[str, Sequence[tuple[str, int]]]
    """Names of one word by their first :data:`_STEM` letters."""


@lru_cache(maxsize=1)
def _read_lines() -> Mapping[str, Sequence[str]]:
    lines: dict[str, list[str]] = defaultdict(list)
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        for line in file:
            language, _, names = line.rstrip("\n").partition("\t")
            lines[language].append(names)
    return dict(lines)


@lru_cache(maxsize=64)
def _names(language: str) -> _Names | None:
    lines = _read_lines().get(language)
    if lines is None:
        return None
    if _is_latin(lines):  # what is not listed is written as in English
        lines = [line or other for line, other in zip(lines, _read_lines()["en"], strict=True)]
    places = [
        tuple(dict.fromkeys(fold_name(name).replace("-", " ") for name in line.split("|") if name)) for line in lines
    ]
    if language == "ja":
        places = _add_borrowed(places)
    written = frozenset(name.casefold() for line in lines for name in line.split("|") if name and " " not in name)
    by_name: dict[str, int] = {}
    by_beginning: dict[str, list[tuple[str, int]]] = defaultdict(list)
    rows: dict[str, list[tuple[Sequence[str], int]]] = defaultdict(list)
    for place, names in enumerate(places):
        for name in names:
            by_name.setdefault(name, place)
            if " " not in name and len(name) >= _STEM:
                by_beginning[name[:_STEM]].append((name, place))
            elif " " in name and language in _DECLINED:
                rows[name[:_FIRST]].append((name.split(" "), place))
    return _Names(places, by_name, rows, written, by_beginning)


def _add_borrowed(places: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The Japanese names of places with what Japanese has from English beside them."""
    english, added = _names("en"), list(places)
    for adjective, katakana in _BORROWED.items():
        place = english.by_name.get(adjective) if english is not None else None
        if place is not None:
            added[place] = (*added[place], katakana)
    return added


def _is_latin(lines: Sequence[str]) -> bool:
    return all(_LATIN.search(line) for line in lines[:_SEEN])


def find_places(words: Sequence[str], language: str) -> list[int | None]:
    """For each word of a name the place that it is, or is a part of; the longest names come first."""
    names = _names(language)
    places: list[int | None] = [None] * len(words)
    if names is None:
        return places
    folded = [_POSSESSIVE.sub("", fold_name(word)) for word in words]
    start = 0
    while start < len(words):
        for length in range(min(LONGEST, len(words) - start), 0, -1):
            place = _find(" ".join(folded[start : start + length]), names)
            if place is not None:
                places[start : start + length] = [place] * length
                start += length - 1
                break
        start += 1
    return places


def is_place(word: str, language: str) -> bool:
    """Whether a word is the name of a place as it is listed."""
    names = _names(language)
    return names is not None and word.casefold() in names.written


def _find(name: str, names: _Names) -> int | None:
    if (place := names.by_name.get(name)) is not None:
        return place
    if " " in name:
        if name.endswith("an") and (place := names.by_name.get(name[:-1])) is not None:
            return place  # North American, South African
        words = name.split(" ")
        listed = (row for row in names.rows.get(name[:_FIRST], ()) if len(row[0]) == len(words))
        return next((place for parts, place in listed if all(map(_is_form, parts, words))), None)
    stem = _GERMAN_ADJECTIVE.sub("", name)
    near = [
        (len(listed), place)
        for listed, place in names.by_beginning.get(name[:_STEM], ())
        if name.startswith(listed[:-1] if len(listed) > _SHORT else listed)
        and min(len(name), len(stem) + 1) - len(listed) <= _ENDING
    ]
    return max(near)[1] if near else None


def is_placed(place: int, text: str, language: str) -> bool | None:
    """Whether a text has one of the names of a place, in any form; None where the language's are not known."""
    names = _names(language)
    if names is None or not names.places[place]:
        return None
    folded = fold_name(text)
    words = _LETTERS.findall(folded)
    return any(_stands_in(name, place, folded, words, language) for name in names.places[place])


@lru_cache(maxsize=1024)
def _list_longer(name: str, place: int, language: str) -> tuple[str, ...]:
    """Names of other places that hold this one, as Indonesia in katakana holds India; none for a shorter one."""
    names = _names(language)
    if names is None or len(name) < _LEAST_HELD.get(language, _SHORTEST_HELD):
        return ()
    holding = (other for others in names.places for other in others if name != other and name in other)
    return tuple(other for other in holding if other not in names.places[place])


def _stands_unspaced(name: str, place: int, text: str, language: str) -> bool:
    """Whether a text without spaces has a name or the short form of it, and not as a part of another place's."""
    name = _REST.sub("", name)
    katakana = _KATAKANA_NAME.fullmatch(name) is not None
    for longer in _list_longer(name, place, language):
        text = text.replace(longer, " ")
    if katakana:  # half of a name in katakana is another word: India is no internet
        return find_katakana(name).search(text) is not None
    if _KATAKANA_NAME.match(name):
        return name in text
    return name in text or (len(name) > 2 and name[: max(2, (len(name) + 1) // 2)] in text)


@lru_cache(maxsize=1024)
def find_katakana(name: str) -> regex.Pattern[str]:
    """A name at the beginning or the end of its run of katakana, as in エールフランス; a short one is the whole run."""
    begins, ends = rf"(?<!{_KATAKANA}){name}", rf"{name}(?!{_KATAKANA})"
    return regex.compile(rf"{begins}|{ends}" if len(name) > _WHOLE else rf"(?<!{_KATAKANA}){ends}")


def _stands_in(name: str, place: int, text: str, words: Sequence[str], language: str) -> bool:
    if language in UNSPACED:
        return _stands_unspaced(name, place, text, language)
    parts = [_ARTICLE.sub("", part) for part in _LETTERS.findall(name)]
    if not any(len(part) > _LEAST for part in parts):  # as UK and U.S.
        return regex.search(rf"(?<!\p{{L}}){regex.escape(name)}(?!\p{{L}})", text) is not None
    parts = [part for part in parts if len(part) > _LEAST]
    forms = {form for word in words for form in _list_forms(word, language)}
    if language == "de":
        forms |= {bare for form in forms if (bare := _leave_out_direction(form)) != form}
    return all(
        any(_is_form(part, form) or _is_people(part, form) or form in peoples for form in forms)
        for part, peoples in ((part, _PEOPLES.get(part, ()) if language == "de" else ()) for part in parts)
    )


def _leave_out_direction(word: str) -> str:
    """*Europa* of *Südeuropa*; a word that is listed stays, and Nordirland is not Ireland."""
    names = _names("de")
    return word if word in _APART or (names is not None and word in names.by_name) else _DIRECTION.sub("", word)


def _list_forms(word: str, language: str) -> Iterator[str]:
    """A word as it is, and without what Arabic may write at its beginning."""
    yield _ARTICLE.sub("", word)
    if language == "ar" and (bare := _PARTICLE.sub("", word)) != word:
        yield _ARTICLE.sub("", bare)


def _is_people(part: str, word: str) -> bool:
    """Whether a word is the people of a country: *Russen* of *Russland*, *Afghan* of *Afghanistan*."""
    people = _COUNTRY.sub("", part)
    return people != part and word.startswith(people) and len(word) <= len(people) + _LEAST


def _is_form(part: str, word: str) -> bool:
    """Whether a word is a part of a name with another ending."""
    if len(part) < _STEM:
        return word == part or (len(part) == _STEM - 1 and word.startswith(part) and len(word) <= len(part) + 2)
    adjective = _ADJECTIVE.sub("", part)
    if adjective != part and word.startswith(adjective) and len(word) <= len(adjective) + len("ого"):
        return True
    stem = _OTHERWISE.get(part) or part[: max(_STEM, round(0.6 * len(part)))]
    return word.startswith(stem) or (len(stem) > _STEM and stem in word)  # as in a compound
