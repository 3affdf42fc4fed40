"""How words in Latin letters may be written in another script: as sounds, for the phonetic index.

The index has the skeletons of documents' words as they are romanised (:mod:`.transliteration`). A language may write a
sound of a foreign name in several ways, or not tell it from another: Japanese has one sound for *l* and *r*, Hebrew
one letter for *p* and *f*. So a query's word has a skeleton for each of its likely spellings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache, partial

import regex

from dragoman.indexes.analysis.transliteration import (
    LEAST_SIMILARITY,
    SHORTEST_SKELETON,
    alike,
    classes,
    romanise,
    skeletons,
)

__all__ = ["likely_skeletons", "most_alike", "spoken"]

_ALTERNATIVES = 50
MOST = 24
"""The skeletons that are looked for in place of one word; those nearest to its own come first."""

_LATIN = regex.compile(r"[\p{Latin}\p{M}'’-]+")
_CODA = "(?![aeiouy])"
_ANY: dict[str, tuple[str, ...]] = {
    "tch": ("k",),
    "sch": ("s", "sk"),
    "ch": ("k", "s"),
    "gh": ("k", ""),
    "ph": ("f",),
    "sh": ("s",),
    "kh": ("k", ""),
    "th": ("t",),
    "ck": ("k",),
    "qu": ("k", "kf"),
    "x": ("ks", "s"),
    "c(?=[eiy])": ("s",),
    "w": ("f", ""),
    "j": ("k", ""),
}
_NO_R: dict[str, tuple[str, ...]] = {f"(?<=[aeiouy])r{_CODA}": ("r", "")}
_ABJAD: dict[str, tuple[str, ...]] = {"ch": ("ts", "k", "s"), "v": ("f", "")}
_INDIC: dict[str, tuple[str, ...]] = {
    "ng(?![aeiouy])": ("nk", "mk", "m"),
    "n(?=[^aeiouyn])": ("n", "m"),
    "f|ph": ("f", "p"),
    "z": ("s", "k"),
    "v": ("f", "p"),
}
_SPELLINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "ar": {"^": ("", "l")} | _ABJAD,
    "bg": {"h": ("", "k"), "j": ("", "k", "tk")},
    "bn": _INDIC | {"w": ("", "f")},
    "el": {
        "b": ("mp", "p", "f"),
        "d": ("nt", "t"),
        "g(?![eiy])": ("k", "nk"),
        "g(?=[eiy])": ("ts", "k", "nk"),
        "j": ("ts", ""),
        "ch": ("ts", "k", "s"),
        "h": ("", "k"),
    },
    "fa": _ABJAD,
    "he": _ABJAD | {"[ou]": ("", "f"), "p": ("p", "f"), "b": ("p", "f"), "z": ("s",), "g(?=[ei])": ("k",)},
    "hi": _INDIC,
    "ja": _NO_R | {"l": ("r",), "v": ("p", "f"), "th": ("s", "t"), "t(?=[iy])": ("k", "t"), "f": ("f", "")},
    "ko": {"^l(?=ee)": ("", "l"), "^r(?=[ho])": ("n", "r")}
    | _NO_R
    | {
        "ll|l": ("lr", "l", "r"),
        "f|ph": ("p",),
        "v": ("p",),
        "th": ("s", "t"),
        "z": ("k", "s"),
        f"t{_CODA}": ("t", "s"),
    },
    "mr": _INDIC,
    "ru": {"h": ("k", ""), "j": ("tk", "k", ""), "z": ("s", "ts"), "ch": ("k", "s")},
    "sr": {"h": ("", "k")},
    "ta": _INDIC | {"sh": ("s", "k"), "s": ("s", "k"), "h": ("", "k"), "b": ("p",)},
    "te": _INDIC,
    "th": _NO_R | {"sh": ("k", "s"), "v": ("f", ""), "g(?=[eiy])": ("k",), "z": ("s",)},
    "uk": {"h": ("", "k"), "g": ("k", ""), "j": ("tk", "k", ""), "z": ("s", "ts")},
    "ur": _ABJAD,
    "zh": {
        f"(?<=[aeiouy])r{_CODA}": ("", "r"),
        "r": ("l", "r"),
        f"l{_CODA}": ("r", "l", ""),
        "v": ("f", ""),
        "th": ("s", "t"),
        f"m{_CODA}": ("m", "n"),
        f"n{_CODA}": ("n", "nk"),
        "s|c(?=[eiy])": ("s", "ks"),
    },
}
"""By language, what a sound of a Latin word may be in the skeletons of its words; before those of all languages."""
_FOLDED = {
    "ja": str.maketrans({"l": "r", "v": "b"}),
    "zh": str.maketrans({"r": "l"}),
    "ko": str.maketrans({"l": "r", "v": "b", "f": "b", "p": "b", "k": "g", "t": "d", "c": "j"}),
    "he": str.maketrans({"b": "v", "w": "v", "p": "f"}),
}
"""By language, what it does not tell apart."""
_LEAST = dict.fromkeys(("bg", "el", "ru", "sr", "uk"), 0.6) | dict.fromkeys(("ar", "fa", "he", "ur"), 0.4)
"""How alike words are at least: more in scripts that write all sounds, less in those that leave vowels out."""


@lru_cache(maxsize=65536)
def likely_skeletons(word: str, language: str) -> tuple[str, ...]:
    """The skeletons by which words of ``language`` may sound like a word, the likeliest first.

    Those of a word in another script, and for a language without rules, are its own.
    """
    forms = dict.fromkeys(sorted(skeletons(word)))
    letters = romanise(word)
    if language not in _SPELLINGS or not letters.isalpha() or not _LATIN.fullmatch(word):
        return tuple(forms)
    pattern, spellings = _rules(language)
    costs = {"": 0}
    end = 0
    for match in pattern.finditer(letters):
        costs = _extend(costs, (classes(letters[end : match.start()]),))
        costs = _extend(costs, spellings[match.lastgroup or ""])
        end = match.end()
    costs = _extend(costs, (classes(letters[end:]),))
    forms |= dict.fromkeys(form for form in costs if len(form) >= SHORTEST_SKELETON)
    return tuple(forms)[:MOST]


@lru_cache(maxsize=65536)
def spoken(word: str, language: str) -> str:
    """The letters of a word by which it is compared: as romanised, without what the language does not tell apart."""
    folded = _FOLDED.get(language)
    return romanise(word) if folded is None else romanise(word).translate(folded)


def most_alike(term: str, candidates: Iterable[str], language: str) -> list[tuple[str, float]]:
    """At most 50 candidates most similar to ``term``, with their similarities.

    All must be of ``language`` and have one of the :func:`likely_skeletons` of the term.
    """
    return alike(
        term, candidates, _LEAST.get(language, LEAST_SIMILARITY), _ALTERNATIVES, partial(spoken, language=language)
    )


def _extend(costs: dict[str, int], options: Sequence[str]) -> dict[str, int]:
    """Skeletons with each of some sounds after them, those with the most likely sounds first."""
    longer: dict[str, int] = {}
    for form, cost in costs.items():
        for place, option in enumerate(options):
            extended = form + (option[1:] if option and form.endswith(option[0]) else option)
            longer[extended] = min(cost + place, longer.get(extended, cost + place))
    return dict(sorted(longer.items(), key=lambda entry: entry[1])[:MOST])


@cache
def _rules(language: str) -> tuple[regex.Pattern[str], dict[str, tuple[str, ...]]]:
    """The pattern of all sounds with rules, and the spellings of each by the name of its group."""
    rules = _SPELLINGS[language]
    rules = rules | {sound: spellings for sound, spellings in _ANY.items() if sound not in rules}
    groups = {f"sound{place}": sound for place, sound in enumerate(rules)}
    pattern = "|".join(f"(?P<{group}>{sound})" for group, sound in groups.items())
    return regex.compile(pattern), {group: rules[sound] for group, sound in groups.items()}
