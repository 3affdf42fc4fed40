"""What the cells of a column are: words, numbers, parts of speech, codes, dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from dragoman.lexicon.formats.cells import as_number
from dragoman.lexicon.formats.detection import words
from dragoman.lexicon.formats.detection.names import language_of_code

NUMERIC = 0.9
"""Of a column of numbers so many cells are."""
_FEW = 12
_GRAMMAR = words.parse_list(
    "n|v|adj|adv|noun|verb|adjective|adverb|pron|pronoun|prep|preposition|conj|conjunction|interj|interjection|det|num"
    "|proper noun|propn|aux|sym|intj|cconj|sconj|adp|punct|m|f|nt|pl|sg|masc|fem|neut|nm|nf|sm|sf|vt|vi|v.t.|v.i."
    "|substantiv|nomen|adjektiv|subst|eigenname|verbum|artikel|pronomen|nom|verbe|adjectif|adverbe|sustantivo|adjetivo"
    "|verbo|sostantivo|aggettivo|avverbio|substantivo|adjetivo|advérbio|rzeczownik|czasownik|przymiotnik|существительное"
    "|глагол|прилагательное|наречие|сущ|прил|гл|名词|动词|形容词|副词|名詞|動詞|形容詞|명사|동사|형용사|부사"
    "|past-p|pres-p"
)
_CODE = re.compile(r"(?=.*[0-9])[A-Za-z]{0,2}[-_#./]?[0-9][A-Za-z0-9._/-]*|[0-9a-fA-F-]{16,}")
_DATE = re.compile(r"[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}(?:[T ][0-9:.Z+-]+)?")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\S+", re.IGNORECASE)


def share(cells: Sequence[str], of: Callable[[str], object]) -> float:
    return sum(of(cell) is not None for cell in cells) / len(cells)


def is_text(cells: Sequence[str]) -> bool:
    """Whether cells are words, not numbers, codes, dates or addresses, nor only parts of speech."""
    if share(cells, as_number) >= NUMERIC:
        return False
    for pattern in (_CODE, _DATE, _ADDRESS):
        if len(cells) >= 3 and share(cells, pattern.fullmatch) >= NUMERIC:
            return False
    if len(cells) >= 3 and len(set(cells)) <= _FEW and all(language_of_code(cell) for cell in cells):
        return False
    return not (len(cells) >= 3 and sum(cell.lower().strip(".") in _GRAMMAR for cell in cells) >= 0.8 * len(cells))


def is_category(cells: Sequence[str]) -> bool:
    """Whether the same few words stand in all cells."""
    return len(cells) >= _FEW and len(set(cells)) * 4 <= len(cells)


def word_count(cells: Sequence[str]) -> float:
    return sum(len(cell.split()) for cell in cells) / len(cells) if cells else 0.0


def is_probability(cells: Sequence[str]) -> bool:
    """Whether cells are numbers between 0 and 1."""
    numbers = [figure for cell in cells if (figure := as_number(cell)) is not None]
    if not numbers or len(numbers) < NUMERIC * len(cells):
        return False
    return sum(0 <= figure <= 1 for figure in numbers) >= NUMERIC * len(numbers)


def may_be_probability(cells: Sequence[str]) -> bool:
    """Whether cells where a probability is expected are that, if wrong ones: no text, and no counts."""
    numbers = [as_number(cell) for cell in cells if cell.lstrip("+-").lower() not in ("nan", "inf", "infinity")]
    if sum(figure is None for figure in numbers) * 2 > len(cells):
        return False
    whole = sum(figure is not None and figure > 1 and figure.is_integer() for figure in numbers)
    return not (len(cells) >= 3 and whole * 2 > len(cells))


def decimal_mark(cells: Sequence[str]) -> str | None:
    counts = Counter(mark for cell in cells for mark in ".," if mark in cell)
    if not counts:
        return None
    return counts.most_common(1)[0][0]


def is_deepl(columns: Sequence[Sequence[str]]) -> bool:
    """Whether the third and the fourth column are language codes, as in a glossary of DeepL."""
    if len(columns) != 4 or not columns[2] or len(columns[2]) != len(columns[0]):
        return False
    return all(language_of_code(cell) is not None for place in (2, 3) for cell in columns[place])
