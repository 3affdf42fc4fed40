"""Detects the language of a query among the languages that the service can search from."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import regex
from lingua import Language, LanguageDetector, LanguageDetectorBuilder

from dragoman.engine.core.memory import return_freed
from dragoman.engine.query.word_model import model_languages, text_words, word_confidences
from dragoman.indexes.analysis.common_words import common_letters, common_words
from dragoman.lexicon.text.tokens import fold, words

FALLBACK = "en"
"""The assumed language of a query without evidence, such as a number."""
NEIGHBOURS = frozenset(("bg", "cs", "da", "fi", "he", "hu", "it", "ko", "nl", "pl", "pt", "ro", "sv", "uk"))
"""Languages that a text may be in though no model learned them: taken for another one, they would be read as two."""


Knows = Callable[[str, str], bool]
"""``knows(language, word)``: whether a translation table has the folded word on its side of the language."""

_LETTER = regex.compile(r"\p{L}")
_SAMPLE = 1000
_MINIMUM = 0.001
_HOPELESS = 1e-5
_FLOOR, _WORD_FLOOR = 0.01, 1e-8
_UNMODELLED = 0.1
_LETTERS, _WORDS, _COMMON = 0.6, 0.9, 0.3
"""Weights of a language that both models know: its log probability by letters, by words, the share of common words."""
_LETTERS_ALONE, _UNSEEN = 2.2, -0.3
"""The weight of letters and the constant of a language that the model of words does not know."""
_MOST_COMMON, _COMMON_ALONE = 30.0, -3.0
"""Without the model of letters: the weight of the share of common words, and the constant of a language that the model
of words does not know."""
_FOREIGN_LETTERS = 8.0
"""What the share of words weighs that have a letter which the common words of the language lack."""
_KNOWN = 8.0
"""The weight of the share of words that the tables have."""
_REACH = 4.0
_ENGLISH = 0.8
"""What English has in advance, in log odds: its words are usual in texts of other languages as well."""
_READERS = 1.5
"""What a reader's language has in advance, in log odds."""
_SURE = 0.5
_LOADED: set[Language] = set()
"""The languages whose models lingua keeps in memory."""
_OWN_SCRIPT = {
    code: regex.compile(rf"[\P{{L}}\p{{Script={script}}}]++")
    for code, script in {
        "am": "Ethiopic",
        "bo": "Tibetan",
        "dv": "Thaana",
        "dz": "Tibetan",
        "ii": "Yi",
        "km": "Khmer",
        "kn": "Kannada",
        "lo": "Lao",
        "ml": "Malayalam",
        "my": "Myanmar",
        "ne": "Devanagari",
        "or": "Oriya",
        "ps": "Arabic",
        "sa": "Devanagari",
        "sd": "Arabic",
        "si": "Sinhala",
        "ti": "Ethiopic",
        "ug": "Arabic",
        "yi": "Hebrew",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Detection:
    """A text's language; ``decided`` is false if the text has no evidence for any candidate."""

    language: str
    decided: bool
    probability: float
    """How likely it is among the candidates; 1 where the language was given."""

    @classmethod
    def of_request(cls, language: str) -> Detection:
        """A language that the request names."""
        return cls(language, True, 1.0)

    @property
    def unsure(self) -> bool:
        """Whether another candidate may as well be right."""
        return not self.decided or self.probability < _SURE


class Evidence(NamedTuple):
    """What speaks for one language of a text."""

    letters: float
    """The log probability by lingua's model of letters."""
    words: float | None
    """The log probability by the model of words; None if that does not know the language."""
    common: float
    """The share of the words that are common words of the language."""
    in_tables: float
    """The share of the words that are not, and that a table has."""


def detect(
    text: str,
    candidates: Collection[str],
    knows: Knows,
    reach: Callable[[str], float] = lambda language: 0.0,
    readers: Collection[str] = (),
) -> Detection:
    """The most probable language of ``text`` among ``candidates`` and the ``readers``' languages (ISO 639 codes).

    A language's log odds are a weighted sum of log probabilities and shares. The probabilities are by lingua's model of
    letters, and by the model of words (:mod:`~dragoman.engine.query.word_model`) if that knows the language. The shares
    are those of the text's words that are among its common words, and that the translation tables have. Letters alone
    often fail for queries of one or two words. Glossaries lack the function words of a question. A language without a
    model is recognised by its words or its script. The weights were fitted by
    `dragoman_lab.benchmarks.languages.fitting`.

    ``reach`` is the share of the searched languages that a query in a language can reach. A language weighs more the
    more of them it can reach, up to five times. The readers' languages weigh more too, which decides where a text is so
    short that it says little, and hardly counts in a sentence. A text without letters, or without evidence for any
    candidate, is assumed to be in the first reader's language, else in English if that is a candidate.
    """
    usable = sorted({*candidates, *readers})
    fallback = next(iter(readers), FALLBACK if FALLBACK in usable or not usable else usable[0])
    sample = unicodedata.normalize("NFC", text[:_SAMPLE])
    if not _LETTER.search(sample) or not usable:
        return Detection(fallback, False, 1 / max(1, len(usable)))
    odds = {
        language: _odds(evidence_of_language)
        + math.log1p(_REACH * reach(language))
        + _READERS * (language in readers)
        + _ENGLISH * (language == FALLBACK)
        for language, evidence_of_language in evidence(sample, usable, knows).items()
    }
    if not odds:
        return Detection(fallback, False, 1 / len(usable))
    best = max(odds, key=lambda language: (odds[language], language == fallback))
    return Detection(best, True, 1 / sum(math.exp(log_odds - odds[best]) for log_odds in odds.values()))


def usual_languages() -> frozenset[str]:
    """The languages that a text may be in where nothing says which ones matter."""
    return model_languages() | NEIGHBOURS


def detect_by_words(text: str, readers: Collection[str] = ()) -> Detection:
    """The most probable of the :func:`usual_languages` and the ``readers``' languages, by the words of a text alone.

    lingua's models of all these languages take half a GB of memory and seconds to load, for a request that no table
    makes depend on the language. A language's log odds are those of the model of words, and of the share of the words
    that are common ones of the language.
    """
    sample = unicodedata.normalize("NFC", text[:_SAMPLE])
    fallback = next(iter(readers), FALLBACK)
    candidates = usual_languages().union(readers)
    sample_words = text_words(sample)
    by_words = word_confidences(sample, candidates)
    odds = {}
    for language in sorted(candidates):
        common = sum(fold(word, language) in common_words(language) for word in sample_words)
        likely = by_words.get(language)
        if common or likely is not None:
            by_word = _COMMON_ALONE if likely is None else _WORDS * math.log(max(_WORD_FLOOR, likely))
            letters = common_letters(language)
            foreign = sum(not letters.issuperset(word) for word in sample_words) if letters else 0
            evident = (_MOST_COMMON * common - _FOREIGN_LETTERS * foreign) / len(sample_words)
            odds[language] = evident + by_word + _READERS * (language in readers)
    if not odds:
        return Detection(fallback, False, 1 / len(candidates))
    best = max(odds, key=lambda language: (odds[language], language == fallback))
    return Detection(best, True, 1 / sum(math.exp(log_odds - odds[best]) for log_odds in odds.values()))


def evidence(text: str, candidates: Collection[str], knows: Knows) -> dict[str, Evidence]:
    """What speaks for each candidate; those for which nothing does are left out."""
    by_words = word_confidences(text, candidates)
    by_language = {}
    for language, confidence in _confidences(text, sorted(candidates)).items():
        by_word = by_words.get(language)
        if confidence is not None and confidence < _MINIMUM and (by_word is None or by_word < _HOPELESS):
            continue  # to look its words up takes most of the time
        common, in_tables = _word_shares(text, language, knows)
        if confidence is None:
            possible = common + in_tables + (by_word or 0.0) > 0.0
        else:
            possible = confidence >= _MINIMUM or by_word is not None  # letters alone leave out too many
        if possible:
            letters = _UNMODELLED if confidence is None else confidence
            by_language[language] = Evidence(
                math.log(max(_FLOOR, letters)),
                None if by_word is None else math.log(max(_WORD_FLOOR, by_word)),
                common,
                in_tables,
            )
    return by_language


def _odds(evidence: Evidence) -> float:
    odds = _COMMON * evidence.common + _KNOWN * evidence.in_tables
    if evidence.words is None:
        return odds + _LETTERS_ALONE * evidence.letters + _UNSEEN
    return odds + _LETTERS * evidence.letters + _WORDS * evidence.words


def prepare(languages: Collection[str]) -> None:
    """Load the detection models of these languages, so that the first query does not wait for them.

    Loading a model takes 80 ms and 10 MB of memory.
    """
    candidates = sorted({FALLBACK, *languages}) if languages else []
    for language in candidates:
        longest = max(common_words(language), key=len, default=language)  # a long text would load fewer models
        _confidences(longest, candidates)


def _word_shares(text: str, language: str, knows: Knows) -> tuple[float, float]:
    """The shares of the words that are common in a language, and of the others those that a table has."""
    folded_words = [token.word for token in words(text, language)]
    common = common_words(language)
    usual = {word for word in folded_words if word in common or word.removesuffix("'") in common}
    rest = [word for word in folded_words if word not in usual and knows(language, word)]
    many = max(1, len(folded_words))
    return sum(word in usual for word in folded_words) / many, len(rest) / many


def _confidences(text: str, candidates: list[str]) -> dict[str, float | None]:
    """Probability per candidate by the character model; None for a language without a model."""
    modelled = {code: language for code in candidates if (language := _lingua_languages().get(code)) is not None}
    values = _model_confidences(text, frozenset(modelled.values())) if modelled else {}
    confidences: dict[str, float | None] = {}
    for code in candidates:
        if code in modelled:
            confidences[code] = values[modelled[code]]
        else:
            script = _OWN_SCRIPT.get(code)
            confidences[code] = 1.0 if script is not None and script.fullmatch(text) else None
    return confidences


def _model_confidences(text: str, languages: frozenset[Language]) -> dict[Language, float]:
    if len(languages) == 1:
        other = Language.ENGLISH if Language.ENGLISH not in languages else Language.FRENCH
        languages = languages | {other}
    values = _detector(languages).compute_language_confidence_values(text)
    if not languages <= _LOADED:  # their models were read now, larger than they are
        _LOADED.update(languages)
        return_freed()
    return {confidence.language: confidence.value for confidence in values}


@lru_cache(maxsize=1)
def _lingua_languages() -> dict[str, Language]:
    return {language.iso_code_639_1.name.lower(): language for language in Language.all()}


@lru_cache(maxsize=16)
def _detector(languages: frozenset[Language]) -> LanguageDetector:
    """A detector for these languages; the models themselves are loaded once, on first use."""
    return LanguageDetectorBuilder.from_languages(*languages).build()
