"""Words of sentences, parts of words, accidental substrings of words, and invented terms for them."""

from __future__ import annotations

import gzip
import json
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import regex

from dragoman.indexes.analysis.segmenters import icu_words, segmenter
from dragoman.lexicon.text.segmentation import RUN, segment_run

Split = Literal["tune", "test", "all"]
UNSPACED = ("ja", "th", "zh")

_WORD = regex.compile(r"[\p{L}\p{M}\p{Nd}](?:\S*[\p{L}\p{M}\p{Nd}])?")
_RUN = regex.compile(RUN, regex.V1)
_SHORTEST_SUBSTRING = 3
_PRODUCTIVE = 2
"""Pairs of words that differ by the same beginning or end: more of them are no accident but grammar."""
_NEAR = 20
_LINKS = ("s", "es", "n", "en", "e", "er")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}ー]{1,2}", regex.V1)
_KANA_IN = regex.compile(r"[\p{Hiragana}\p{Katakana}ー]", regex.V1)
_KANJI_IN = regex.compile(r"\p{Han}")
_KANJI = regex.compile(r"\p{Han}+")
_CONSONANTS = "b,br,d,dr,f,g,gl,k,kr,l,m,n,p,pl,r,s,t,tr,v,z"
_SYLLABLES = [consonant + vowel for consonant in _CONSONANTS.split(",") for vowel in "aeiou"]
_ENDS = ("b", "d", "g", "k", "lm", "n", "p", "rk", "t", "x", "z")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A word that a glossary shall find, one sentence with it and one without, of about the same length."""

    word: str
    kind: str
    """``word``, or ``part`` of one."""
    sentence: str
    other: str
    holders: frozenset[str]
    """The ids of the sentences with the word."""


@dataclass(frozen=True, slots=True)
class Accident:
    """A word that is a substring of a longer word by accident, and a sentence with the longer one alone."""

    language: str
    substring: str
    word: str
    sentence: str


class Sentences:
    """The sentences of a language by id, and the words in them."""

    def __init__(self, data_folder: Path, language: str) -> None:
        self.language = language
        self.data_folder = data_folder
        with gzip.open(data_folder / "flores200" / f"{language}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        self.texts: dict[str, str] = {row["id"]: unicodedata.normalize("NFC", row["text"]) for row in rows}
        self.words = {key: self._split_words(text) for key, text in self.texts.items()}
        self.holders: dict[str, set[str]] = defaultdict(set)
        for key, words in self.words.items():
            for word in words:
                self.holders[same(word)].add(key)

    def _split_words(self, text: str) -> list[str]:
        """What stands between spaces, without punctuation at its ends; or the words of the segmenter."""
        if self.language not in UNSPACED:
            return [match[0] for match in _WORD.finditer(text) if sum(map(str.isalpha, match[0])) > 1]
        return list(_segment(text, self.language))

    def with_word(self, word: str) -> frozenset[str]:
        """The ids of the sentences that have a word: as such, or anywhere where words are written without spaces."""
        if self.language in UNSPACED:
            return frozenset(key for key, text in self.texts.items() if word in text)
        return frozenset(self.holders[same(word)])

    def ids(self, split: Split) -> list[str]:
        """The ids of a split: sentences of even numbers are for tuning, the others for the test."""
        remainders = {"tune": (0,), "test": (1,), "all": (0, 1)}[split]
        return [key for key in sorted(self.texts) if int(key) % 2 in remainders]

    @property
    def dictionary(self) -> Container[str]:
        """Words by which parts of words are judged; where words are written without spaces it is a dictionary."""
        return _dictionary(self.data_folder, self.language) if self.language in UNSPACED else self.holders.keys()


def same(word: str) -> str:
    """The form in which words are compared."""
    return unicodedata.normalize("NFC", word.casefold())


def _segment(text: str, language: str) -> Iterator[str]:
    segmenter_with_name = segmenter(language)
    assert segmenter_with_name is not None
    for run in _RUN.finditer(text):
        for first, last in segment_run(run[0], language, segmenter_with_name[0]):
            yield run[0][first:last]


def icu_segmented(sentences: Sentences, key: str) -> list[str]:
    """The words of a sentence by ICU, for a figure that doesn't depend on the segmenter of the service."""
    runs = _RUN.finditer(sentences.texts[key])
    return [word for run in runs for word in icu_words(sentences.language, run[0])]


