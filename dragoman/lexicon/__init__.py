"""Translation knowledge as data: words of texts, translation tables, their formats and their composition."""

from dragoman.lexicon.compose import Analysed, Member, analyse, analysed, merge
from dragoman.lexicon.formats import (
    FORMATS,
    Format,
    Limits,
    RawEntry,
    Rejection,
    TableFormatError,
    TableTooLarge,
    read,
)
from dragoman.lexicon.languages import LANGUAGES, UnknownLanguage, check_language
from dragoman.lexicon.normalise import Normalised, normalise
from dragoman.lexicon.segmentation import LongestMatch, Segmenter
from dragoman.lexicon.table import CorruptTable, Entry, Table, Vocabulary
from dragoman.lexicon.text import Analysis, PlainAnalysis, Token, fold, fold_term, words

__all__ = [
    "FORMATS",
    "LANGUAGES",
    "Analysed",
    "Analysis",
    "CorruptTable",
    "Entry",
    "Format",
    "Limits",
    "LongestMatch",
    "Member",
    "Normalised",
    "PlainAnalysis",
    "RawEntry",
    "Rejection",
    "Segmenter",
    "Table",
    "TableFormatError",
    "TableTooLarge",
    "Token",
    "UnknownLanguage",
    "Vocabulary",
    "analyse",
    "analysed",
    "check_language",
    "fold",
    "fold_term",
    "merge",
    "normalise",
    "read",
    "words",
]
