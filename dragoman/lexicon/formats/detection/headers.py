"""Whether a line names the columns of a file, and what it says of each.

A header says of two columns that they are different things: a source and its translation, or two languages. A pair of
words that mean the same, such as ``source`` and ``Quelle`` or ``English`` and ``Englisch``, is an entry.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import regex

from dragoman.lexicon.formats.detection import words
from dragoman.lexicon.formats.detection.names import language_of_code, language_of_name, like_a_name, same
from dragoman.lexicon.formats.items import TableFormatError
from dragoman.lexicon.text.languages import LANGUAGES

_WORD = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}'’]*")
_MARKED_CODE = regex.compile(r"[(\[{<]\s*([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})?)\s*[)\]}>]")
_REGION = regex.compile(r"(?<![\p{L}\p{N}])([A-Za-z]{2,3})[-_](?:[A-Z]{2}|[A-Z][a-z]{3}|[0-9]{3})(?![\p{L}\p{N}])")
_TONGUE = regex.compile(
    r"lang|sprach|idioma|lingua|língua|taal|język|jazyk|язык|мова|言語|语言|語言|언어|kiel|språk|sprog|dil\b"
)
_LONGEST = 80
_MOST_WORDS = 7
_AMBIGUOUS_CODES = frozenset(
    [
        "it",
        "is",
        "no",
        "so",
        "am",
        "as",
        "or",
        "to",
        "he",
        "my",
        "be",
        "an",
        "et",
        "la",
        "os",
        "se",
        "de",
        "da",
        "na",
        "es",
        "en",
        "el",
        "li",
        "ay",
        "ie",
        "ho",
        "id",
        "st",
        "ss",
        "in",
        "at",
        "tu",
        "te",
        "si",
        "ne",
        "ni",
    ]
)
"""Small letters that are words too, by which alone no other languages than the table's are recognised."""
_SIDES = frozenset({"source", "target", "term"})
_COMPOUNDS = (
    ("quell", "source"),
    ("ausgangs", "source"),
    ("bron", "source"),
    ("käll", "source"),
    ("kilde", "source"),
    ("ziel", "target"),
    ("übersetz", "target"),
    ("doel", "target"),
    ("traduc", "target"),
    ("traduz", "target"),
    ("translat", "target"),
    ("vertal", "target"),
    ("перевод", "target"),
)


@dataclass(frozen=True, slots=True)
class Name:
    """What one cell of a header says: the role of its column and the language, where it does."""

    role: str | None = None
    """``source``, ``target``, ``term``, a probability, the language of an entry's side, or ``other``."""
    language: str | None = None
    whole: bool = False
    """Whether all of the cell is understood."""
    sure: bool = False
    """Whether the language is named by more than a code that may be a word."""
    tongue: bool = False
    """Whether it is called a language, as columns of terms and columns of codes are."""

    @property
    def recognised(self) -> bool:
        return self.whole and (self.role is not None or self.language is not None)

    @property
    def of_terms(self) -> bool:
        """Whether the column may hold terms."""
        return self.role in (None, "source", "target", "term")


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """A line that is a header: the role and the language of each column, None where it says nothing of use."""

    roles: tuple[str | None, ...]
    languages: tuple[str | None, ...]
    directed: bool
    """Whether it says itself which column is the source, not by languages alone."""


def read_header(cells: Sequence[str], languages: tuple[str, str], certain: bool = False) -> HeaderLine | None:
    """What a line says as a header of a table of two languages, or None if it is none; ``certain`` that it is one.

    Raises:
        TableFormatError: it names two languages, but not those of the table.
    """
    names = [name_of(cell, languages) for cell in cells]
    roles = _by_language(names, languages) or _by_role(names, languages)
    if roles is None:
        _refuse_others(names, languages)
        _refuse_one_side(names)
        return None
    if not certain and not _is_header(names, roles):
        return None
    directed = any(name.role in ("source", "target") for name in names)
    return HeaderLine(tuple(roles), tuple(_languages(names, roles, languages)), directed)


