"""How alike names of two scripts sound, in Latin letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import lru_cache

import regex

from dragoman.checking.knowledge import Knowledge
from dragoman.checking.naming.acronyms import are_other_acronyms
from dragoman.checking.naming.katakana import list_spoken, romanise_katakana
from dragoman.checking.naming.names import CAPITALISED_NOUNS, CASED, WORD
from dragoman.checking.sentence import Pair, Side
from dragoman.deadline import check_each

__all__ = ["UNSPACED", "measure_sound", "sounds_like"]

UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
LONGEST = 40
"""Letters of a name that are compared."""
_VOWELS = regex.compile("[aeiouyhw]+")
_WINDOW = 9
"""Signs of a script without spaces that one name takes at most."""
_PARTIAL = 0.85
"""What a part of a run of katakana counts: it may be cut out of another word."""
_OTHER_CONSONANTS = 0.82
"""What a word of katakana counts whose consonants are not those of the name: Clayton is no クリントン."""
_SILENT = 4
"""Signs of a name that may have no letters of their own."""
_ALIKE = str.maketrans("vz", "bs")
"""Letters of katakana that English may have another for: ヴ, and the ズ of James."""
_KATAKANA = regex.compile(r"[\p{Katakana}ー]{2,}")
_HIRAGANA = regex.compile(
    r"\p{Hiragana}{3,20}?(?=さん|ちゃん|くん|氏|様|君|選手)"
    r"|(?<![\p{Hiragana}\p{Han}])\p{Hiragana}{3,20}(?=病院|大学|銀行|市|県|駅)"
)
"""What may be a name in hiragana, by what stands after it: hiragana is grammar else."""
_PARTICLES = regex.compile("^(?:[وفبكل]?ال|لل|[وبلكف])(?=.{3})")
"""What Arabic writes at the beginning of a word: the article, *and*, *in*, *to*."""
_SOUNDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ja": (("ts", "t"), ("ch", "t")),  # the others are those of katakana.py
    "ar": (
        ("p", "b"),
        ("v", "f"),
        ("ch", "sh"),
        ("g", "j"),
        ("gh", "j"),
        ("c", "k"),
        ("q", "k"),
        ("x", "ks"),
        ("z", "s"),
    ),
    "el": (
        ("tz", "j"),
        ("mp", "b"),
        ("nt", "d"),
        ("gk", "g"),
        ("ck", "k"),
        ("c", "k"),
        ("q", "k"),
        ("x", "ks"),
        ("z", "s"),
    ),
    "hi": (("f", "p"),),
    "ru": (("dzh", "g"), ("j", "g"), ("ck", "k"), ("c", "k"), ("q", "k"), ("x", "ks"), ("ts", "s"), ("z", "s")),
}
"""Sounds that a language does not tell apart, or writes otherwise than English does."""
_ABJADS = frozenset({"ar", "fa", "ur", "he"})
_BARE = 0.85
"""What consonants that are the same count where vowels are not written."""
_LEAST = 0.4
"""How alike the consonants must be for the rest to be looked at."""
_DOUBLE = regex.compile(r"(.)\1+")
_SPELLING = frozenset({"ar", "fa", "ur", "he", "hi", "bn", "mr", "ne", "ru", "uk", "bg", "be"})
"""Languages that write an acronym as its letters are called: إم بي إي جي, एनएफएल, Би-би-си."""
_LETTERS = {"a": "e", "b": "bi", "c": "si", "d": "di", "e": "i", "f": "ef", "g": "ji", "h": "ech", "i": "ai", "j": "je",
            "k": "ke", "l": "el", "m": "em", "n": "en", "o": "o", "p": "pi", "q": "kyu", "r": "ar", "s": "es",
            "t": "ti", "u": "yu", "v": "vi", "w": "dablyu", "x": "eks", "y": "wai", "z": "zed"}  # fmt: skip
"""What letters are called in English."""
_ACRONYM = regex.compile(r"[A-Z]{3,6}(?=(?:['’]?s)?$)")
_CAPITALS = regex.compile(r"(?:\p{Lu}\.?){2}")
_LATIN = regex.compile(r"\p{Latin}")
_STEM = 3
"""Letters that what is derived from a name has at least of it."""
_LONGEST_LETTER = 6
"""Letters of what one is called."""
_SPELT = 0.95
"""How alike an acronym and its letters' names are."""
_SPELT_ALIKE = 0.6
"""How alike they must be beside the consonants, where they are one word."""


