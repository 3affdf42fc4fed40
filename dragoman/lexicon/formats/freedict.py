"""FreeDict dictionaries: TEI, read as a stream.

See https://github.com/freedict/fd-dictionaries/wiki/FreeDict-HOWTO for the encoding. A document type may be
named but is not read; documents that declare entities are refused, so that none can grow or fetch anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from dragoman.lexicon.formats.cells import translations, without_notes
from dragoman.lexicon.formats.detection.names import language_of_code, same
from dragoman.lexicon.formats.items import Limits, Rejection
from dragoman.lexicon.formats.xml_reader import Path, XmlReader

_TERMS = 200
_TRANSLATION = ("trans", "translation")
_INFLECTED = ("infl", "inflected")
_LANGUAGE = "xml:lang"


def freedict_pairs(
    content: Iterable[bytes], limits: Limits, languages: tuple[str, str] | None = None
) -> Iterator[tuple[int, str, str] | Rejection]:
    """Every headword with every translation of its entry, and the line the entry begins in.

    Translations of examples do not count, nor do inflected forms, nor translations into a third language. An entry
    without translations has its definitions for them, as in dictionaries made from other formats.

    Raises (while iterating):
        TableFormatError: naming the line, for XML that is not well-formed or declares entities.
    """
    return _Reader(limits, languages).read_entries(content)


class _Reader(XmlReader[tuple[int, str, str] | Rejection]):
    def __init__(self, limits: Limits, languages: tuple[str, str] | None) -> None:
        super().__init__(limits.term_characters)
        self._languages = {same(code) for code in languages or ()}
        self._entry_line = 0
        self._fault = ""
        self._headwords: list[str] = []
        self._translations: list[str] = []
        self._definitions: list[str] = []

    def begin_element(self, name: str, attributes: dict[str, str], path: Path) -> None:
        if name == "entry":
            self._entry_line = self.line
            self._fault = ""
            self._headwords, self._translations, self._definitions = [], [], []

    def wants_text(self, name: str, path: Path) -> bool:
        """Whether the element just begun is a headword, a translation or a definition of an entry."""
        if name not in ("orth", "quote", "tr", "def"):
            return False
        names = [name for name, _ in path]
        inside = path[names.index("entry") + 1 :] if "entry" in names else []
        if name == "def":
            return bool(inside) and all(name in ("sense", "def", "div") for name, _ in inside)
        if len(inside) < 2:
            return False
        if name == "orth":
            return all(name == "form" and attributes.get("type") not in _INFLECTED for name, attributes in inside[:-1])
        parent = inside[-2][0]
        return parent == ("cit" if name == "quote" else "trans") and all(
            attributes.get("type") in _TRANSLATION and self._ours(attributes)
            for name, attributes in inside
            if name == "cit"
        )

    def _ours(self, attributes: dict[str, str]) -> bool:
        """Whether a translation is in one of the languages, or says not in which it is."""
        language = language_of_code(attributes.get(_LANGUAGE, ""))
        return language is None or not self._languages or language in self._languages

    def read_text(self, name: str, text: str, too_long: bool) -> None:
        if too_long and name != "def":
            self._fault = f"the {name} is longer than {self.limit:,} characters"
        terms = {"orth": self._headwords, "def": self._definitions}.get(name, self._translations)
        if len(terms) == _TERMS:
            self._fault = f"the entry has more than {_TERMS} headwords or translations"
        elif text and not (too_long and name == "def"):
            terms.append(text)

    def end_element(self, name: str) -> None:
        if name != "entry":
            return
        targets = self._translations or self._of_definitions()
        fault = self._fault
        if not self._headwords:
            fault = fault or "the entry has no headword"
        elif not targets:
            fault = fault or "the entry has no translation"
        if fault:
            self.entries.append(Rejection(self._entry_line, fault))
        else:
            pairs = product(dict.fromkeys(self._headwords), dict.fromkeys(targets))
            self.entries.extend((self._entry_line, *pair) for pair in pairs)

    def _of_definitions(self) -> list[str]:
        """The terms of the definitions, several of which stand in one with commas or semicolons between."""
        texts = (without_notes(text, True) for text in self._definitions)
        terms = [term for text in texts for term in translations("", " ".join(text.split()))[1]]
        return [term for term in terms if term][:_TERMS]

    def note_undeclared(self, reason: str) -> None:
        self._fault = reason
