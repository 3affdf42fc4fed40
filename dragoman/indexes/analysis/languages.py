"""How each language is analysed: one row for each; a language without a row has plain folded words.

docs/languages.md is made from this table (``scripts/languages_page.py``).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ANALYSERS", "PLACED", "Analyser", "analyser", "has_words_among_terms"]


class Analyser(NamedTuple):
    """The parts of a language's analysis; an empty name means that there is none."""

    stemmer: str = ""
    """An analyzer of Lucene, by its class under ``org.apache.lucene.analysis``; it is used without stop words.

    Six languages have none though Lucene has one: its stems of dictionary forms merge different words."""
    segmenter: str = ""
    """What cuts runs of letters that are written without spaces, see :mod:`.segmenters`."""
    forms: bool = False
    """Whether words are replaced by their dictionary forms before they are stemmed, see :mod:`.inflection`."""
    parts: bool = False
    """Whether words within words are found, see :mod:`.parts`."""
    syllables: bool = False
    """Whether most words are written as several: those of tables are sequences in documents, and terms of queries."""
    words: bool = False
    """Whether words are further terms beside their stems, as where there is no stemmer, instead of in a field of their
    own. That is smaller, but a dictionary form in an entry then counts no more than the word's other forms."""


ANALYSERS: dict[str, Analyser] = {
    "ar": Analyser(forms=True),
    "bg": Analyser("bg/BulgarianAnalyzer", forms=True),
    "bn": Analyser("bn/BengaliAnalyzer"),
    "bs": Analyser(forms=True),
    "ca": Analyser("ca/CatalanAnalyzer", forms=True),
    "cs": Analyser("cz/CzechAnalyzer", forms=True),
    "da": Analyser(forms=True, parts=True),
    "de": Analyser("de/GermanAnalyzer", forms=True, parts=True),
    "el": Analyser("el/GreekAnalyzer", forms=True),
    "en": Analyser("en/EnglishAnalyzer", forms=True),
    "es": Analyser("es/SpanishAnalyzer", forms=True),
    "et": Analyser("et/EstonianAnalyzer", forms=True),
    "eu": Analyser("eu/BasqueAnalyzer"),
    "fa": Analyser("fa/PersianAnalyzer", forms=True),
    "fi": Analyser("fi/FinnishAnalyzer", forms=True, parts=True),
    "fon": Analyser(forms=True),
    "fr": Analyser("fr/FrenchAnalyzer", forms=True),
    "ga": Analyser("ga/IrishAnalyzer"),
    "gl": Analyser("gl/GalicianAnalyzer", forms=True),
    "he": Analyser(forms=True),
    "hi": Analyser("hi/HindiAnalyzer", forms=True),
    "hr": Analyser(forms=True),
    "hu": Analyser(forms=True),
    "hy": Analyser(forms=True),
    "id": Analyser("id/IndonesianAnalyzer", forms=True),
    "is": Analyser(forms=True),
    "it": Analyser("it/ItalianAnalyzer", forms=True),
    "ja": Analyser("ja/JapaneseAnalyzer", segmenter="kuromoji", parts=True, words=True),
    "ka": Analyser(forms=True),
    "km": Analyser(segmenter="icu", parts=True),
    "ko": Analyser(forms=True),
    "ku": Analyser("ckb/SoraniAnalyzer"),
    "lo": Analyser(segmenter="icu", parts=True),
    "lt": Analyser("lt/LithuanianAnalyzer", forms=True),
    "lv": Analyser("lv/LatvianAnalyzer", forms=True),
    "mk": Analyser(forms=True),
    "mr": Analyser(forms=True),
    "my": Analyser(segmenter="icu", parts=True),
    "nb": Analyser("no/NorwegianAnalyzer", forms=True, parts=True),
    "ne": Analyser("ne/NepaliAnalyzer"),
    "nl": Analyser("nl/DutchAnalyzer", forms=True, parts=True),
    "nn": Analyser("no/NorwegianAnalyzer", forms=True, parts=True),
    "pl": Analyser("morfologik/MorfologikAnalyzer", forms=True),
    "pt": Analyser("pt/PortugueseAnalyzer", forms=True),
    "ro": Analyser("ro/RomanianAnalyzer", forms=True),
    "ru": Analyser("ru/RussianAnalyzer", forms=True),
    "sk": Analyser(forms=True),
    "sl": Analyser(forms=True),
    "sq": Analyser(forms=True),
    "sr": Analyser("sr/SerbianAnalyzer", forms=True),
    "sv": Analyser("sv/SwedishAnalyzer", forms=True, parts=True),
    "ta": Analyser(forms=True),
    "te": Analyser("te/TeluguAnalyzer"),
    "th": Analyser(segmenter="newmm", parts=True),
    "tr": Analyser(forms=True),
    "uk": Analyser("uk/UkrainianMorfologikAnalyzer", forms=True),
    "ur": Analyser(forms=True),
    "vi": Analyser(syllables=True),
    "zh": Analyser(segmenter="jieba", parts=True),
}

PLACED = frozenset(language for language, row in ANALYSERS.items() if row.segmenter or row.syllables)
"""Languages whose index has the places of words: what is one word in an entry may be several in a text."""


def has_words_among_terms(language: str) -> bool:
    """Whether each word is one of its index terms, so that words need no field of their own."""
    row = analyser(language)
    return row.words or not row.stemmer


def analyser(language: str) -> Analyser:
    """The row of a language."""
    return ANALYSERS.get(language, Analyser())
