"""The languages that a column's name or a code such as ``en-US`` names."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib.resources import files

import regex

from dragoman.lexicon.formats.detection import words
from dragoman.lexicon.text.languages import LANGUAGES, check_language

_CODE = regex.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*")
_SHORTEST_STEM = 4


def language_of_code(text: str) -> str | None:
    """The language of a code with or without region or script: ``en``, ``DE``, ``pt-BR``, ``zh_Hans_CN``, ``deu``."""
    matched = _CODE.fullmatch(text)
    if matched is None:
        return None
    primary = matched[1].lower()
    code = primary if primary in LANGUAGES else _codes().get(primary)
    return None if code is None else same(code)


def language_of_name(text: str) -> str | None:
    """The language that ``text``, in small letters, names in any of the usual languages: ``deutsch``, ``allemand``."""
    return _names().get(text)


def like_a_name(word: str, languages: tuple[str, str]) -> str | None:
    """That of two languages of whose names the word in small letters is a form: ``englische``, ``немецкое``."""
    candidates = {language for language in languages if any(_form_of(word, stem) for stem in _stems(language))}
    return candidates.pop() if len(candidates) == 1 else None


def same(code: str) -> str:
    """Of two codes for one language always the same."""
    return check_language(code)


def _form_of(word: str, stem: str) -> bool:
    return word.startswith(stem) and len(word) <= len(stem) + 4


@cache
def _stems(language: str) -> tuple[str, ...]:
    """The names of a language, without an ending where an adjective may have another."""
    stems = set()
    for name, code in _names().items():
        if code == language and " " not in name and len(name) > _SHORTEST_STEM:
            stems.add(name[: max(_SHORTEST_STEM, len(name) - 2)] if not name.isascii() or len(name) > 6 else name)
    return tuple(sorted(stems))


@cache
def _lines() -> tuple[tuple[str, str, str], ...]:
    text = (files(__package__) / "language_names.tsv").read_text(encoding="utf-8")
    return tuple((code, longer, names) for code, longer, names in (line.split("\t") for line in text.splitlines()))


@cache
def _codes() -> dict[str, str]:
    """ISO 639-2 and 639-3 codes."""
    return {longer_code: code for code, longer, _ in _lines() for longer_code in longer.split()}


@cache
def _names() -> dict[str, str]:
    codes: dict[str, str] = {}
    for code, _, names in _lines():
        for name in names.split("|"):
            codes.setdefault(unicodedata.normalize("NFKC", name.lower()), same(code))
    return codes | words.LANGUAGES
