"""Term bases, read as a stream: TBX, in its older and newer forms, and the XML of SDL MultiTerm.

A concept has terms in several languages; every term of the source language is paired with every term of the target
language. Documents that declare entities are refused, so that none can grow or fetch anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.lexicon.formats.detection.names import language_of_code, language_of_name
from dragoman.lexicon.formats.items import Limits, Notice, Rejection, TableFormatError
from dragoman.lexicon.formats.xml_reader import PairReader, Path
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


class _Reader(PairReader):
    unit, text = "concept", "term"

    def __init__(self, languages: tuple[str, str], limits: Limits) -> None:
        super().__init__(languages, limits.term_characters, _TERMS)

    def begin_element(self, name: str, attributes: dict[str, str], path: Path) -> None:
        if name in _CONCEPTS:
            self._begin_unit()
        elif name in _LANGUAGES:
            self._speak_code(attributes.get("xml:lang") or attributes.get("lang"))
        elif name == "language" and self._in_concept(path):
            self._speak_code(attributes.get("lang") or attributes.get("type"))

    def _speak_code(self, code: str | None) -> None:
        code = (code or "").strip()
        language = language_of_code(code) or language_of_name(code.lower()) if code else None
        self._speak(language)
        if language is None or language in self.seen:
            return
        if self._side is not None:
            self.seen.add(language)
        elif len(self.seen) < 100:
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
        else:
            self._keep(text)

    def end_element(self, name: str) -> None:
        if name in _LANGUAGES:
            self._side = None
        elif name in _CONCEPTS:
            self._end_unit(Rejection)