def measure_sound(name: str, pair: Pair, knowledge: Knowledge, *, small: bool = False) -> float:
    """How alike the name and the nearest word of the other side are in Latin letters, in [0, 1].

    Where ``small``, words without a capital are compared as well.
    """
    romanise = knowledge.romanise
    if romanise is None:
        return 0.0
    letters = romanise(name.removesuffix("'s").removesuffix("’s")[:LONGEST])
    if len(letters) < 2:
        return 0.0
    language = pair.target.language if pair.target.language != "en" else pair.source.language
    if pair.target.language in _SPELLING and _is_spelt_out(name, pair.target.text, language, romanise):
        return _SPELT
    if pair.target.language == "ja":
        if any(letters == romanise(run) for run in _HIRAGANA.findall(pair.target.text)):
            return 1.0
        return _sound_as_katakana(letters, pair.target.text, romanise)
    candidates = {romanise(word[:LONGEST]) for word in _list_words(name, pair.target, romanise, small=small)}
    if pair.target.language == "ar":
        candidates |= {romanise(_PARTICLES.sub("", word)[:LONGEST]) for word in WORD.findall(pair.target.text)}
    elif pair.target.language in UNSPACED:
        candidates |= set(_list_windows(pair.target.text, len(letters), knowledge))
    return max((_sound_alike(letters, other, language) for other in check_each(candidates, 100) if other), default=0.0)


def sounds_like(name: str, katakana: str, knowledge: Knowledge) -> float:
    """How alike a name and words in katakana sound; all is alike where nothing says how a word is read."""
    if knowledge.romanise is None:
        return 1.0
    return _remember_sound(knowledge.romanise(name[:LONGEST]), katakana, knowledge.romanise)


@lru_cache(maxsize=10_000)
def _remember_sound(letters: str, katakana: str, romanise: Callable[[str], str]) -> float:
    return _sound_as_katakana(letters, katakana, romanise)


def _list_words(name: str, side: Side, romanise: Callable[[str], str], *, small: bool) -> list[str]:
    """The words that a name may be written as: with a capital where names have one, and an acronym with several.

    In other letters than Latin ones an acronym may be a word: *Νάσα*. A small letter begins what is derived from the
    name alone: *hugenottisch*.
    """
    words: list[str] = WORD.findall(side.text)
    small = small or not name[0].isupper() or side.text.isupper()
    if small or side.language not in CASED | CAPITALISED_NOUNS:
        return words
    acronym, stem = _CAPITALS.match(name) is not None, romanise(name)[:_STEM]
    return [
        word
        for word in words
        if (
            _CAPITALS.match(word) and not are_other_acronyms(name, word)
            if acronym and _LATIN.match(word)
            else word[0].isupper() or romanise(word).startswith(stem)
        )
    ]


def _is_spelt_out(name: str, text: str, language: str, romanise: Callable[[str], str]) -> bool:
    """Whether a text has an acronym as its letters are called, in as many words or in one."""
    acronym = _ACRONYM.match(name)
    if acronym is None:
        return False
    called = "".join(_LETTERS[letter] for letter in acronym.group().lower())
    sought, count = _consonants(called, language), len(acronym.group())
    if len(sought) < 2:
        return False
    words = [romanise(word[:LONGEST]) for word in WORD.findall(text)]
    for start, word in check_each(enumerate(words), 100):
        row = words[start : start + count]
        short = len(row) == count and all(len(letter) <= _LONGEST_LETTER for letter in row)
        if short and _consonants("".join(row), language) == sought:
            return True
        alike = abs(len(word) - len(called)) <= count and SequenceMatcher(None, called, word, autojunk=False).ratio()
        if alike >= _SPELT_ALIKE and _consonants(word, language) == sought:
            return True
    return False