@cache
def _dictionary(data_folder: Path, language: str) -> Container[str]:
    if language == "zh":
        import rjieba

        return _Jieba(rjieba.cut_all)
    if language == "th":
        from pythainlp.corpus import thai_words

        return frozenset(word for word in thai_words() if len(word) > 1)
    return frozenset(word for word in _entries(data_folder, language) if not _KANA.fullmatch(word))


def _entries(data_folder: Path, language: str) -> Iterator[str]:
    """What the dictionaries of a language have."""
    for path in sorted((data_folder / "dictionaries").glob("*.tsv.gz")):
        source, _, target = path.name.removesuffix(".tsv.gz").partition("-")
        if language in (source, target):
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                yield from (line.split("\t")[int(language == target)].strip() for line in lines)


def _attested_words(data_folder: Path, language: str) -> set[str]:
    """The words of the dictionaries of a language, and of its treebanks with their dictionary forms."""
    words = {same(entry) for entry in _entries(data_folder, language)}
    for folder in ("lemmas", "research_only/lemmas"):
        path = data_folder / folder / f"{language}.tsv.gz"
        if path.is_file():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                words.update(same(cell) for line in lines for cell in line.split("\t")[:2])
    return words


class _Jieba:
    """The dictionary of jieba, which shows it in this way alone."""

    def __init__(self, cut_all: Callable[[str], Sequence[str]]) -> None:
        self._cut_all = cut_all

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self._cut_all(word)


def parts_of(word: str, dictionary: Container[str]) -> set[str]:
    """The sides of every cut of a word into two words of the dictionary, and their sides."""
    parts: set[str] = set()
    pending = [word]
    while pending:
        whole = pending.pop()
        for place in range(1, len(whole)):
            for side in (whole[:place], whole[place:]):
                if side not in parts and whole[:place] in dictionary and whole[place:] in dictionary:
                    parts.add(side)
                    pending.append(side)
    return parts


def choose_words(
    sentences: Sentences, count: int, draw: random.Random, split: Split = "test", icu: bool = False
) -> list[Chosen]:
    """Distinct words of sentences, at random; without spaces, every second one is a part of a word."""
    ids = sentences.ids(split)
    chosen: dict[str, Chosen] = {}
    for _ in range(count * 1000):
        if len(chosen) == count:
            break
        key = draw.choice(ids)
        words = icu_segmented(sentences, key) if icu else sentences.words[key]
        if not words:
            continue
        word, kind = draw.choice(words), "word"
        if sentences.language in UNSPACED and not icu and len(chosen) % 2:
            parts = sorted(parts_of(word, sentences.dictionary))
            if not parts:
                continue
            word, kind = draw.choice(parts), "part"
        if same(word) in chosen or not any(map(str.isalpha, word)):
            continue
        holders = sentences.with_word(word)
        others = sorted(sentences.texts.keys() - holders)
        if key not in holders or not others:
            continue
        length = len(sentences.texts[key])
        near = sorted(others, key=lambda other: abs(len(sentences.texts[other]) - length))[:_NEAR]
        chosen[same(word)] = Chosen(word, kind, sentences.texts[key], sentences.texts[draw.choice(near)], holders)
    return list(chosen.values())


def accidents(sentences: Sentences, draw: random.Random, split: Split = "test") -> Iterator[Accident]:
    """Substrings that are words, but not in these words, at random and without end of the sentences' words."""
    find = _unspaced_substrings if sentences.language in UNSPACED else _substrings(sentences)
    ids = sentences.ids(split)
    draw.shuffle(ids)
    for key in ids:
        text = sentences.texts[key]
        words = list(dict.fromkeys(sentences.words[key]))
        draw.shuffle(words)
        for word in words:
            fits = [part for part in find(word, sentences) if _alone(part, word, text, sentences, key)]
            if fits:
                yield Accident(sentences.language, draw.choice(fits), word, text)
                break


