"""English sentences with one name, one negation or one content word changed."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

import regex

import dragoman
from dragoman.lexicon.text.function_words import is_function_word

__all__ = ["NameSwaps", "WordSwaps", "drop_negation"]

LEAST_SCORE = 0.8
"""Of the tagger, for a name that is changed."""
_KINDS = ("PER", "LOC", "ORG")
_NEGATIONS = (
    (regex.compile(r"\b(can)not\b"), r"\1"),
    (regex.compile(r"\b(do|does|did) not (?=\w)"), ""),
    (regex.compile(r"\b(?:do|does|did)n['’]t (?=\w)"), ""),
    (regex.compile(r"\b(is|are|was|were|has|have|had|could|would|should|must)n['’]t\b"), r"\1"),
    (regex.compile(r" not\b(?! only)"), ""),
    (regex.compile(r" never\b"), ""),
    (regex.compile(r"\bno longer "), "still "),
    (regex.compile(r"\bwithout\b"), "with"),
)
_WORD = regex.compile(r"(?<![\w-])\p{Ll}{5,}(?![\w-])")
_ENDING = 2


class NameSwaps:
    """Changes a name of a sentence to another of its kind, from another sentence; the tagger finds both."""

    def __init__(self, sentences: Sequence[str]) -> None:
        tagged = dragoman.tag(sentences)
        self._names: dict[str, list[tuple[int, int, str]]] = {}
        self._pool: dict[str, set[str]] = defaultdict(set)
        for sentence, tags in zip(sentences, tagged, strict=True):
            names = [tag for tag in tags if tag.label in _KINDS and tag.score >= LEAST_SCORE and tag.text[0].isupper()]
            self._names[sentence] = [(tag.start, tag.end, tag.label) for tag in names]
            for tag in names:
                self._pool[tag.label].add(tag.text)

    def swap(self, sentence: str, chance: random.Random) -> str | None:
        """The sentence with one name changed; None if it has none."""
        names = self._names.get(sentence, [])
        if not names:
            return None
        start, end, label = chance.choice(names)
        old = set(sentence[start:end].casefold().split())
        others = sorted(name for name in self._pool[label] if not old & set(name.casefold().split()))
        others = [name for name in others if name not in sentence]
        return sentence[:start] + chance.choice(others) + sentence[end:] if others else None


class WordSwaps:
    """Changes a content word of a sentence to another with the same ending, from another sentence."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._pool: dict[str, list[str]] = defaultdict(list)
        words = {word for sentence in sentences for word in _WORD.findall(sentence)}
        for word in sorted(words):
            if not is_function_word(word, "en"):
                self._pool[word[-_ENDING:]].append(word)

    def swap(self, sentence: str, chance: random.Random) -> str | None:
        """The sentence with one word changed; None if it has none to change."""
        words = [match for match in _WORD.finditer(sentence) if not is_function_word(match.group(), "en")]
        if not words:
            return None
        match = chance.choice(words)
        others = [word for word in self._pool[match.group()[-_ENDING:]] if word[:3] != match.group()[:3]]
        if not others:
            return None
        return sentence[: match.start()] + chance.choice(others) + sentence[match.end() :]


def drop_negation(sentence: str) -> str | None:
    """The sentence without its negation; None if it has none."""
    for pattern, replacement in _NEGATIONS:
        changed = pattern.sub(replacement, sentence, count=1)
        if changed != sentence:
            return str(changed)
    return None
