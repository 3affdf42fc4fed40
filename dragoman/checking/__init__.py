"""Translations checked, whoever made them: numbers, names, length, words, meaning and the user's glossary."""

from dragoman.checking.alignment import AlignedSpans, TooManySentences, align
from dragoman.checking.check import Check, Code, Reason, Status
from dragoman.checking.checker import check_sentence, check_sentences, measure_cosines
from dragoman.checking.knowledge import Encode, Knowledge, TableView

__all__ = [
    "AlignedSpans",
    "Check",
    "Code",
    "Encode",
    "Knowledge",
    "Reason",
    "Status",
    "TableView",
    "TooManySentences",
    "align",
    "check_sentence",
    "check_sentences",
    "measure_cosines",
]