def _alone(part: str, word: str, text: str, sentences: Sentences, key: str) -> bool:
    """Whether a substring stands in a sentence in this word alone."""
    if sentences.language in UNSPACED:
        return text.count(part) == text.count(word) * word.count(part)
    return sum(part in same(other) for other in sentences.words[key]) == 1


def _unspaced_substrings(word: str, sentences: Sentences) -> list[str]:
    """Dictionary words inside a word that leave what is no word, and where no segmenter cuts."""
    dictionary = sentences.dictionary
    parts = parts_of(word, dictionary) | set(icu_words(sentences.language, word))
    inner = {word[start:end] for start in range(len(word)) for end in range(start + 2, len(word) + 1)} - {word}
    return sorted(part for part in inner - parts if part in dictionary and not _of_japanese(part, word))


def _of_japanese(part: str, word: str) -> bool:
    """Whether a substring is a stem before its ending, half of a compound of four characters, or beside a character."""
    rest = word.replace(part, "", 1)
    if len(rest) == 1 and _KANJI.fullmatch(rest) is not None:  # the airplane of a flying machine: 飛行, 機
        return True
    halves = len(word) == 2 * len(part) == 4 and (word.startswith(part) or word.endswith(part))
    mixed = _KANJI_IN.search(word) is not None and _KANA_IN.search(word) is not None
    return mixed or (halves and _KANJI.fullmatch(word) is not None)


def _substrings(sentences: Sentences) -> Callable[[str, Sentences], list[str]]:
    """Words that begin or end a longer word, where neither the rest is a word nor the pair is one of grammar.

    Few of the rests of compounds stand in sentences by themselves: words of dictionaries and treebanks are words, too.
    """
    vocabulary = sentences.holders.keys()
    words = _attested_words(sentences.data_folder, sentences.language) | vocabulary
    pairs: list[tuple[str, str, tuple[str, bool]]] = []
    for word in vocabulary:
        if word.isalpha() or all(letter.isalpha() or unicodedata.category(letter)[0] == "M" for letter in word):
            for place in range(1, len(word)):
                pairs.extend(_halves(word, place, vocabulary))
    counts = Counter(affix for _, _, affix in pairs)
    grammar = {affix for affix, times in counts.items() if times > _PRODUCTIVE}
    substrings: dict[str, list[str]] = defaultdict(list)
    for word, part, (rest, ends) in pairs:
        long = len(part) >= _SHORTEST_SUBSTRING and len(rest) >= _SHORTEST_SUBSTRING
        if long and _without_links(rest, ends).isdisjoint(words) and not _grammatical(rest, ends, grammar):
            substrings[word].append(part)
    return lambda word, _: substrings[same(word)]


def _without_links(rest: str, ends: bool) -> set[str]:
    """The rest of a compound, also without what links its halves: ``s`` of ``Lebens-kraft``."""
    linked = {rest.removeprefix(link) if ends else rest.removesuffix(link) for link in _LINKS}
    return {rest, *(stripped for stripped in linked if len(stripped) >= _SHORTEST_SUBSTRING)}


def _halves(word: str, place: int, vocabulary: Container[str]) -> Iterable[tuple[str, str, tuple[str, bool]]]:
    if unicodedata.category(word[place])[0] == "M":
        return
    if word[:place] in vocabulary:
        yield word, word[:place], (word[place:], True)
    if word[place:] in vocabulary:
        yield word, word[place:], (word[:place], False)


def _grammatical(rest: str, ends: bool, grammar: Container[tuple[str, bool]]) -> bool:
    """Whether what is beside the substring begins or ends as affixes do."""
    pieces = [rest[:end] for end in range(1, len(rest) + 1)] + [rest[start:] for start in range(len(rest))]
    return any((piece, ends) in grammar for piece in pieces if len(piece) > 1 or piece == rest)


def invent_term(draw: random.Random, taken: set[str]) -> str:
    """A pronounceable term of four syllables that is unlike any term taken before, which it joins."""
    while True:
        term = "".join(draw.choice(_SYLLABLES) for _ in range(4)) + draw.choice(_ENDS)
        if term not in taken and term[:6] not in taken:
            taken.update((term, term[:6]))
            return term