def _is_header(names: Sequence[Name], roles: Sequence[str | None]) -> bool:
    """Whether the cells can be no entry: all are understood, or at least those of both sides."""
    sides = [name for name, role in zip(names, roles, strict=True) if role in ("source", "target")]
    if all(name.recognised for name in sides):
        return True
    return all(name.language is not None and name.sure for name in sides)


def _by_language(names: Sequence[Name], languages: tuple[str, str]) -> list[str | None] | None:
    """The roles where the languages of both columns, or of one beside a column of terms, are named."""
    source, target = (same(code) for code in languages)
    ours = [place for place, name in enumerate(names) if name.of_terms and name.language == source]
    theirs = [place for place, name in enumerate(names) if name.of_terms and name.language == target]
    if not ours and not theirs:
        return None
    if not ours or not theirs:
        free = [p for p, n in enumerate(names) if n.role in ("source", "target", "term") and n.language is None]
        if len(free) != 1:
            return None
        ours, theirs = (ours or free), (theirs or free)
    roles = _others(names)
    for place in ours:
        roles[place] = "source"
    for place in theirs:
        roles[place] = "target"
    return roles


def _by_role(names: Sequence[Name], languages: tuple[str, str]) -> list[str | None] | None:
    if any(name.language is not None and name.of_terms for name in names):
        return None
    source, target = _places(names, "source"), _places(names, "target")
    if not source:
        source = [place for place, name in enumerate(names) if name.role == "term"]
    if not source or not target:
        return None
    roles = _others(names)
    for place in source:
        roles[place] = "source"
    for place in target:
        roles[place] = "target"
    return roles


def _places(names: Sequence[Name], role: str) -> list[int]:
    """The columns of a role; those that are called a language only where there are no others."""
    columns = [place for place, name in enumerate(names) if name.role == role]
    columns = [place for place in columns if not names[place].tongue] or columns
    return columns or [place for place, name in enumerate(names) if name.role == f"{role}_language"]


def _others(names: Sequence[Name]) -> list[str | None]:
    useful_roles = ("probability", "inverse_probability", "source_language", "target_language")
    roles = [f"{name.role}_language" if name.tongue else name.role for name in names]
    return [role if role in useful_roles else None for role in roles]


def _languages(names: Sequence[Name], roles: Sequence[str | None], languages: tuple[str, str]) -> list[str | None]:
    table_languages = dict(zip(("source", "target"), languages, strict=True))
    return [table_languages.get(role or "", name.language) for name, role in zip(names, roles, strict=True)]


def _refuse_others(names: Sequence[Name], languages: tuple[str, str]) -> None:
    """Refuse a header of two languages of which not both are the table's."""
    named = [name for name in names if name.language is not None and name.whole and name.of_terms]
    distinct = list(dict.fromkeys(name.language for name in named))
    if len(distinct) < 2 or len(named) < len(names) - sum(name.role == "other" for name in names):
        return
    if not all(name.sure for name in named):
        return
    header_languages = " and ".join(LANGUAGES.get(code or "", code or "") for code in distinct[:4])
    ours = " and ".join(LANGUAGES.get(code, code) for code in languages)
    raise TableFormatError(
        f"the header names {header_languages}, and the table is of {ours}: say what the columns are with columns=, or"
        " header=false if this line is an entry"
    )


def _refuse_one_side(names: Sequence[Name]) -> None:
    """Refuse a header of terms and of columns that are no translations, such as ``term`` and ``definition``."""
    kinds = {name.role for name in names}
    if len(names) > 1 and all(name.recognised for name in names) and "other" in kinds and len(kinds & _SIDES) == 1:
        raise TableFormatError(
            "the header names a column of terms and none of translations: say what the columns are with columns=, or"
            " header=false if this line is an entry"
        )