def _sound_as_katakana(letters: str, text: str, romanise: Callable[[str], str]) -> float:
    """How alike a name and a word of Japanese sound; a part of a longer run of katakana counts less."""
    spoken = list_spoken(letters)
    parts: dict[str, bool] = {}
    for is_whole, part in check_each(_list_katakana(text, len(letters), romanise), 50):
        if part:
            parts[part] = is_whole or parts.get(part, False)
    scores = (
        _sound_alike_in_katakana(said, part) * (1.0 if is_whole else _PARTIAL)
        for part, is_whole in check_each(parts.items(), 50)
        for said in spoken
    )
    return max(scores, default=0.0)


def _sound_alike_in_katakana(said: str, part: str) -> float:
    """A sign of katakana has one sound, so that other consonants are another name; of few of them vowels say more."""
    left, right = _consonants(said, "ja"), _consonants(part, "ja")
    alike = _sound_alike(said, part, "ja")
    if left != right and min(len(left), len(right)) > 1:
        return _OTHER_CONSONANTS * alike
    if left == right and len(left) == 2:
        whole = SequenceMatcher(None, said, part, autojunk=False).ratio()
        return max(whole, (2 * whole + 1) / 3)
    return alike


def _list_katakana(text: str, length: int, romanise: Callable[[str], str]) -> Iterator[tuple[bool, str]]:
    """Runs of katakana, their beginnings and their ends, and words in Latin letters, all as katakana has them.

    Of signs those in full width are read, each as one with its mark, and no more in a row than a name may have.
    """
    text = unicodedata.normalize("NFKC", text)
    for word in regex.findall(r"\p{Latin}+", text):
        yield from ((True, spoken) for spoken in list_spoken(romanise(word[:LONGEST])))
    most = min(LONGEST, 2 * length + _SILENT)
    for run in _KATAKANA.findall(text):
        yield True, _read_katakana(run, romanise)
        beginnings = (run[:end] for end in range(2, min(len(run), most + 1)))
        ends = (run[start:] for start in range(max(1, len(run) - most), len(run) - 1))
        for part in (*beginnings, *ends):
            letters = _read_katakana(part, romanise)
            if 0.7 * length <= len(letters) <= 2 * length:
                yield False, letters


def _read_katakana(part: str, romanise: Callable[[str], str]) -> str:
    return romanise_katakana(part[:LONGEST], romanise).translate(_ALIKE)


def _list_windows(text: str, length: int, knowledge: Knowledge) -> Iterator[str]:
    """Runs of signs that are about as long in Latin letters as a name of this ``length``."""
    romanise = knowledge.romanise
    assert romanise is not None
    signs = [romanise(sign) if sign.isalpha() else "" for sign in text]
    for start in range(len(signs)):
        for end in range(start + 1, min(start + _WINDOW, len(signs)) + 1):
            if not signs[end - 1]:
                break
            window = "".join(signs[start:end])
            if 0.6 * length <= len(window) <= 1.7 * length:
                yield window


def _sound_alike(first: str, second: str, language: str) -> float:
    left, right = _consonants(first, language), _consonants(second, language)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.real_quick_ratio() < _LEAST or matcher.quick_ratio() < _LEAST:
        return 0.0
    whole = SequenceMatcher(None, first, second, autojunk=False).ratio()
    if min(len(left), len(right)) < 2:
        return whole
    skeleton = matcher.ratio()
    both = max(whole, (whole + skeleton) / 2)
    return max(both, _BARE * skeleton) if language in _ABJADS and min(len(left), len(right)) > 2 else both


def _consonants(letters: str, language: str) -> str:
    """The consonants, each as the language has it."""
    for written, sound in _SOUNDS.get(language, ()):
        letters = letters.replace(written, sound)
    return str(_DOUBLE.sub(r"\1", _VOWELS.sub("", letters)))
