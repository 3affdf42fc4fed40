"""Translation knowledge as data: text processing, translation tables, their formats and merging."""

from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.reader import (
    FORMATS,
    Format,
    Limits,
    RawEntry,
    Rejection,
    TableFormatError,
    TableTooLarge,
    read,
)
from dragoman.lexicon.table.compose import AnalysedTable, Member, analyse, analyse_table, merge
from dragoman.lexicon.table.table import CorruptTable, Entry, Table, Vocabulary
from dragoman.lexicon.text.languages import LANGUAGES, UnknownLanguage, check_language
from dragoman.lexicon.text.segmentation import LongestMatch, Segmenter
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis, Token, fold, fold_term, words

__all__ = [
    "FORMATS",
    "LANGUAGES",
    "AnalysedTable",
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
    "analyse_table",
    "check_language",
    "fold",
    "fold_term",
    "merge",
    "normalise",
    "read",
    "words",
]
