"""Term bases, read as a stream: TBX, in its older and newer forms, and the XML of SDL MultiTerm.

A concept has terms in several languages; every term of the source language is paired with every term of the target
language. Documents that declare entities are refused, so that none can grow or fetch anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from dragoman.lexicon.formats.detection.names import language_of_code, language_of_name, same
from dragoman.lexicon.formats.items import Limits, Notice, Rejection, TableFormatError
from dragoman.lexicon.formats.xml_reader import Path, XmlReader
from dragoman.lexicon.text.languages import LANGUAGES

_CONCEPTS = ("termEntry", "conceptEntry", "conceptGrp")
_LANGUAGES = ("langSet", "langSec", "languageGrp")
_TERMS = 200
_CODES_NAMED = 10


def termbase_pairs(
    content: Iterable[bytes], languages: tuple[str, str], limits: Limits
) -> Iterator[tuple[int, str, str] | Rejection | Notice]:
    """Every term of the source with every term of the target of its concept, and the line the concept begins in.

    Raises (while iterating):
        TableFormatError: XML that is not well-formed or declares entities, or no concept with both languages.
    """
    reader = _Reader(languages, limits)
    yield from reader.read_entries(content)
    if not reader.paired and not reader.both:
        seen_codes = ", ".join(sorted(reader.seen)[:_CODES_NAMED]) or "none"
        raise TableFormatError(
            f"no concept has terms in both {LANGUAGES.get(languages[0], languages[0])} and"
            f" {LANGUAGES.get(languages[1], languages[1])}; the languages of the file: {seen_codes}"
        )


class _Reader(XmlReader[tuple[int, str, str] | Rejection | Notice]):
    def __init__(self, languages: tuple[str, str], limits: Limits) -> None:
        super().__init__(limits.term_characters)
        self._wanted_languages = tuple(same(code) for code in languages)
        self._names = languages
        self._terms: tuple[list[str], list[str]] = ([], [])
        self._side: int | None = None
        self._line = 0
        self._fault = ""
        self.seen: set[str] = set()
        self.paired = self.both = False

    def begin_element(self, name: str, attributes: dict[str, str], path: Path) -> None:
        if name in _CONCEPTS:
            self._line = self.line
            self._fault = ""
            self._terms = ([], [])
            self._side = None
        elif name in _LANGUAGES:
            self._speak(attributes.get("xml:lang") or attributes.get("lang"))
        elif name == "language" and self._in_concept(path):
            self._speak(attributes.get("lang") or attributes.get("type"))

    def _speak(self, code: str | None) -> None:
        self._side = None
        if not code:
            return
        language = language_of_code(code.strip()) or language_of_name(code.strip().lower())
        if language is None:
            return
        if language in self._wanted_languages:
            self._side = self._wanted_languages.index(language)
            self.seen.add(language)
        elif language not in self.seen and len(self.seen) < 100:
            self.seen.add(language)
            self.entries.append(Notice(self.line, f"terms in {LANGUAGES.get(language, language)} are ignored"))

    def wants_text(self, name: str, path: Path) -> bool:
        return name == "term" and self._side is not None and self._in_concept(path)

    @staticmethod
    def _in_concept(path: Path) -> bool:
        return any(name in _CONCEPTS for name, _ in path)

    def read_text(self, name: str, text: str, too_long: bool) -> None:
        if too_long:
            self._fault = f"a term is longer than {self.limit:,} characters"
        elif text and self._side is not None:
            terms = self._terms[self._side]
            if len(terms) == _TERMS:
                self._fault = f"the concept has more than {_TERMS} terms in a language"
            else:
                terms.append(text)

    def end_element(self, name: str) -> None:
        if name in _LANGUAGES:
            self._side = None
        if name not in _CONCEPTS:
            return
        source, target = (list(dict.fromkeys(terms)) for terms in self._terms)
        self.both = self.both or bool(source and target)
        if self._fault:
            self.entries.append(Rejection(self._line, self._fault))
        elif source and target:
            self.paired = True
            self.entries.extend((self._line, *pair) for pair in product(source, target))
        else:
            missing = " or ".join(code for code, terms in zip(self._names, (source, target), strict=True) if not terms)
            self.entries.append(Rejection(self._line, f"the concept has no term in {missing}"))

    def note_undeclared(self, reason: str) -> None:
        self._fault = reason