def name_of(cell: str, languages: tuple[str, str]) -> Name:
    """What a cell says as the name of a column."""
    text = " ".join(unicodedata.normalize("NFKC", cell).split()).strip(" :*.\"'\ufeff#")
    if not text or len(text) > _LONGEST:
        return Name("other", whole=cell.strip() == "#") if cell.strip() == "#" else Name()
    small = text.lower()
    plain = " ".join(small.replace("_", " ").replace("-", " ").split())
    table_languages = tuple(same(code) for code in languages)
    code = language_of_code(text)
    if code is not None and code in table_languages and small not in ("pos", "sl", "tl"):
        return Name(None, code, True, True)
    for phrase in (small, plain):
        if (role := _phrases().get(phrase)) is not None:
            return Name(role, None, True, tongue=role in ("source", "target") and _TONGUE.search(phrase) is not None)
    if code is not None and (len(text) > 3 or text.lower() in LANGUAGES):
        return Name(None, code, True, text != small or len(text) > 3 or small not in _AMBIGUOUS_CODES)
    if (named := language_of_name(small) or language_of_name(plain)) is not None:
        return Name(None, named, True, True)
    return _of_words(text, (table_languages[0], table_languages[1]))


def _of_words(text: str, languages: tuple[str, str]) -> Name:
    """What the words of a cell say together: ``Term (EN)``, ``Source Language (English)``, ``englische Benennung``."""
    codes: set[str] = set()
    if (marked := _MARKED_CODE.search(text)) and (code := language_of_code(marked[1])) is not None:
        codes.add(code)
        text = text[: marked.start()] + " " + text[marked.end() :]
    for region in _REGION.finditer(text.replace("_", "-", text.count("_") - 1) if text.count("_") > 1 else text):
        if (code := language_of_code(region[1])) in languages:
            codes.add(code)
            text = text.replace(text[region.start() : region.end()], " ")
    spaced = text.replace("_", " ").replace("-", " ")
    parts = _WORD.findall(spaced)
    if not parts or len(parts) > _MOST_WORDS:
        return Name(None, codes.pop(), True, True) if len(codes) == 1 else Name()
    roles: list[str] = []
    unknown = 0
    phrase = " ".join(part.lower() for part in parts)
    whole_role = _phrases().get(phrase)
    for part in parts:
        small = part.lower()
        language = _language(part, small, languages, len(parts))
        if language is not None:
            codes.add(language)
        elif (role := _phrases().get(small) or _compound(small)) is not None:
            roles.append(role)
        elif small not in _filler():
            unknown += 1
    if whole_role is None and (named := language_of_name(phrase)) is not None:
        codes, unknown = {named}, 0
    coded = [code for part in parts if (code := language_of_code(part)) in languages]
    if not codes and roles and len(coded) == 1:  # a code that may be a word is none beside the name of a column
        codes, unknown = set(filter(None, coded)), unknown - 1 if unknown else 0
    if len(codes) > 1:
        return Name(_role(roles), None, False)
    return Name(whole_role or _role(roles), codes.pop() if codes else None, not unknown, bool(codes))


def _language(part: str, small: str, languages: tuple[str, str], of: int) -> str | None:
    """The language that a word of a cell names; a code counts in capitals, or as one of the table's."""
    code = language_of_code(part)
    if code in languages and (part.isupper() or (of <= 3 and small not in _AMBIGUOUS_CODES)):
        return code
    if code is not None and part.isupper() and len(part) == 2 and small not in _filler():
        return code
    named = language_of_name(small) if len(small) > 2 or not small.isascii() else None
    return named or (like_a_name(small, languages) if len(small) > 3 else None)


def _role(roles: Sequence[str]) -> str | None:
    """Of the roles that a cell's words have the most telling one: a comment on the source is no source."""
    for role in ("other", "inverse_probability", "probability", "source", "target", "term"):
        if role in roles:
            return role
    return None


def _compound(small: str) -> str | None:
    return next((role for beginning, role in _COMPOUNDS if small.startswith(beginning)), None)


@cache
def _filler() -> frozenset[str]:
    return words.parse_list(words.FILLER)


@cache
def _phrases() -> dict[str, str]:
    lists = (
        ("other", words.OTHER),
        ("term", words.TERM),
        ("target", words.TARGET),
        ("source", words.SOURCE),
        ("inverse_probability", words.INVERSE),
        ("probability", words.PROBABILITY),
        ("source_language", words.SOURCE_LANGUAGE),
        ("target_language", words.TARGET_LANGUAGE),
    )
    return {phrase: role for role, text in lists for phrase in words.parse_list(text)}
