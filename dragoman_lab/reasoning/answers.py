"""How well an answer's text agrees with a reference: F1 of words and exact match, as in SQuAD (Rajpurkar et al. 2016).

Languages without spaces between words (Chinese, Japanese, Thai) are compared by characters, as MLQA does for Chinese
(Lewis et al. 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import regex

_ARTICLES = {
    "en": r"\b(a|an|the)\b",
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "ar": r"\bال",
}
_BY_CHARACTER = ("zh", "ja", "th")
_PUNCTUATION = regex.compile(r"[\p{P}\p{S}]")


def words_of(text: str, language: str) -> list[str]:
    """The words or characters that are compared: lower-cased, without punctuation and articles."""
    plain: str = _PUNCTUATION.sub("", text.lower())
    if language in _ARTICLES:
        plain = regex.sub(_ARTICLES[language], " ", plain)
    if language in _BY_CHARACTER:
        return list(regex.findall(r"[a-z0-9]+|\S", plain))
    return list(plain.split())


def f1(answer: str, references: Sequence[str], language: str) -> float:
    """The best F1 over the references; without references 1 for an empty answer."""
    answer_words = words_of(answer, language)
    return max(
        (_f1(answer_words, words_of(reference, language)) for reference in references), default=float(not answer_words)
    )


def exact(answer: str, references: Sequence[str], language: str) -> float:
    """1 if the answer equals a reference, or is empty as there is none."""
    answer_words = words_of(answer, language)
    return float(
        any(answer_words == words_of(reference, language) for reference in references)
        if references
        else not answer_words
    )


def _f1(answer: list[str], reference: list[str]) -> float:
    common = sum((Counter(answer) & Counter(reference)).values())
    if not common:
        return float(answer == reference)
    return 2 * common / (len(answer) + len(reference))
